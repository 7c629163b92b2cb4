//! Random numbers of transforms: keyed by the sequence, or CNTK's, which belong to an index in the minibatch.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tesson_core::{Augmentation, CntkWords, Draw, StepWords};
use tesson_plan::{DrawKey, Philox};

use super::chain::Step;

/// Random numbers for all streams of a source.
pub(super) enum Draws {
    Sequence,
    /// The generators of each stream. They run on from one minibatch to the next, so these are made in order.
    Cntk(Mutex<Vec<CntkWords>>),
}

impl Draws {
    pub(super) fn new(augmentation: Augmentation, n_streams: usize) -> Draws {
        match augmentation {
            Augmentation::Sequence => Draws::Sequence,
            Augmentation::Cntk => {
                Draws::Cntk(Mutex::new((0..n_streams).map(|_| CntkWords::default()).collect()))
            }
        }
    }

    /// The generators, where minibatches are made with CNTK's.
    pub(super) fn lock(&self) -> StreamDraws<'_> {
        match self {
            Draws::Sequence => StreamDraws(None),
            Draws::Cntk(words) => StreamDraws(Some(words.lock().unwrap_or_else(PoisonError::into_inner))),
        }
    }
}

/// Random numbers for all streams while sequences are transformed.
pub(super) struct StreamDraws<'a>(Option<MutexGuard<'a, Vec<CntkWords>>>);

impl<'g> StreamDraws<'g> {
    /// Numbers that keys alone decide.
    pub(super) fn keyed() -> StreamDraws<'g> {
        StreamDraws(None)
    }

    /// The random numbers of a sequence in a stream: of the sequence with this key, at `index` of its minibatch.
    pub(super) fn of(&mut self, stream: usize, index: usize, key: DrawKey) -> SequenceDraws<'_> {
        let generators = self.0.as_mut().map(|words| (&mut words[stream], index));
        SequenceDraws { key, generators }
    }

    /// Those of a stream's sequences, whose keys are given by their index in the minibatch.
    pub(super) fn of_batch<K>(&mut self, stream: usize, key: K) -> BatchDraws<'_, 'g, K> {
        BatchDraws { draws: self, stream, key }
    }
}

/// Random numbers of the sequences of one stream in a minibatch.
pub(super) struct BatchDraws<'a, 'g, K> {
    draws: &'a mut StreamDraws<'g>,
    stream: usize,
    key: K,
}

impl<K: Fn(usize) -> DrawKey> BatchDraws<'_, '_, K> {
    /// Those of the sequence at an index.
    pub(super) fn of(&mut self, index: usize) -> SequenceDraws<'_> {
        self.draws.of(self.stream, index, (self.key)(index))
    }
}

/// Random numbers of one sequence in one stream.
pub(super) struct SequenceDraws<'a> {
    /// The key of all transforms, but for what tells them apart.
    key: DrawKey,
    /// CNTK's generators, and the index of the sequence in its minibatch.
    generators: Option<(&'a mut CntkWords, usize)>,
}

impl SequenceDraws<'_> {
    /// Which copy of its key the sequence is.
    pub(super) fn copy(&self) -> u32 {
        self.key.copy as u32
    }

    /// Begins with the numbers of a step.
    pub(super) fn begin<'s>(&'s mut self, step: &'s Step) -> Words<'s> {
        let seed = step.transform.seed();
        match &mut self.generators {
            Some((words, index)) => {
                words.begin(*index, step.position, seed);
                Words::Cntk(words)
            }
            None => {
                let numbers = &step.draw_numbers;
                let key = DrawKey { transform_seed: seed, transform: numbers[0], ..self.key };
                Words::Keyed { key, numbers, philox: Philox::new(key) }
            }
        }
    }
}

/// The words of one transform, and of the steps that it stands for.
pub(super) enum Words<'a> {
    /// `key` is that of the first step, `numbers` tell all steps apart.
    Keyed {
        key: DrawKey,
        numbers: &'a [u64],
        philox: Philox,
    },
    Cntk(&'a mut CntkWords),
}

impl Words<'_> {
    pub(super) fn draw(&mut self) -> Draw<'_> {
        match self {
            Words::Cntk(words) => Draw::from_steps(*words).as_cntk(),
            keyed @ Words::Keyed { .. } => Draw::from_steps(keyed),
        }
    }
}

impl StepWords for Words<'_> {
    fn word(&mut self) -> u32 {
        match self {
            Words::Keyed { philox, .. } => philox.next().expect("there is no last word"),
            Words::Cntk(words) => words.word(),
        }
    }

    fn begin_step(&mut self, number: u64, seed: u64) {
        match self {
            Words::Keyed { key, numbers, philox } => {
                let transform = numbers[number as usize];
                *philox = Philox::new(DrawKey { transform, transform_seed: seed, ..*key });
            }
            Words::Cntk(words) => words.begin_step(number, seed),
        }
    }
}

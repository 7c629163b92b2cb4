//! A reader whose calls can be interrupted at any time, also while a read of its storage blocks.

use std::panic::resume_unwind;

use tesson_core::Error;
use tesson_engine::executor::{CallThread, Called, Interrupt};

use crate::{ExampleBatch, Reader};

/// A reader whose calls can be interrupted, however long its storage takes to answer.
///
/// Calls run in a thread of their own, for which the caller waits. An interrupted call is abandoned: its thread ends when
/// the storage has answered, and meanwhile the reader is opened again where it stood before the call. So nothing is lost,
/// and the next call resumes there.
pub struct InterruptibleReader {
    /// Missing during a call only.
    reader: Option<Reader>,
    /// At the beginning; abandoned readers are replaced by copies of it.
    template: Reader,
    /// True if the reader is such a copy, whose order has yet to be moved to its position.
    is_copy: bool,
    calls: CallThread,
}

impl InterruptibleReader {
    /// Makes the calls of a reader interruptible.
    pub fn new(reader: Reader) -> InterruptibleReader {
        let template = reader.reopened();
        InterruptibleReader { reader: Some(reader), template, is_copy: false, calls: CallThread::default() }
    }

    /// The reader, to ask it what needs no storage.
    pub fn inner(&self) -> &Reader {
        self.reader.as_ref().expect("no call is under way")
    }

    /// Calls the reader. `interrupted` is called every few hundredths of a second until the call has returned; if it returns
    /// `true` the call is abandoned, and the reader is as it was before. `act` receives a callback of the same meaning for
    /// methods that take one.
    ///
    /// # Errors
    /// Those that the call returns; [`Error::Cancelled`] if it was interrupted.
    ///
    /// # Panics
    /// With what the call panics with.
    pub fn call<T: Send + 'static>(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
        act: impl FnOnce(&mut Reader, &mut dyn FnMut() -> bool) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.inner().check_process()?;
        let before = self.inner().standing();
        let mut reader = self.reader.take().expect("no call is under way");
        let canceller = reader.canceller();
        let is_copy = self.is_copy;
        let own = canceller.clone();
        let called = self.calls.call(Interrupt::new(interrupted), move || {
            let interrupted = &mut || own.is_cancelled();
            let moved = if is_copy { reader.move_to_standing(interrupted) } else { Ok(()) };
            let result = moved.map_err(Error::from).and_then(|()| act(&mut reader, interrupted));
            (reader, result)
        });
        let failure = match called {
            Ok(Called::Returned((reader, result))) => {
                if reader.is_over() {
                    self.calls.end();
                }
                (self.reader, self.is_copy) = (Some(reader), is_copy && result.is_err());
                return result;
            }
            Ok(Called::Panicked(panic)) => Err(panic),
            Ok(Called::Abandoned) => Ok(Error::Cancelled),
            Err(error) => Ok(error.into()),
        };
        canceller.cancel();
        self.calls.end();
        let mut copy = self.template.reopened();
        copy.stand_at(before);
        (self.reader, self.is_copy) = (Some(copy), true);
        Err(failure.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Appends examples by a call of the reader. An interrupted one leaves `examples` empty.
    ///
    /// # Errors
    /// Those of [`InterruptibleReader::call`].
    pub fn load<T: Send + 'static>(
        &mut self,
        examples: &mut ExampleBatch,
        interrupted: &mut dyn FnMut() -> bool,
        act: impl FnOnce(&mut Reader, &mut ExampleBatch, &mut dyn FnMut() -> bool) -> Result<T, Error>
        + Send
        + 'static,
    ) -> Result<T, Error> {
        let empty = ExampleBatch::new(self.inner().schema());
        let mut into = std::mem::replace(examples, empty);
        let (loaded, result) = self.call(interrupted, move |reader, interrupted| {
            let result = act(reader, &mut into, interrupted);
            Ok((into, result))
        })?;
        *examples = loaded;
        if result.is_err() {
            self.calls.end();
        }
        result
    }

    /// Appends the next `n` examples, as [`Reader::read`].
    ///
    /// # Errors
    /// Those of [`Reader::read`]; [`Error::Cancelled`] if it was interrupted.
    pub fn read(
        &mut self,
        n: usize,
        examples: &mut ExampleBatch,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        match &mut self.reader {
            // These need neither storage nor another thread.
            Some(reader) if reader.loaded() >= n => reader.read(n, examples),
            _ => self.load(examples, interrupted, move |reader, examples, _| reader.read(n, examples)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Condvar, Mutex};
    use std::{env, fs, process};

    use serde_json::json;
    use tesson_engine::store::{FakeStore, FileStore, InjectedFault};
    use tesson_formats::example::Value;
    use tesson_tfds::features::{Schema, Selection as Features};
    use tesson_tfds::info::Version;
    use tesson_tfds::reading::{Op, Plan, Reading};
    use tesson_tfds::split::Selection;

    use super::*;
    use crate::{DatasetWriter, NewDataset, NewSplit, OnDamage, ReaderLimits, features_of};

    /// A folder that is removed at the end.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A dataset of two hundred numbers in four shards.
    fn dataset(name: &str) -> (Folder, PathBuf) {
        let folder = Folder(env::temp_dir().join(format!("tesson-{name}-{}", process::id())));
        let class = |name: &str, content| json!({"type": format!("tensorflow_datasets.core.features.{name}"), "content": content});
        let number = class("tensor_feature.Tensor", json!({"shape": [], "dtype": "int64"}));
        let features = class("features_dict.FeaturesDict", json!({"n": number}));
        let mut new = NewDataset::new("numbers", Version([1, 0, 0]), features);
        new.disable_shuffling = true;
        new.splits = vec![NewSplit::new("train", Some(4))];
        let mut writer = DatasetWriter::open(&folder.0, new).unwrap();
        (0..200).for_each(|n| writer.example("train", &[("n", Value::Ints(&[n]))]).unwrap());
        let directory = writer.finish().unwrap();
        (folder, directory)
    }

    /// Reads that block while the gate is closed.
    #[derive(Default)]
    struct Gate {
        is_closed: Mutex<bool>,
        opened: Condvar,
    }

    impl Gate {
        fn close(&self) {
            *self.is_closed.lock().unwrap() = true;
        }

        fn open(&self) {
            *self.is_closed.lock().unwrap() = false;
            self.opened.notify_all();
        }

        fn pass(&self) {
            drop(self.opened.wait_while(self.is_closed.lock().unwrap(), |is_closed| *is_closed).unwrap());
        }
    }

    fn reader(
        directory: &Path,
        ops: &[serde_json::Value],
        threads: usize,
        gate: &Arc<Gate>,
    ) -> InterruptibleReader {
        let gate = Arc::clone(gate);
        let blocking = move |_| {
            gate.pass();
            InjectedFault::None
        };
        let dataset = Arc::new(crate::open(&FileStore, directory).unwrap());
        let schema =
            Arc::new(Schema::new(&features_of(&FileStore, &dataset).unwrap(), &Features::default()).unwrap());
        let mut reading = Reading::of(Selection::parse("train").unwrap());
        reading.ops = ops.iter().map(|op| Op::from_json(op, "ops").unwrap()).collect();
        let plan = Plan::new(&dataset, &reading, &mut || 7).unwrap();
        let store = FakeStore::new(Arc::new(FileStore), blocking);
        let limits = ReaderLimits { threads, ..ReaderLimits::default() };
        InterruptibleReader::new(Reader::with(&store, dataset, plan, schema, OnDamage::Fail, limits).unwrap())
    }

    fn ids(reader: &InterruptibleReader, examples: &ExampleBatch) -> Vec<String> {
        (0..examples.len()).map(|row| reader.inner().id(examples, row)).collect()
    }

    #[test]
    fn a_call_that_blocks_in_a_read_is_interrupted_and_the_next_one_resumes() {
        let (_folder, directory) = dataset("interrupted");
        let shuffled = [json!({"shuffle": {"buffer_size": 20, "seed": 3}}), json!({"repeat": 2})];
        for (ops, threads) in [(&shuffled[..], 1), (&shuffled[..], 3), (&[][..], 1), (&[][..], 3)] {
            let mut straight = reader(&directory, ops, threads, &Arc::default());
            let mut examples = ExampleBatch::new(straight.inner().schema());
            straight.read(1000, &mut examples, &mut || false).unwrap();
            let all = ids(&straight, &examples);
            let gate = Arc::new(Gate::default());
            let mut reader = reader(&directory, ops, threads, &gate);
            let (mut found, mut asked) = (Vec::new(), 0);
            while found.len() < all.len() {
                let before = reader.inner().to_json(&reader.inner().state());
                gate.close();
                examples.clear();
                // Threads may have loaded some examples before the gate was closed.
                let read = reader.read(30, &mut examples, &mut || {
                    asked += 1;
                    true
                });
                if let Err(error) = read {
                    assert!(matches!(error, Error::Cancelled), "{error}");
                    assert_eq!(reader.inner().to_json(&reader.inner().state()), before);
                    assert!(examples.is_empty());
                    gate.open();
                    reader.read(30, &mut examples, &mut || false).unwrap();
                }
                gate.open();
                found.extend(ids(&reader, &examples));
            }
            assert_eq!(found, all);
            assert!(asked > 0);
        }
    }

    #[test]
    fn searches_counts_and_places_are_interrupted_too() {
        let (_folder, directory) = dataset("interrupted-ways");
        let gate = Arc::new(Gate::default());
        // The order depends on how many records files hold, which their headers say.
        let mut reader = reader(&directory, &[json!({"skip": 120})], 1, &gate);
        let before = reader.inner().state();
        gate.close();
        let mut examples = ExampleBatch::new(reader.inner().schema());
        let mut now = || true;
        assert!(matches!(reader.read(1, &mut examples, &mut now), Err(Error::Cancelled)));
        let sought = reader.call(&mut now, |reader, interrupted| reader.seek_with(Some(3), 10, interrupted));
        assert!(matches!(sought, Err(Error::Cancelled)));
        let found =
            reader.load(&mut examples, &mut now, |reader, examples, _| reader.read_at(&[7, 150], examples));
        assert!(matches!(found, Err(Error::Cancelled)));
        let share =
            reader.load(&mut examples, &mut now, |reader, examples, _| reader.read_share(9, 3, 1, examples));
        assert!(matches!(share, Err(Error::Cancelled)));
        assert_eq!(reader.inner().state(), before);
        gate.open();
        reader.read(80, &mut examples, &mut || false).unwrap();
        assert_eq!((examples.len(), reader.inner().state().delivered), (80, 80));
    }

    #[test]
    fn a_panic_of_a_call_reaches_the_caller_and_the_reader_stays_usable() {
        let (_folder, directory) = dataset("panicked");
        let mut reader = reader(&directory, &[], 1, &Arc::default());
        let mut examples = ExampleBatch::new(reader.inner().schema());
        reader.read(3, &mut examples, &mut || false).unwrap();
        let called = catch_unwind(AssertUnwindSafe(|| {
            reader.call(&mut || false, |_, _| -> Result<(), Error> { panic!("it is broken") })
        }));
        assert_eq!(called.unwrap_err().downcast_ref(), Some(&"it is broken"));
        reader.read(3, &mut examples, &mut || false).unwrap();
        assert_eq!(reader.inner().state().delivered, 6);
    }
}

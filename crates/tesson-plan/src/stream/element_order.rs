//! The order of an operation on elements that a plan cannot number: batches, results of a user's function.
//!
//! The operators are those of a [`super::Stream`]. The caller holds the elements: it requests the next one, receives
//! the operator's requests for input, one [`ElementStep`] after another, and answers each. At every step an operator
//! is where it was before the call, or further, so a caller can repeat the call after its input has failed.
//!
//! Advice for the next editor: an operator does not know that its input waits. `Elements`, the lowest layer, returns
//! `Stop::Waits`, and the whole call is made again with the answer; so operators must change no state before they
//! have their input, or only such state as the repeated call finds right.

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::StreamOp;
use super::buffer_state::SkipControl;
use super::operators::{Below, Elements, ElementsWanted, Layer, Stop};
use super::passes::Facts;
use crate::PlanRefusal;

/// The next step of a caller of an [`ElementOrder`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ElementStep {
    /// Begin the next pass of the input, then call [`ElementOrder::begun`].
    Begin,
    /// Take the next element of the input, then call [`ElementOrder::given`], or [`ElementOrder::ended`] at its end.
    Take,
    /// Skip this number of elements of the input, then call [`ElementOrder::skipped`] with the number that there
    /// were.
    Skip(u64),
    /// The next element, by its number among those taken from the input, from 0. A number is returned only once, so
    /// the element can then be released; without a shuffle it is always the last one taken.
    Element(u64),
    /// The number of elements that were skipped; fewer than requested at the end.
    Skipped(u64),
    /// There are no more elements.
    End,
}

/// The request of the caller.
#[derive(Copy, Clone, Debug)]
enum Task {
    Next,
    Skip { done: u64, left: u64 },
}

/// One pass of an operation over elements.
#[derive(Clone, Debug)]
pub struct ElementOrder {
    /// The elements, and on top of them the operator, unless there is none (`prefetch`).
    layers: Vec<Layer>,
    /// The pass that a shuffle begins next.
    passes: [u64; 1],
    task: Task,
    /// The answer to the task, held back until the caller has begun the passes that it requires.
    answer: Option<ElementStep>,
}

impl ElementOrder {
    /// The last of a stack of operations, at the beginning of a pass: call [`ElementOrder::resume`] for its first
    /// steps. A shuffle begins `pass`, numbered from 0.
    ///
    /// # Errors
    /// [`PlanRefusal::NoSuchShare`] for a share that is not below the number of shares.
    pub fn new(ops: &[StreamOp], pass: u64) -> Result<ElementOrder, PlanRefusal> {
        let elements = Facts::of_elements();
        let mut layers = vec![Layer::Elements(Elements::default())];
        if let Some((op, below)) = ops.split_last() {
            layers.extend(Layer::of(*op, 0, StreamOp::last_is_shuffle(below), &elements)?);
        }
        let task = Task::Skip { done: 0, left: 0 };
        let mut order = ElementOrder { layers, passes: [pass], task, answer: None };
        order.top().begin();
        Ok(order)
    }

    fn top(&mut self) -> Below<'_> {
        Below { layers: &mut self.layers, passes: &mut self.passes }
    }

    fn elements(&self) -> &Elements {
        match &self.layers[0] {
            Layer::Elements(elements) => elements,
            _ => unreachable!("the lowest layer is the elements"),
        }
    }

    fn elements_mut(&mut self) -> &mut Elements {
        match &mut self.layers[0] {
            Layer::Elements(elements) => elements,
            _ => unreachable!("the lowest layer is the elements"),
        }
    }

    /// Requests the next element.
    pub fn next_element(&mut self) -> ElementStep {
        self.start(Task::Next)
    }

    /// Skips `n` elements.
    pub fn skip(&mut self, n: u64) -> ElementStep {
        self.start(Task::Skip { done: 0, left: n })
    }

    fn start(&mut self, task: Task) -> ElementStep {
        // An answer that the caller did not fetch is the end, which is found again, or that of a skip that failed.
        (self.task, self.answer) = (task, None);
        self.resume()
    }

    /// Continues with the last request.
    pub fn resume(&mut self) -> ElementStep {
        let answer = match self.answer.take() {
            Some(answer) => Some(answer),
            None if self.elements().to_begin > 0 => None,
            None => self.run(),
        };
        if self.elements().to_begin > 0 {
            self.answer = answer;
            return ElementStep::Begin;
        }
        answer.unwrap_or(match self.elements().wanted {
            ElementsWanted::Next => ElementStep::Take,
            ElementsWanted::Skip(n) => ElementStep::Skip(n),
        })
    }

    /// Lets the operator run until it waits for its input (`None`), or has an answer.
    fn run(&mut self) -> Option<ElementStep> {
        match self.task {
            Task::Next => match self.top().next() {
                Ok(number) => Some(ElementStep::Element(number)),
                Err(Stop::Waits) => None,
                Err(_) => Some(ElementStep::End),
            },
            Task::Skip { done, left } => {
                let (skipped, stop) = self.top().skip(left, &mut SkipControl::new(Vec::new(), &mut || false));
                let (done, left) = (done + skipped, left - skipped);
                self.task = Task::Skip { done, left };
                (stop != Some(Stop::Waits)).then_some(ElementStep::Skipped(done))
            }
        }
    }

    /// Reports that the next pass of the input has begun.
    pub fn begun(&mut self) -> ElementStep {
        let elements = self.elements_mut();
        elements.to_begin = elements.to_begin.saturating_sub(1);
        self.resume()
    }

    /// Reports that an element was taken from the input.
    pub fn given(&mut self) -> ElementStep {
        self.elements_mut().answer = Some(Ok(1));
        self.resume()
    }

    /// Reports that the input has ended.
    pub fn ended(&mut self) -> ElementStep {
        self.elements_mut().answer = Some(Err(Stop::End));
        self.resume()
    }

    /// Reports that no pass of the input has an element, so that a finite repeat does not try them all.
    pub fn expect_nothing(&mut self) {
        if let Some(Layer::Repeat(repeat)) = self.layers.last_mut() {
            repeat.expect_nothing();
        }
    }

    /// Reports that `n` elements of the input were skipped.
    pub fn skipped(&mut self, n: u64) -> ElementStep {
        self.elements_mut().answer = Some(Ok(n));
        self.resume()
    }

    /// The numbers of the elements that wait in the buffer of a shuffle.
    pub fn held(&self) -> Vec<u64> {
        match self.layers.last() {
            Some(Layer::Shuffle(shuffle)) => shuffle.held(),
            _ => Vec::new(),
        }
    }

    /// The position in the pass: the operator's counters by their names in states.
    pub fn position(&self) -> Map<String, Value> {
        let position = match self.layers.last() {
            Some(Layer::Repeat(repeat)) => repeat.position(),
            Some(Layer::Skip(skip)) => skip.position(),
            Some(Layer::Take(take)) => take.position(),
            Some(Layer::Shard(shard)) => shard.position(),
            Some(Layer::Shuffle(shuffle)) => shuffle.position(self.passes[0].wrapping_sub(1)),
            _ => json!({}),
        };
        match position {
            Value::Object(fields) => fields,
            _ => unreachable!("positions are objects"),
        }
    }

    /// Goes to a position of the pass. The caller moves the input: for a shuffle, to the position after as many
    /// elements as were pushed. `interrupted` is called every few milliseconds if that takes long.
    ///
    /// # Errors
    /// [`ResumeError`] for a position that no pass has, or if `interrupted` has returned `true`. The order does not
    /// move.
    pub fn go_to(
        &mut self,
        position: &Map<String, Value>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        let mut there = self.clone();
        let mut pushed = 0;
        match there.layers.last_mut() {
            Some(Layer::Repeat(repeat)) => repeat.go_to(position)?,
            Some(Layer::Skip(skip)) => skip.go_to(position)?,
            Some(Layer::Take(take)) => take.go_to(position)?,
            Some(Layer::Shard(shard)) => shard.go_to(position)?,
            Some(Layer::Shuffle(shuffle)) => {
                let (pass, n) = shuffle.go_to(position, interrupted)?;
                (there.passes, pushed) = ([pass.wrapping_add(1)], n);
            }
            _ => {}
        }
        // Requests that were pending here do not belong to that position.
        *there.elements_mut() = Elements::after(pushed);
        there.answer = None;
        *self = there;
        Ok(())
    }
}

/// Reads a counter of a position.
pub(super) fn count(position: &Map<String, Value>, name: &str) -> Result<u64, ResumeError> {
    let found = position.get(name).unwrap_or(&Value::Null);
    found.as_u64().ok_or_else(|| ResumeError::unreadable(format!("`{name}`"), found, "a number from 0 on"))
}

/// Reads a flag of a position.
pub(super) fn flag(position: &Map<String, Value>, name: &str) -> Result<bool, ResumeError> {
    let found = position.get(name).unwrap_or(&Value::Null);
    found.as_bool().ok_or_else(|| ResumeError::unreadable(format!("`{name}`"), found, "true or false"))
}

/// Reads a counter that is not above a limit.
pub(super) fn count_to(position: &Map<String, Value>, name: &str, most: u64) -> Result<u64, ResumeError> {
    let found = count(position, name)?;
    if found > most {
        return Err(ResumeError::new(format!("`{name}`"), found, format_args!("at most {most}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::stream::{SeedPair, Seeding};

    fn shuffle(size: u64, seed: i128) -> StreamOp {
        let seeding = Seeding { pair: SeedPair::new(seed, None), reshuffle: true };
        StreamOp::Shuffle { buffer: NonZeroU64::new(size).unwrap(), seeding }
    }

    /// An operation over passes of `n` elements, which are 0, 1, … in each pass.
    struct Walk {
        order: ElementOrder,
        n: u64,
        /// Passes of the input that were begun, and elements of the last one that were given.
        begun: u64,
        at: u64,
        given: Vec<u64>,
    }

    impl Walk {
        fn new(ops: &[StreamOp], n: u64) -> Walk {
            let order = ElementOrder::new(ops, 0).unwrap();
            let mut walk = Walk { order, n, begun: 0, at: 0, given: Vec::new() };
            let step = walk.order.resume();
            assert_eq!(walk.answer(step), ElementStep::Skipped(0));
            walk
        }

        fn answer(&mut self, mut step: ElementStep) -> ElementStep {
            loop {
                step = match step {
                    ElementStep::Begin => {
                        (self.begun, self.at) = (self.begun + 1, 0);
                        self.order.begun()
                    }
                    ElementStep::Take if self.at == self.n => self.order.ended(),
                    ElementStep::Take => {
                        self.given.push(self.at);
                        self.at += 1;
                        self.order.given()
                    }
                    ElementStep::Skip(n) => {
                        let found = n.min(self.n - self.at);
                        self.given.extend(self.at..self.at + found);
                        self.at += found;
                        self.order.skipped(found)
                    }
                    answer => return answer,
                }
            }
        }

        fn next(&mut self) -> Option<u64> {
            let step = self.order.next_element();
            match self.answer(step) {
                ElementStep::Element(number) => Some(self.given[number as usize]),
                ElementStep::End => None,
                other => panic!("{other:?}"),
            }
        }

        fn skip(&mut self, n: u64) -> u64 {
            let step = self.order.skip(n);
            match self.answer(step) {
                ElementStep::Skipped(found) => found,
                other => panic!("{other:?}"),
            }
        }

        fn rest(&mut self) -> Vec<u64> {
            std::iter::from_fn(|| self.next()).collect()
        }
    }

    #[test]
    fn elements_are_shuffled_as_the_specification_says() {
        assert_eq!(Walk::new(&[shuffle(10, 32)], 10).rest(), [9, 7, 6, 5, 0, 2, 3, 1, 4, 8]);
    }

    #[test]
    fn a_repeat_begins_a_pass_too_many_unless_a_shuffle_or_what_changes_nothing_on_one_is_below() {
        let begun = |ops: &[StreamOp]| {
            let mut walk = Walk::new(ops, 3);
            assert_eq!(walk.rest(), [0, 1, 2, 0, 1, 2], "{ops:?}");
            walk.begun
        };
        let twice = StreamOp::Repeat(2);
        assert_eq!(begun(&[twice]), 3);
        for idle in [StreamOp::Repeat(1), StreamOp::Skip(0), StreamOp::Take(-1)] {
            assert_eq!(begun(&[shuffle(3, 1), idle, twice]), 2, "{idle:?}");
            assert_eq!(begun(&[idle, twice]), 3, "{idle:?}");
        }
        assert_eq!(begun(&[shuffle(3, 1), StreamOp::Prefetch, twice]), 3);
    }

    #[test]
    fn an_endless_repeat_of_nothing_ends_and_inputs_that_give_nothing_are_not_begun() {
        assert!(Walk::new(&[StreamOp::Repeat(-1)], 0).rest().is_empty());
        let mut tried = Walk::new(&[StreamOp::Repeat(5)], 0);
        assert_eq!((tried.rest().len(), tried.begun), (0, 6));
        let mut expected = Walk::new(&[StreamOp::Repeat(5)], 0);
        expected.order.expect_nothing();
        assert_eq!((expected.rest().len(), expected.begun), (0, 2));
        for op in [StreamOp::Take(0), StreamOp::Skip(-1), StreamOp::Repeat(0)] {
            let mut walk = Walk::new(&[op], 3);
            assert_eq!((walk.rest().len(), walk.begun), (0, 0), "{op:?}");
        }
    }

    #[test]
    fn passing_over_elements_is_reading_them_and_every_position_is_found_again() {
        let shard = StreamOp::Shard { count: NonZeroU64::new(3).unwrap(), index: 1 };
        let ops = [StreamOp::Repeat(3), StreamOp::Skip(2), StreamOp::Take(5), shard, StreamOp::Prefetch];
        for op in ops {
            let all = Walk::new(&[op], 7).rest();
            for k in 0..all.len() + 2 {
                let mut walk = Walk::new(&[op], 7);
                let found = walk.skip(1) + walk.skip(k as u64);
                assert_eq!(found as usize, (k + 1).min(all.len()), "{op:?} {k}");
                let mut there = ElementOrder::new(&[op], 0).unwrap();
                there.go_to(&walk.order.position(), &mut || false).unwrap();
                assert_eq!(there.position(), walk.order.position(), "{op:?} {k}");
                // The walk's input stands where it stood, and elements are numbered anew.
                (walk.order, walk.given) = (there, Vec::new());
                assert_eq!(walk.rest(), all[found as usize..], "{op:?} {k}");
            }
        }
    }

    #[test]
    fn every_position_of_a_shuffle_is_found_again_with_what_its_buffer_holds() {
        let mut passed = Walk::new(&[shuffle(4, 5)], 10);
        loop {
            let mut found = Walk::new(&[shuffle(4, 5)], 10);
            found.order.go_to(&passed.order.position(), &mut || false).unwrap();
            assert_eq!(found.order.held(), passed.order.held());
            (found.at, found.given) = (passed.at, passed.given.clone());
            let (order, given) = (passed.order.clone(), passed.given.clone());
            let mut continued = Walk { order, given, n: passed.n, begun: passed.begun, at: passed.at };
            assert_eq!(found.rest(), continued.rest());
            if passed.next().is_none() {
                break;
            }
        }
    }

    #[test]
    fn positions_of_no_pass_are_refused_and_change_nothing() {
        let refused = [
            (
                shuffle(4, 5),
                json!({"pass": 0, "pushed": 3, "drawn": 4, "has_begun": true, "has_ended": false}),
            ),
            (
                shuffle(4, 5),
                json!({"pass": 0, "pushed": 9, "drawn": 2, "has_begun": true, "has_ended": false}),
            ),
            (
                shuffle(4, 5),
                json!({"pass": 0, "pushed": 3, "drawn": 0, "has_begun": false, "has_ended": false}),
            ),
            (StreamOp::Take(3), json!({"taken": 4})),
            (StreamOp::Skip(3), json!({"left": 4})),
            (StreamOp::Repeat(3), json!({"ended": 4, "is_fresh": true, "is_over": true})),
            (StreamOp::Repeat(3), json!({"ended": 1, "is_fresh": 1, "is_over": true})),
        ];
        for (op, position) in refused {
            let mut walk = Walk::new(&[op], 9);
            walk.next();
            let before = walk.order.position();
            let position = position.as_object().unwrap();
            assert!(walk.order.go_to(position, &mut || false).is_err(), "{op:?} {position:?}");
            assert_eq!(walk.order.position(), before, "{op:?}");
        }
        let far =
            json!({"pass": 0, "pushed": 1 << 22, "drawn": 1 << 21, "has_begun": true, "has_ended": false});
        let mut order = ElementOrder::new(&[shuffle(4, 5)], 0).unwrap();
        assert!(order.go_to(far.as_object().unwrap(), &mut || true).is_err());
    }
}

//! Orders, which decide which sequence follows which.
//!
//! An order has two halves in one file. Its *definition* ([`ChunkWindow`], [`Global`], …) is what a user chooses and
//! a state records: [facts](OrderInfo), parameters, and what follows from them and the index alone. An [`Order`] is
//! built from it, cuts minibatches, and caches what it has worked out.
//!
//! To add an order, write its file and list it in [`OrderSpec`], [`OrderSpec::definition`] and [`ORDERS`]. Nothing
//! else matches on an order. A change of what a seed delivers needs a new `version` of that order, since states and
//! published orders (docs/order.md) depend on it.

mod as_stored;
mod bucketed;
mod chunk_window;
mod global;
mod interval_table;
mod local;
mod local_plain;
mod lookahead;
mod places;
mod shuffle;
mod sweep;
mod sweep_preview;
mod tumbling;
mod window;

use tesson_core::{ChunkId, Index, SequenceId};

use crate::cut::{Cut, Fill};
use crate::{BatchPlan, Cursor};
use crate::{PlanRefusal, Result};

use as_stored::AsStored;
pub(crate) use bucketed::Bucketed;
pub use bucketed::Bucketing;
pub use chunk_window::ChunkWindow;
pub use global::Global;
use local_plain::LocalPlain;
pub use tumbling::Tumbling;
pub use window::Window;

/// An order with its parameters.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OrderSpec {
    /// The sequences as they are stored, sweep after sweep (CNTK's plain randomizer, spec/engine.md §7).
    AsStored,
    /// Chunks shuffled, and sequences among those of the chunks in a window (CNTK's block randomizer,
    /// spec/engine.md §5).
    ChunkWindow(ChunkWindow),
    /// All sequences shuffled by a keyed permutation.
    Global(Global),
    /// The sequences as they are stored, where each rank has its own timeline (spec/engine.md §8.1); for
    /// deserializers that are not composable.
    LocalPlain,
    /// Chunks shuffled, and sequences within one window of chunks after the other, where each rank has its own
    /// timeline (spec/engine.md §8.2).
    Tumbling(Tumbling),
}

/// All orders, in the order in which messages list them.
static ORDERS: [&OrderInfo; 5] =
    [&as_stored::INFO, &chunk_window::INFO, &global::INFO, &local_plain::INFO, &tumbling::INFO];

/// The unit that ranks share under [`Sharing::Chunk`](crate::Sharing::Chunk).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum SharedUnit {
    /// Whole chunks: a rank beyond the number of chunks gets nothing.
    Chunks,
    /// Single sequences.
    Sequences,
}

/// Facts about an order that do not depend on its parameters.
pub(crate) struct OrderInfo {
    /// Its name in states and messages.
    pub(crate) name: &'static str,
    /// Its version, which a state records: a state is valid only while sequences come in the same order as when it
    /// was saved. Each order has its own version, so that a change of one leaves the states of all others valid.
    pub(crate) version: u8,
    /// Its number in binary states. An order with a window also has the next number, for windows in samples.
    pub(crate) code: u8,
    /// True if each rank has its own timeline (spec/engine.md §8).
    pub(crate) is_local: bool,
    /// True if chunks or sequences are shuffled.
    pub(crate) is_shuffled: bool,
    /// True if it can plan while the index still grows.
    pub(crate) plans_while_indexing: bool,
    /// `true`: a minibatch ends as soon as it is full (spec/engine.md §7); `false`: it ends before the next sequence
    /// that does not fit (spec/engine.md §6.2).
    pub(crate) stops_when_full: bool,
    pub(crate) shared_unit: SharedUnit,
    /// True if the shares of ranks are drawn again in each sweep. If not, they repeat after as many sweeps as there
    /// are workers.
    pub(crate) redraws_shares: bool,
    /// On local timelines: the names of [`WindowStart`](crate::WindowStart) in the reference's states.
    pub(crate) window_start: Option<WindowStartFields>,
    /// Builds the order from parameters; `None` if one that it needs is missing.
    pub(crate) with: fn(Parameters) -> Option<OrderSpec>,
}

impl OrderInfo {
    /// [`OrderSpec::n_shared`].
    pub(crate) fn n_shared(&self, index: &Index) -> u64 {
        match self.shared_unit {
            SharedUnit::Chunks => index.n_chunks() as u64,
            SharedUnit::Sequences => index.n_sequences(),
        }
    }

    /// [`OrderSpec::shares_chunks`].
    pub(crate) fn shares_chunks(&self) -> bool {
        self.shared_unit == SharedUnit::Chunks && !self.is_local
    }
}

/// The names of the fields of a [`WindowStart`](crate::WindowStart) in the reference's states.
pub(crate) struct WindowStartFields {
    pub(crate) place: &'static str,
    pub(crate) sweep: &'static str,
    /// True if the second field follows from the first: it is written as 0 and not read.
    pub(crate) sweep_is_ignored: bool,
}

/// The parameters of an order, as states record them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) seed: Option<u64>,
    pub(crate) window: Option<Window>,
}

/// The half of an order that follows from its parameters and the index alone.
pub(crate) trait Definition {
    /// The facts that do not depend on its parameters.
    fn info(&self) -> &'static OrderInfo;

    /// The parameters; none by default.
    fn parameters(&self) -> Parameters {
        Parameters::default()
    }

    /// The order at work, before any sweep has been worked out.
    fn build(&self) -> Box<dyn Order>;

    /// Refuses parameters of 0, and corpora that are too large for the order.
    ///
    /// # Errors
    /// [`PlanRefusal`] with the value.
    fn check(&self, _index: &Index) -> Result<()> {
        Ok(())
    }

    /// The number by which ranks share a sequence in a sweep ([`Next::home`]).
    fn home(&self, index: &Index, planned: SequenceId, sweep: u64) -> u64;

    /// Bytes that the order takes while it works, at most, beside the index.
    fn working_bytes(&self, _index: &Index) -> u64 {
        0
    }

    /// True if any chunk may be needed at any time of a sweep.
    fn needs_all_chunks(&self, _index: &Index) -> bool {
        false
    }

    /// The order that replaces this one for deserializers that are not composable (spec/engine.md §2).
    fn on_local_timeline(&self) -> Option<OrderSpec> {
        None
    }
}

impl OrderSpec {
    /// The definition of the order.
    pub(crate) fn definition(&self) -> &dyn Definition {
        match self {
            OrderSpec::AsStored => &AsStored,
            OrderSpec::ChunkWindow(order) => order,
            OrderSpec::Global(order) => order,
            OrderSpec::LocalPlain => &LocalPlain,
            OrderSpec::Tumbling(order) => order,
        }
    }

    pub(crate) fn info(&self) -> &'static OrderInfo {
        self.definition().info()
    }

    /// The name of the order in states and messages.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// The version of the order. A state is valid only while sequences come in the same order as when it was saved.
    pub fn version(&self) -> u8 {
        self.info().version
    }

    /// The seed, if the order has one.
    pub fn seed(&self) -> Option<u64> {
        self.definition().parameters().seed
    }

    /// The window, if the order has one.
    pub fn window(&self) -> Option<Window> {
        self.definition().parameters().window
    }

    /// True if each rank has its own timeline (spec/engine.md §8).
    pub fn is_local(&self) -> bool {
        self.info().is_local
    }

    /// True if chunks or sequences are shuffled.
    pub fn is_shuffled(&self) -> bool {
        self.info().is_shuffled
    }

    /// True if sequences of similar length can be grouped ([`Bucketing`]).
    pub(crate) fn can_be_bucketed(&self) -> bool {
        self.is_shuffled() && !self.is_local()
    }

    /// True if minibatches can be planned while the index still grows.
    pub fn plans_while_indexing(&self) -> bool {
        self.info().plans_while_indexing
    }

    /// The number of ranks that can get data under [`Sharing::Chunk`](crate::Sharing::Chunk): the chunks or the
    /// sequences of the corpus.
    pub fn n_shared(&self, index: &Index) -> u64 {
        self.info().n_shared(index)
    }

    /// True if ranks share whole chunks on a common timeline under [`Sharing::Chunk`](crate::Sharing::Chunk). A rank
    /// without a chunk is then at the end of the data (spec/engine.md §6.3).
    pub fn shares_chunks(&self) -> bool {
        self.info().shares_chunks()
    }

    /// Bytes that planning takes, at most, beside the index and [`Bucketing::bytes`].
    pub fn working_bytes(&self, index: &Index) -> u64 {
        self.definition().working_bytes(index)
    }

    /// True if any chunk may be needed at any time of a sweep.
    pub fn needs_all_chunks(&self, index: &Index) -> bool {
        self.definition().needs_all_chunks(index)
    }

    /// The approximate storage, in bytes, of the chunks from which neighbouring sequences of a sweep come.
    pub fn storage_in_use(&self, index: &Index) -> u64 {
        let sizes = || index.chunk_ids().map(|chunk| index.chunk(chunk).bytes);
        let (all, largest) = (sizes().sum::<u64>(), sizes().max().unwrap_or(0));
        let within = match (self.window(), self.is_shuffled()) {
            (None, false) => 0,
            (None, true) => all,
            (Some(window), _) => {
                let (size, total) = window.size_of_total(index);
                (u128::from(all) * u128::from(size.min(total)) / u128::from(total.max(1))) as u64
            }
        };
        // A position lies in one chunk and near the next.
        all.min(within.saturating_add(2 * largest))
    }

    /// The order that replaces this one for deserializers that are not composable (spec/engine.md §2).
    #[must_use]
    pub fn on_local_timeline(self) -> OrderSpec {
        self.definition().on_local_timeline().unwrap_or(self)
    }
}

/// A sequence of an order.
#[derive(Copy, Clone)]
pub(crate) struct Next {
    pub(crate) planned: SequenceId,
    /// The number by which ranks share: the place of the chunk in the sweep, the chunk itself, or a running number.
    pub(crate) home: u64,
    /// Counted length in samples.
    pub(crate) length: u32,
}

/// Where a sequence stands in its sweep.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceStart {
    /// Its number in the sweep's order.
    pub(crate) number: u64,
    /// The sample of the sweep at which it starts.
    pub(crate) sample: u64,
}

/// A function that is called with runs of sequences and returns true if it wants more.
pub(crate) type SequenceVisitor<'a> = &'a mut dyn FnMut(&[Next]) -> bool;

/// The result of cutting: how far the minibatch fills its room. `None`: more of the index is needed.
pub(crate) type CutResult = Result<Option<Fill>>;

/// An order at work, which cuts minibatches from what it has worked out.
///
/// The trait is called through a `Box`, so each call serves a whole minibatch or a run of sequences, never one
/// sequence: a virtual call for each would cost more than the shuffle.
pub(crate) trait Order: OrderMemory {
    /// Cuts a minibatch from a cursor and moves the cursor past it. If more of the index is needed, the cursor has
    /// not moved, and `out` is incomplete.
    ///
    /// # Errors
    /// [`PlanRefusal`] for a cursor that cannot belong to this corpus.
    fn cut(&mut self, cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> CutResult;

    /// True if the order can cut a share of a minibatch without listing the other shares ([`Cut::dealt`]).
    fn can_deal(&self, _index: &Index) -> bool {
        false
    }

    /// Visits the sequences of a sweep, beginning at a cursor, in runs until the visitor returns `false`.
    fn visit(&mut self, index: &Index, from: &Cursor, each: SequenceVisitor<'_>);

    /// Finds the first sequence of a cursor's sweep that starts at or after a sample of the sweep. Returns where it stands.
    ///
    /// # Errors
    /// [`PlanRefusal`] in orders in which a position alone does not determine the next sequence.
    fn find(&mut self, index: &Index, at: &Cursor, sample: u64) -> Result<SequenceStart>;

    /// `true`: a cursor can belong to this corpus; `false`: more of the index is needed to decide.
    ///
    /// # Errors
    /// [`PlanRefusal`] if it cannot belong to the corpus.
    fn accepts(&self, index: &Index, cursor: &Cursor) -> Result<bool> {
        let n = index.n_sequences();
        if !index.is_complete() && (cursor.sweep > 0 || cursor.sequence > n) {
            return Ok(false);
        }
        if cursor.sequence > n {
            return Err(PlanRefusal::StateSequence { sequence: cursor.sequence, n });
        }
        Ok(true)
    }
}

/// The memory of an order: what it keeps of the sweeps that it has worked out.
pub(crate) trait OrderMemory: Send + Sync {
    /// Makes the order ready to resume at a cursor.
    fn rewind(&mut self, _index: &Index, _cursor: &Cursor) {}

    /// Drops what only [`OrderMemory::rewind`] to a cursor before this one would need. Until the first call the order
    /// keeps about one window.
    fn release(&mut self, _oldest: &Cursor) {}

    /// Appends the chunks from which their sweep takes no sequence after the cursor `until`, each once a sweep.
    /// `since` is the cursor of the last call.
    fn take_retired(&mut self, _index: &Index, _since: &Cursor, _until: &Cursor, _into: &mut Vec<ChunkId>) {}

    /// The numbers of the sequences at which the pools of a sweep begin, which are bucketed separately; the last one
    /// is the end of the sweep.
    fn pools(&mut self, index: &Index, _sweep: u64) -> Vec<u64> {
        vec![0, index.n_sequences()]
    }

    /// Bytes of memory held, beside the index.
    fn bytes(&self) -> usize {
        0
    }
}

/// Finds the order with a number in binary states and these parameters; the window is a size without its unit.
pub(crate) fn by_code(code: u8, seed: u64, window: u64) -> Option<OrderSpec> {
    let of_kind = |info: &&OrderInfo, window: Window| {
        let parameters = Parameters { seed: Some(seed), window: Some(window) };
        (info.with)(parameters).filter(|order| order.code() == code)
    };
    let each = ORDERS.iter();
    each.flat_map(|info| [of_kind(info, Window::Chunks(window)), of_kind(info, Window::Samples(window))])
        .flatten()
        .next()
}

/// Finds the facts about the order with a name.
///
/// # Errors
/// The names of all orders, as a text, if none has that name.
pub(crate) fn by_name(name: &str) -> Result<&'static OrderInfo, String> {
    let names = || ORDERS.map(|info| info.name).join(", ");
    ORDERS.into_iter().find(|info| info.name == name).ok_or_else(names)
}

/// The fields of window starts in the reference's states, for every order that has them.
pub(crate) fn window_starts() -> impl Iterator<Item = &'static WindowStartFields> {
    ORDERS.iter().filter_map(|info| info.window_start.as_ref())
}

impl OrderSpec {
    /// The number of the order in binary states.
    pub(crate) fn code(&self) -> u8 {
        self.info().code + u8::from(matches!(self.window(), Some(Window::Samples(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_back_from_its_number_and_no_number_stands_for_two() {
        let mut codes = Vec::new();
        for info in ORDERS {
            for window in [Window::Chunks(3), Window::Samples(3)] {
                let order = (info.with)(Parameters { seed: Some(7), window: Some(window) }).unwrap();
                assert_eq!(order.name(), info.name);
                assert_eq!(by_code(order.code(), 7, 3), Some(order));
                assert_eq!(by_name(info.name).map(|info| info.name), Ok(info.name));
                codes.push((order.code(), info.name));
            }
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(by_code(7, 0, 0), None);
    }
}

//! Reading in order while the index grows: pieces are cut one after the other, decoded side by side, and appended to
//! the index in their order.

use tesson_core::{ByteRun, Chunk, CompactLengths, Error};

use crate::executor::Reorder;

/// The pieces of a corpus, as far as they are known. Piece `k` is block `k` and chunk `k`.
pub(super) struct Growth {
    /// Where the next piece begins; `None` while a thread cuts it.
    cutter: Option<Option<ByteRun>>,
    pieces: Vec<(ByteRun, u64)>,
    /// The end of the data has been seen: there are no more pieces.
    ended: bool,
    /// What decoded pieces add to the index; taken in the order of the data.
    decoded: Reorder<Grown>,
    /// The line that the next piece begins at.
    line: u64,
    /// Index entries that no planner has taken yet.
    fresh: Vec<Grown>,
    /// Pieces being cut or decoded for the first time.
    under_way: usize,
    /// The piece that ended growing, and why.
    failed: Option<(u32, Error)>,
    /// The planner has asked for more.
    pub(super) wanted: bool,
    /// The piece the planner stands in.
    pub(super) reached: u32,
}

/// What a decoded piece adds to the index.
pub(super) struct Grown {
    pub(super) lengths: CompactLengths,
    pub(super) bytes: u64,
    n_lines: u64,
}

impl Grown {
    pub(super) fn of(piece: ByteRun, chunk: &Chunk) -> Grown {
        Grown { lengths: CompactLengths::new(&chunk.lengths), bytes: piece.bytes, n_lines: chunk.n_lines }
    }
}

impl Growth {
    pub(super) fn new() -> Growth {
        Growth {
            cutter: Some(None),
            pieces: Vec::new(),
            ended: false,
            decoded: Reorder::default(),
            line: 0,
            fresh: Vec::new(),
            under_way: 0,
            failed: None,
            wanted: true,
            reached: 0,
        }
    }

    /// Whether all pieces are known and decoded once.
    pub(super) fn is_sealed(&self) -> bool {
        self.ended && self.committed() == self.pieces.len()
    }

    /// Whether the planner would find something new.
    pub(super) fn has_news(&self) -> bool {
        !self.fresh.is_empty() || self.is_sealed() || self.stopped().is_some()
    }

    /// Why the index can grow no further, once all that came before the fault has been told.
    pub(super) fn stopped(&self) -> Option<Error> {
        let (_, e) = self
            .failed
            .as_ref()
            .filter(|(at, _)| *at as usize == self.committed() && self.fresh.is_empty())?;
        Some(match e.clone() {
            // The piece was cut or decoded before anybody knew the line it begins at.
            Error::Data(e) => Error::Data(e.lines_down(self.line_of_next())),
            other => other,
        })
    }

    /// Storage bytes of the last piece.
    pub(super) fn last_piece_bytes(&self) -> usize {
        self.pieces.last().map_or(0, |(piece, _)| piece.bytes as usize)
    }

    /// Takes the right to cut, if another piece is wanted within `ahead` pieces of the planner.
    pub(super) fn start_cut(&mut self, ahead: u32, at_once: usize) -> Option<Option<ByteRun>> {
        let near = self.pieces.len() as u64 <= u64::from(self.reached) + u64::from(ahead);
        if self.ended || self.failed.is_some() || self.under_way >= at_once || !(near || self.wanted) {
            return None;
        }
        let after = self.cutter.take()?;
        self.under_way += 1;
        Some(after)
    }

    /// Gives the right to cut back with what was cut; returns the piece's number.
    pub(super) fn end_cut(&mut self, cut: Result<Option<ByteRun>, Error>) -> Option<u32> {
        let number = self.pieces.len() as u32;
        match cut {
            Ok(Some(piece)) => {
                self.pieces.push((piece, 0));
                self.cutter = Some(Some(piece));
                return Some(number);
            }
            Ok(None) => self.ended = true,
            Err(e) => self.fail(number, e),
        }
        self.under_way -= 1;
        None
    }

    /// A piece is decoded for the first time.
    pub(super) fn arrive(&mut self, number: u32, decoded: Result<Grown, Error>) {
        self.under_way -= 1;
        match decoded {
            Ok(grown) => self.decoded.put(number.into(), grown),
            Err(e) => self.fail(number, e),
        }
        loop {
            let (at, line) = (self.committed(), self.line_of_next());
            let Some(grown) = self.decoded.take() else { return };
            self.pieces[at].1 = line;
            self.line = line + grown.n_lines;
            self.fresh.push(grown);
        }
    }

    /// Number of pieces that the index may hold: they and all before them are decoded.
    fn committed(&self) -> usize {
        self.decoded.next() as usize
    }

    /// The line that the next piece of the index begins at; every resource has lines of its own.
    fn line_of_next(&self) -> u64 {
        let at = self.committed();
        let resource = |at: usize| self.pieces.get(at).map(|(piece, _)| piece.resource);
        match at.checked_sub(1).map(resource) {
            Some(before) if resource(at).is_some_and(|own| before != Some(own)) => 0,
            _ => self.line,
        }
    }

    fn fail(&mut self, number: u32, e: Error) {
        // The first in the order of the data counts, whoever found it first.
        if self.failed.as_ref().is_none_or(|(at, _)| number < *at) {
            self.failed = Some((number, e));
        }
    }

    /// Index entries since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<Grown> {
        std::mem::take(&mut self.fresh)
    }

    /// A piece, and the line it begins at.
    pub(super) fn piece(&self, number: u32) -> (ByteRun, u64) {
        self.pieces[number as usize]
    }

    /// The plan starts anew somewhere.
    pub(super) fn rewind(&mut self) {
        self.reached = 0;
        self.wanted = true;
    }
}

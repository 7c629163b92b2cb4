//! The specification written down plainly: orders made whole for a sweep, positions looked up by counting. Slow, and
//! on purpose as close to the text of spec/engine.md §4 to §7 and §10.1 as code can be.

use crate::rng::Permutation;
use crate::{ChunkWindow, Demand, Global, Limit, OrderSpec, PlanSpec, Sharing, Window};
use tesson_core::{ChunkId, SequenceId};

/// The generator of spec/engine.md §4, from its textbook definition.
struct Twister {
    state: Vec<u64>,
    at: usize,
}

impl Twister {
    fn new(seed: u64) -> Twister {
        let mut state = vec![seed];
        for i in 1..312u64 {
            let last = state[i as usize - 1];
            state.push(6364136223846793005u64.wrapping_mul(last ^ (last >> 62)).wrapping_add(i));
        }
        Twister { state, at: 0 }
    }

    fn next(&mut self) -> u64 {
        let (i, s) = (self.at, &mut self.state);
        let y = (s[i] & 0xFFFFFFFF80000000) | (s[(i + 1) % 312] & 0x7FFFFFFF);
        s[i] = s[(i + 156) % 312] ^ (y >> 1) ^ if y % 2 == 1 { 0xB5026F5AA96619E9 } else { 0 };
        self.at = (i + 1) % 312;
        let mut x = s[i];
        x ^= (x >> 29) & 0x5555555555555555;
        x ^= (x << 17) & 0x71D67FFFEDA60000;
        x ^= (x << 37) & 0xFFF7EEE000000000;
        x ^ (x >> 43)
    }

    fn draw(&mut self, b: usize, e: usize) -> usize {
        b + (self.next() % (e - b) as u64) as usize
    }
}

/// A sequence of a sweep's order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) planned: SequenceId,
    pub(super) home: u64,
    pub(super) n: u64,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) own: Vec<SequenceId>,
    pub(super) foreign: Vec<SequenceId>,
    pub(super) sweep_end: bool,
    pub(super) data_end: bool,
    pub(super) after: u64,
}

/// The room left in a minibatch: G and L of spec/engine.md §6 and §7, in samples and in sequences.
#[derive(Clone, Copy)]
struct Room {
    g: u64,
    l: u64,
    g_sequences: u64,
    l_sequences: u64,
}

impl Room {
    fn is_too_small_for(self, n: u64, own: bool) -> bool {
        n > self.g || self.g_sequences == 0 || own && (n > self.l || self.l_sequences == 0)
    }

    fn is_used_up(self) -> bool {
        [self.g, self.l, self.g_sequences, self.l_sequences].contains(&0)
    }

    fn take(&mut self, n: u64, own: bool) {
        // A sequence that is forced may be longer than all that is left.
        (self.g, self.g_sequences) = (self.g.saturating_sub(n), self.g_sequences.saturating_sub(1));
        if own {
            (self.l, self.l_sequences) = (self.l.saturating_sub(n), self.l_sequences.saturating_sub(1));
        }
    }
}

pub(super) struct Model {
    chunks: Vec<Vec<u32>>,
    spec: PlanSpec,
    pub(super) position: u64,
}

impl Model {
    pub(super) fn new(chunks: &[Vec<u32>], spec: &PlanSpec) -> Model {
        Model { chunks: chunks.to_vec(), spec: spec.clone(), position: 0 }
    }

    fn samples(&self) -> u64 {
        self.chunks.iter().flatten().map(|&n| u64::from(n)).sum()
    }

    fn end(&self) -> u64 {
        match self.spec.limit {
            Limit::Endless => (1 << 63) - 1,
            Limit::Sweeps(w) => self.samples() * w,
            Limit::Samples(n) => n,
        }
    }

    fn item(&self, chunk: usize, sequence: usize, home: u64) -> Item {
        let planned = SequenceId { chunk: ChunkId::at(chunk), sequence: sequence as u32 };
        Item { planned, home, n: self.chunks[chunk][sequence].into() }
    }

    /// The whole order of a sweep.
    pub(super) fn order(&self, sweep: u64) -> Vec<Item> {
        let stored = |home: &dyn Fn(usize) -> u64| -> Vec<Item> {
            let mut items = Vec::new();
            for (c, lengths) in self.chunks.iter().enumerate() {
                (0..lengths.len()).for_each(|s| items.push(self.item(c, s, home(c))));
            }
            items
        };
        match &self.spec.order {
            OrderSpec::AsStored => stored(&|_| 0),
            OrderSpec::Global(Global { seed }) => {
                let items = stored(&|chunk| chunk as u64);
                let permutation = Permutation::new(items.len() as u64, *seed, sweep);
                (0..items.len()).map(|i| items[permutation.get(i as u64) as usize]).collect()
            }
            OrderSpec::ChunkWindow(ChunkWindow { window, seed }) => {
                self.block_order(window, seed.wrapping_add(sweep))
            }
            OrderSpec::LocalPlain | OrderSpec::Tumbling(_) => {
                unreachable!("`tests/local.rs` is about these")
            }
        }
    }

    /// spec/engine.md §5.1 and §5.3.
    fn block_order(&self, window: &Window, seed: u64) -> Vec<Item> {
        let n = self.chunks.len();
        let mut chunks: Vec<usize> = (0..n).collect();
        let mut random = Twister::new(seed);
        for i in 0..n {
            let j = random.draw(0, n);
            chunks.swap(i, j);
        }
        let windows = self.windows(&chunks, window);
        let mut q = vec![0];
        let mut v = Vec::new();
        let mut slot = Vec::new();
        for (place, &c) in chunks.iter().enumerate() {
            for s in 0..self.chunks[c].len() {
                v.push(self.item(c, s, place as u64));
                slot.push(place);
            }
            q.push(v.len());
        }
        let inside = |home: u64, w: (usize, usize)| w.0 as u64 <= home && home < w.1 as u64;
        let mut random = Twister::new(seed);
        for t in 0..v.len() {
            let (b, e) = windows[slot[t]];
            let j = loop {
                let j = random.draw(q[b], q[e]);
                if inside(v[j].home, windows[slot[t]]) && inside(v[t].home, windows[slot[j]]) {
                    break j;
                }
            };
            v.swap(t, j);
        }
        v
    }

    /// spec/engine.md §5.2.
    fn windows(&self, chunks: &[usize], window: &Window) -> Vec<(usize, usize)> {
        let n = chunks.len();
        match *window {
            Window::Chunks(v) => {
                let (v, h) = (v as usize, v as usize / 2);
                let window_of = |p: usize| {
                    let begin = p.saturating_sub(h);
                    if begin + v > n { (n.saturating_sub(v), n) } else { (begin, begin + v) }
                };
                (0..n).map(window_of).collect()
            }
            Window::Samples(size) => {
                let h = size / 2;
                let mut s = vec![0u64];
                chunks.iter().for_each(|&c| {
                    s.push(s[s.len() - 1] + self.chunks[c].iter().map(|&n| u64::from(n)).sum::<u64>())
                });
                let (mut begin, mut end) = (0, 1);
                let mut windows = Vec::new();
                for p in 0..n {
                    while s[p] - s[begin] > h {
                        begin += 1;
                    }
                    begin = begin.min(p);
                    end = end.max(p + 1);
                    while end < n && s[end + 1] - s[p] < h {
                        end += 1;
                    }
                    windows.push((begin, end));
                }
                windows
            }
        }
    }

    /// spec/engine.md §10.1: the first sequence that starts at or after the position.
    pub(super) fn seek(&mut self, position: u64, demand: Option<Demand>) {
        let samples = self.samples();
        let mut start = position / samples * samples;
        for item in self.order(position / samples) {
            if start >= position {
                break;
            }
            start += item.n;
        }
        self.position = start;
        if let Some(demand) = demand {
            self.apply_rank_rule(demand);
        }
    }

    fn apply_rank_rule(&mut self, demand: Demand) {
        let by_place = self.spec.sharing == Sharing::Chunk && self.spec.order != OrderSpec::AsStored;
        if by_place && demand.rank >= self.chunks.len() as u64 {
            self.position = self.end();
        }
    }

    pub(super) fn next(&mut self, demand: Demand) -> Batch {
        self.apply_rank_rule(demand);
        let position_shared = self.spec.sharing == Sharing::Position;
        let (w, r) = if position_shared { (1, 0) } else { (demand.workers, demand.rank) };
        let (mb, most) = (demand.samples, self.spec.most_sequences.unwrap_or(u64::MAX));
        let room = if position_shared || !self.spec.local_timeline {
            Room { g: mb, l: mb, g_sequences: most, l_sequences: most }
        } else {
            let share = |n: u64| (n / w + u64::from(r < n % w)).max(1);
            Room { g: u64::MAX, l: share(mb), g_sequences: u64::MAX, l_sequences: share(most) }
        };
        let mut out = Batch::default();
        if self.spec.order == OrderSpec::AsStored {
            self.read_plain(room, w, r, &mut out);
        } else {
            self.read_block(room, w, r, &mut out);
        }
        out.after = self.position;
        if position_shared {
            let all = std::mem::take(&mut out.own);
            for (i, planned) in all.into_iter().enumerate() {
                let mine = i as u64 % demand.workers == demand.rank;
                if mine { out.own.push(planned) } else { out.foreign.push(planned) }
            }
        }
        out
    }

    /// spec/engine.md §6.2, `read`.
    fn read_block(&mut self, mut left: Room, w: u64, r: u64, out: &mut Batch) {
        loop {
            let forced = !out.sweep_end;
            let before = self.position;
            left = self.round(left, forced, w, r, out);
            if !forced && self.position == before {
                break;
            }
            if !self.spec.cross_sweep_ends || !out.sweep_end || out.data_end || left.is_used_up() {
                break;
            }
        }
    }

    /// spec/engine.md §6.2, `round`; returns what is left.
    fn round(&mut self, mut left: Room, mut forced: bool, w: u64, r: u64, out: &mut Batch) -> Room {
        let (s, end) = (self.samples(), self.end());
        let off = self.position % s;
        if self.position >= end {
            out.data_end = true;
            if self.position >= s && off == 0 {
                out.sweep_end = true;
            }
            return left;
        }
        let mut dg = 0;
        let mut start = 0;
        for q in self.order(self.position / s) {
            start += q.n;
            if start <= off {
                continue;
            }
            let own = q.home % w == r;
            if !forced && left.is_too_small_for(q.n, own) {
                break;
            }
            if self.position + dg >= end {
                out.data_end = true;
                break;
            }
            left.take(q.n, own);
            if own {
                out.own.push(q.planned);
                forced = false;
            }
            dg += q.n;
        }
        out.sweep_end |= off + dg >= s;
        out.data_end |= self.position + dg >= end;
        self.position += dg;
        left
    }

    /// spec/engine.md §7, with shares by running number (spec/engine.md §16, item 3).
    fn read_plain(&mut self, mut left: Room, w: u64, r: u64, out: &mut Batch) {
        let (s, end) = (self.samples(), self.end());
        if self.position >= end {
            out.data_end = true;
            out.sweep_end = self.position >= s && self.position.is_multiple_of(s);
            return;
        }
        if !self.spec.cross_sweep_ends {
            left.g = left.g.min(s - self.position % s);
        }
        let order = self.order(0);
        let mut forced = true;
        let w0 = self.position / s;
        let mut index = 0;
        let mut start = 0;
        while start < self.position % s {
            start += order[index].n;
            index += 1;
        }
        let mut number = w0 * order.len() as u64 + index as u64;
        while !left.is_used_up() {
            let q = order[index % order.len()];
            let own = number % w == r;
            if !forced && left.is_too_small_for(q.n, own) {
                break;
            }
            if self.position >= end {
                out.data_end = true;
                break;
            }
            left.take(q.n, own);
            if own {
                out.own.push(q.planned);
                forced = false;
            }
            self.position += q.n;
            number += 1;
            index += 1;
        }
        out.data_end |= self.position >= end;
        out.sweep_end = self.position / s != w0;
    }
}

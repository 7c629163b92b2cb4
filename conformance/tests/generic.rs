//! Properties of every source: results do not depend on the size of reads, the number of threads, read-ahead, the
//! memory limit, or the process that resumes; shares add up; each sweep holds each sequence once.

#![forbid(unsafe_code)]
// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Trial};
use tesson::{Demand, Element, Key, ResumeState, Source};
use tesson_conformance::corpus::{
    self, BINARY, Delivered, Entries, FAULTY_ROWS, SEVERAL, TEXT, TRUNCATED, config, dawdling, rest,
};
use tesson_conformance::ways::{
    LITTLE_MEMORY, Level, ORDERS, WAYS, Way, all_keys, busy, corpus_store, ending, keys, label, open,
    plainly, sorted,
};
use tesson_convert::{ConvertError, Corpus, Form, Sequence, SequenceData, Sequences, StreamSpec, Written};
use tesson_engine::atomic_file::Existing;

/// A statement about the corpus read in one way.
type Check = fn(&str);

fn main() {
    let singles: [(&str, fn()); 4] = [
        ("the corpus has chunks enough", the_corpus_has_chunks_enough),
        ("special ways are among all", special_ways_are_among_all),
        ("equal steps are as many for every rank", equal_steps_are_as_many_for_every_rank),
        ("equal steps of rows are as many for every rank", equal_steps_of_rows_are_as_many_for_every_rank),
    ];
    let singles = singles.map(|(name, check)| Trial::test(name, move || passes(check)));
    let levels: [(Level, &[(&str, Check)]); 5] = [
        (
            Level::Threads,
            &[
                ("1 thread changes nothing", |way| threads_and_prefetching_change_nothing(way, 1)),
                ("2 threads change nothing", |way| threads_and_prefetching_change_nothing(way, 2)),
                ("8 threads change nothing", |way| threads_and_prefetching_change_nothing(way, 8)),
                ("how reads are cut changes nothing", how_reads_are_cut_changes_nothing),
            ],
        ),
        (
            Level::Resume,
            &[
                ("resumes after every minibatch", |way| check_resumes(way, 40, 1, 0)),
                ("a rank resumes after every minibatch of its share", |way| check_resumes(way, 80, 3, 1)),
                ("goes back to any state", a_source_goes_back_to_any_of_its_states),
            ],
        ),
        (
            Level::Shares,
            &[
                ("the shares by chunk are the whole", |way| {
                    the_shares_of_all_ranks_are_the_whole(way, "chunk")
                }),
                ("the shares by position are the whole", |way| {
                    the_shares_of_all_ranks_are_the_whole(way, "position")
                }),
            ],
        ),
        (
            Level::Sweeps,
            &[
                (
                    "shares by position are one worker's",
                    shares_by_position_make_up_the_minibatches_of_one_worker,
                ),
                ("every sweep holds every sequence once", every_sweep_holds_every_sequence_once),
            ],
        ),
        (
            Level::Processes,
            &[("little memory evicts blocks", a_source_with_little_memory_evicts_blocks), FRESH_PROCESS],
        ),
    ];
    let of_level = |way: &'static Way| {
        let checks = levels.iter().filter(move |(level, _)| *level <= way.level);
        checks.flat_map(move |(_, checks)| each(way, checks))
    };
    let of_images: &[(&str, Check)] =
        &[("the pictures of all ranks are those of one", the_images_of_all_ranks_are_those_of_one)];
    let of_one_pass: &[(&str, Check)] =
        &[("one pass writes what minibatches hold", one_pass_writes_what_minibatches_hold)];
    let of_faulty: &[(&str, Check)] =
        &[("faulty rows are left out", rows_with_faults_are_left_out_of_all_streams)];
    let of_rows: &[(&str, Check)] =
        &[("rows by position are one worker's", by_position_the_rows_of_all_ranks_are_those_of_one)];
    let trials = singles
        .into_iter()
        .chain(WAYS.iter().flat_map(of_level))
        .chain(images().flat_map(|way| each(way, of_images)))
        .chain(cut_inside().flat_map(|way| each(way, &[FRESH_PROCESS])))
        .chain(one_pass().flat_map(|way| each(way, of_one_pass)))
        .chain(faulty().flat_map(|way| each(way, of_faulty)))
        .chain(by_rows().flat_map(|way| each(way, of_rows)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

const FRESH_PROCESS: (&str, Check) =
    ("a fresh process resumes after every tenth minibatch", a_fresh_process_resumes);

/// A trial for each check of a way.
fn each(way: &'static Way, checks: &[(&str, Check)]) -> Vec<Trial> {
    let trial = |&(name, check): &(&str, Check)| {
        Trial::test(format!("{}/{name}", label(&way.options)), move || passes(|| check(&way.options)))
    };
    checks.iter().map(trial).collect()
}

/// Ways of which a sweep is one pass over stored sequences, which conversions read without minibatches. Sources know which
/// these are, but tests may run in a process each, which lists all of them first; opening all sources takes longer than most tests.
fn one_pass() -> impl Iterator<Item = &'static Way> {
    let in_order = |corpus: &str, way: &Way| way.options == format!(r#"{corpus}, "randomize": false"#);
    let corpora = [TEXT, FAULTY_ROWS, BINARY, SEVERAL];
    WAYS.iter().filter(move |way| corpora.iter().any(|corpus| in_order(corpus, way)))
}

/// Ways with rows that have faults.
fn faulty() -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.options.contains("rows.ctf"))
}

/// The ways to read images whose draws depend on nothing else.
fn images() -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.level > Level::Threads && way.options.contains("ImageDeserializer"))
}

/// Ways that end inside a sequence, without transforms: the program knows none of others.
fn cut_inside() -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.options.contains("maxSamplesEnd") && !way.options.contains("transforms"))
}

/// Truncated ways, of which any rank can have rows.
fn by_rows() -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.options.contains("truncationLength") && !way.options.contains("equalSteps"))
}

fn special_ways_are_among_all() {
    let is_one_pass = |way: &&Way| open(&ending(&way.options, 1), &*corpus_store()).is_one_pass();
    let names = |ways: &mut dyn Iterator<Item = &'static Way>| -> Vec<String> {
        ways.map(|way| label(&way.options)).collect()
    };
    assert_eq!(names(&mut one_pass()), names(&mut WAYS.iter().filter(is_one_pass)));
    assert!(faulty().count() > 0 && cut_inside().count() > 0);
    assert!(by_rows().filter(|way| way.options.contains("transforms")).count() > 1);
}

/// Runs a check, which panics if it does not hold.
fn passes(check: impl FnOnce()) -> Result<(), libtest_mimic::Failed> {
    check();
    Ok(())
}

fn the_corpus_has_chunks_enough() {
    let mut source = open(r#""randomize": false"#, &*corpus_store());
    let n_chunks = source.indexed().unwrap().index.n_chunks();
    assert!(n_chunks >= 20, "{n_chunks} chunks");
}

fn a_source_with_little_memory_evicts_blocks(order: &str) {
    let mut source = open(&busy(order, r#""threads": 2"#), &*corpus_store());
    rest(&mut source, 20, 1, 0);
    let stats = source.stats();
    assert!(stats.blocks_evicted + stats.rows_loaded > 0, "{order}: {stats:?}");
}

fn rows_with_faults_are_left_out_of_all_streams(order: &str) {
    let delivered = plainly(order, 20, 1, 0);
    let lengths = delivered.iter().map(|m| (&m.streams[0].lengths, &m.streams[1].lengths));
    let mut n = 0;
    for (x, y) in lengths {
        // A second good sample in a row is a fault that keeps both.
        assert!(x.len() == y.len() && !x.contains(&0) && !y.contains(&0), "{order}");
        n += x.len();
    }
    assert!((500..2000).contains(&n), "{order}: {n} sequences in two sweeps");
}

fn threads_and_prefetching_change_nothing(order: &str, threads: u64) {
    let expected = plainly(order, 20, 1, 0);
    for prefetch in [false, true] {
        let options = busy(order, &format!(r#""threads": {threads}, "prefetch": {prefetch}"#));
        let found = rest(&mut open(&options, &dawdling(corpus_store(), threads)), 20, 1, 0);
        assert!(found == expected, "{options}");
    }
}

/// A corpus that is written minibatch by minibatch.
struct ByMinibatch(Corpus);

impl Sequence for ByMinibatch {
    fn key(&self) -> Key {
        self.0.key()
    }

    fn stream(&self, stream: usize) -> SequenceData<'_> {
        self.0.stream(stream)
    }
}

impl Sequences for ByMinibatch {
    fn streams(&self) -> Vec<StreamSpec> {
        self.0.streams()
    }

    fn numbers_are_lines(&self) -> bool {
        self.0.numbers_are_lines()
    }

    fn advance(&mut self) -> Result<bool, ConvertError> {
        self.0.advance()
    }

    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }
}

/// Writes sequences in chunks of `chunk_bytes` bytes; returns the summary and the file.
fn written(folder: &Path, input: &mut dyn Sequences, chunk_bytes: u64) -> (Written, Vec<u8>) {
    let file = folder.join("out.cbf");
    let written =
        tesson_convert::write(input, &file, Existing::Replace, Form::Binary { chunk_bytes }, &mut |_| ());
    (written.expect("the data are right"), fs::read(file).unwrap())
}

fn one_pass_writes_what_minibatches_hold(way: &str) {
    let corpus = |source: Source, element: Element| Corpus::new(source, move |_| element);
    let folder = folder(&format!("written/{}", label(way)));
    let way = ending(way, 1);
    for (chunk_bytes, element) in [(1, Element::F32), (3000, Element::F64), (1 << 20, Element::F32)] {
        let plain = open(&format!(r#"{way}, "threads": 1"#), &*corpus_store());
        let expected = written(&folder, &mut ByMinibatch(corpus(plain, element)), chunk_bytes);
        for threads in [1, 2, 8] {
            let options = format!(r#"{way}, {LITTLE_MEMORY}, "threads": {threads}"#);
            let source = open(&options, &dawdling(corpus_store(), threads));
            let found = written(&folder, &mut corpus(source, element), chunk_bytes);
            assert!(found == expected, "{options}, chunks of {chunk_bytes} bytes");
        }
    }
}

fn how_reads_are_cut_changes_nothing(order: &str) {
    let expected = plainly(order, 33, 1, 0);
    for seed in 0..5 {
        let found =
            rest(&mut open(&busy(order, r#""threads": 2"#), &dawdling(corpus_store(), seed)), 33, 1, 0);
        assert!(found == expected, "{order}, reads by schedule {seed}");
    }
}

/// Reads on, and lets a fresh source read on from the state after each minibatch.
fn check_resumes(order: &str, samples: u64, workers: u64, rank: u64) {
    let expected = plainly(order, samples, workers, rank);
    let options = busy(order, r#""threads": 2"#);
    let mut source = open(&options, &*corpus_store());
    let demand = Demand { samples, workers, rank };
    for behind in 1..=expected.len() {
        let minibatch = source.next(demand).unwrap().expect("as many as were read plainly");
        let state = source.state();
        assert_eq!(minibatch.resume(), state);
        let by_bytes = ResumeState::from_bytes(&state.to_bytes()).unwrap();
        let by_json = ResumeState::from_json(&state.to_json()).unwrap();
        assert_eq!(by_bytes, by_json);
        let mut fresh = open(&options, &dawdling(corpus_store(), behind as u64));
        fresh.restore(&by_bytes).unwrap();
        let found = rest(&mut fresh, samples, workers, rank);
        assert!(found == expected[behind..], "{order}, rank {rank} of {workers}, behind minibatch {behind}");
    }
}

fn a_source_goes_back_to_any_of_its_states(order: &str) {
    let expected = plainly(order, 40, 1, 0);
    let mut source = open(&busy(order, r#""threads": 2"#), &*corpus_store());
    let mut states = vec![source.state().clone()];
    while source.next_minibatch(40).unwrap().is_some() {
        states.push(source.state().clone());
    }
    for behind in (0..expected.len()).rev().step_by(5) {
        source.restore(&states[behind]).unwrap();
        let next = source.next_minibatch(40).unwrap().expect("it is not the last");
        assert!(Delivered::of(&next) == expected[behind], "{order}, back to {behind}");
    }
}

/// A folder for one test, with the corpus in it.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in corpus::files(&corpus::text(&corpus::lengths())) {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// The program's output for everything after a state.
fn in_another_process(folder: &Path, config: &str, state: Option<&ResumeState>, samples: u64) -> Vec<String> {
    let (config_file, state_file) = (folder.join("config.json"), folder.join("state.json"));
    std::fs::write(&config_file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesson-under-test"));
    command.arg("read").arg(config_file).args(["--json", "--minibatch-size", &samples.to_string()]);
    command.arg("--base-dir").arg(folder);
    if let Some(state) = state {
        std::fs::write(&state_file, state.to_json().to_string()).unwrap();
        command.arg("--state").arg(state_file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

fn a_fresh_process_resumes(order: &str) {
    let folder = folder(&format!("fresh-process/{}", label(order)));
    let options = busy(order, r#""threads": 2"#);
    let text = corpus::config_text(&options);
    let expected = in_another_process(&folder, &text, None, 30);
    let mut config = config(&options);
    config.resolve_paths(&folder, &tesson::registry()).unwrap();
    let mut source = tesson::open(&config).unwrap();
    let mut behind = 0;
    while source.next_minibatch(30).unwrap().is_some() {
        behind += 1;
        if behind % 10 == 0 {
            let found = in_another_process(&folder, &text, Some(source.state()), 30);
            assert!(found == expected[behind..], "{order}, behind minibatch {behind}");
        }
    }
    assert!(behind >= 20);
}

fn the_shares_of_all_ranks_are_the_whole(order: &str, sharing: &str) {
    let whole = all_keys(order, corpus::lengths().len(), 2);
    let order = format!(r#"{order}, "sharing": "{sharing}""#);
    for workers in [1, 2, 5] {
        let shares = (0..workers).flat_map(|rank| keys(&plainly(&order, 60, workers, rank)));
        assert_eq!(sorted(shares.collect()), whole, "{order}, {workers} workers");
    }
}

fn equal_steps_are_as_many_for_every_rank() {
    // Of each way how many orders it makes a difference in.
    let (mut dropped, mut repeated, mut empty) = (0, 0, 0);
    for order in ORDERS.iter() {
        for (mode, sharing) in
            [("drop", "chunk"), ("repeat", "chunk"), ("empty", "chunk"), ("repeat", "position")]
        {
            let order = format!(r#"{order}, "equalSteps": "{mode}", "sharing": "{sharing}""#);
            let shares: Vec<_> = (0..5).map(|rank| plainly(&order, 60, 5, rank)).collect();
            let ends = |share: &[Delivered]| share.iter().map(|m| m.sweep_end).collect::<Vec<_>>();
            assert!(shares.iter().all(|share| ends(share) == ends(&shares[0])), "{order}");
            let is_empty = shares.iter().flatten().any(|m| m.keys.is_empty());
            assert!(!is_empty || mode == "empty", "{order}");
            let found = sorted(shares.iter().flat_map(|share| keys(share)).collect());
            let all = all_keys(&order, corpus::lengths().len(), 2);
            match mode {
                "empty" => assert_eq!(found, all, "{order}"),
                "drop" => assert!(found.len() <= all.len(), "{order}"),
                _ => assert!(found.len() >= all.len(), "{order}"),
            }
            dropped += usize::from(found.len() < all.len());
            repeated += usize::from(found.len() > all.len());
            empty += usize::from(is_empty);
        }
    }
    let n = ORDERS.len();
    assert!(dropped > n / 2 && repeated > n / 2 && empty > n / 2, "{dropped}, {repeated}, {empty} of {n}");
}

/// The keys of all pieces, each as often as it has samples.
fn keys_of_samples(all: &[Delivered]) -> Vec<String> {
    let of_minibatch = |m: &Delivered| {
        let pieces = m.keys.iter().zip(m.streams[0].lengths.clone());
        pieces.flat_map(|(key, n)| std::iter::repeat_n(key.clone(), n as usize)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_minibatch).collect()
}

fn equal_steps_of_rows_are_as_many_for_every_rank() {
    // Of each way how many orders it makes a difference in.
    let (mut dropped, mut repeated, mut empty) = (0, 0, 0);
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    for order in orders.map(|order| format!("{TRUNCATED}, {order}")) {
        let all = sorted(keys_of_samples(&plainly(&order, 60, 1, 0)));
        for (mode, sharing) in [
            ("drop", "chunk"),
            ("repeat", "chunk"),
            ("empty", "chunk"),
            ("drop", "position"),
            ("empty", "position"),
        ] {
            let order = format!(r#"{order}, "equalSteps": "{mode}", "sharing": "{sharing}""#);
            let shares: Vec<_> = (0..5).map(|rank| plainly(&order, 60, 5, rank)).collect();
            assert!(shares.iter().all(|share| share.len() == shares[0].len()), "{order}");
            let is_empty = shares.iter().flatten().any(|m| m.keys.is_empty());
            assert!(!is_empty || mode == "empty", "{order}");
            let found = sorted(shares.iter().flat_map(|share| keys_of_samples(share)).collect());
            match mode {
                "empty" => assert_eq!(found, all, "{order}"),
                "drop" => assert!(found.len() <= all.len(), "{order}"),
                _ => assert!(found.len() >= all.len(), "{order}"),
            }
            if sharing == "chunk" {
                // Every rank gets the end of a sweep with the same step, and nothing of one sweep comes in the next.
                let ends = |share: &[Delivered]| share.iter().map(|m| m.sweep_end).collect::<Vec<_>>();
                assert!(shares.iter().all(|share| ends(share) == ends(&shares[0])), "{order}");
                assert_eq!(ends(&shares[0]).iter().filter(|end| **end).count(), 2, "{order}");
            }
            dropped += usize::from(found.len() < all.len());
            repeated += usize::from(found.len() > all.len());
            empty += usize::from(is_empty);
        }
    }
    let n = orders.len();
    assert!(dropped >= n && repeated >= n - 1 && empty >= n, "{dropped}, {repeated}, {empty} of {n}");
}

fn shares_by_position_make_up_the_minibatches_of_one_worker(order: &str) {
    let order = format!(r#"{order}, "sharing": "position""#);
    let whole = plainly(&order, 60, 1, 0);
    let shares: Vec<_> = (0..3).map(|rank| plainly(&order, 60, 3, rank)).collect();
    for (i, minibatch) in whole.iter().enumerate() {
        for (place, key) in minibatch.keys.iter().enumerate() {
            assert_eq!(&shares[place % 3][i].keys[place / 3], key, "{order}, minibatch {i}, place {place}");
        }
    }
    assert!(shares.iter().all(|share| share.len() == whole.len()), "{order}: as many steps on every rank");
}

/// The keys and pixels of all images, in ascending order.
fn pixels(all: &[Delivered]) -> Vec<(String, Vec<u64>)> {
    let of_minibatch = |m: &Delivered| {
        let Entries { bits, indices: shapes, .. } = &m.streams[0];
        let same = bits.len() / m.keys.len().max(1);
        let mut rest = &bits[..];
        let image = |(i, key): (usize, &String)| {
            let of_its_own = shapes.chunks(3).nth(i).map(|shape| shape.iter().product::<i32>() as usize);
            let (pixels, others) = rest.split_at(of_its_own.unwrap_or(same));
            rest = others;
            (key.clone(), pixels.to_vec())
        };
        m.keys.iter().enumerate().map(image).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = all.iter().flat_map(of_minibatch).collect();
    found.sort_unstable();
    found
}

fn the_images_of_all_ranks_are_those_of_one(way: &str) {
    let expected = pixels(&plainly(way, 60, 1, 0));
    let n_drawn = expected.chunk_by(|a, b| a.0 == b.0).filter(|same| same[0] != same[1]).count();
    assert!(n_drawn > 150, "{way}: the pictures of the second sweep are others");
    for sharing in ["chunk", "position"] {
        let way = format!(r#"{}, "sharing": "{sharing}""#, way.replace(r#", "sharing": "position""#, ""));
        for workers in [2, 3] {
            let ranks = (0..workers).flat_map(|rank| plainly(&way, 33, workers, rank));
            assert!(pixels(&ranks.collect::<Vec<_>>()) == expected, "{way}, {workers} workers");
        }
    }
}

/// The contents of a slot of a truncated minibatch: for each segment the key, the steps of its sequence, and the bits
/// of its samples in each stream.
type Row = Vec<(String, i64, i64, Vec<Vec<u64>>)>;

/// The slots of a minibatch of dense streams.
fn rows_of(minibatch: &Delivered) -> Vec<Row> {
    let layout = minibatch.layout.as_ref().expect("it is truncated");
    let mut rows = vec![Row::new(); layout.rows as usize];
    let mut first = 0;
    for (i, place) in layout.places.iter().enumerate() {
        let samples = minibatch.streams.iter().map(|stream| {
            let n: u32 = stream.lengths.iter().sum();
            let dim = stream.bits.len() / n.max(1) as usize;
            stream.bits[first * dim..(first + stream.lengths[i] as usize) * dim].to_vec()
        });
        let piece = (minibatch.keys[i].clone(), place.begin, place.end, samples.collect());
        rows[place.row as usize].push(piece);
        first += minibatch.streams[0].lengths[i] as usize;
    }
    rows
}

fn by_position_the_rows_of_all_ranks_are_those_of_one(order: &str) {
    let sharing = if order.contains("sharing") { "" } else { r#", "sharing": "position""# };
    let order = format!("{order}{sharing}");
    let whole = plainly(&order, 40, 1, 0);
    let ranks: Vec<_> = (0..3).map(|rank| plainly(&order, 40, 3, rank)).collect();
    assert!(ranks.iter().all(|rank| rank.len() == whole.len()), "{order}: as many steps on every rank");
    for (i, minibatch) in whole.iter().enumerate() {
        let ranks: Vec<_> = ranks.iter().map(|rank| rows_of(&rank[i])).collect();
        for (row, expected) in rows_of(minibatch).iter().enumerate() {
            assert_eq!(&ranks[row % 3][row / 3], expected, "{order}, minibatch {i}, row {row}");
        }
    }
}

fn every_sweep_holds_every_sequence_once(order: &str) {
    let n = corpus::lengths().len();
    let all = keys(&plainly(order, 7, 1, 0));
    assert_eq!(all.len(), 2 * n);
    for sweep in all.chunks(n) {
        assert_eq!(sorted(sweep.to_vec()), all_keys(order, n, 1), "{order}");
    }
}

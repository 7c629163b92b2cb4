//! Loaders: epochs, types, ranks, resume.

use tesson::formats::Ctf;
use tesson::store::MemoryStore;
use tesson::{Dataset, Error, LoaderBuilder, Pieces, Shuffle};

use crate::kit::{refusal, store_of};

/// A text file with one value an example; `None` is invalid.
fn store(values: impl IntoIterator<Item = Option<u32>>) -> MemoryStore {
    let line = |value: Option<u32>| match value {
        Some(value) => format!("|x {value} |y {}:1\n", value % 3),
        None => "|x bad |y 0:1\n".to_owned(),
    };
    store_of([("a.ctf", values.into_iter().map(line).collect::<String>())])
}

fn data() -> Dataset<Ctf> {
    tesson::read_ctf("a.ctf").dense("x", 1).sparse("y", 3)
}

fn loader(n: u32) -> LoaderBuilder {
    data().loader().store(&store((0..n).map(Some)))
}

/// The values of each batch of the rest of an epoch.
fn epoch(loader: &mut tesson::Loader) -> Result<Vec<Vec<f32>>, Error> {
    loader.epoch().map(|batch| Ok(batch?.dense::<f32>("x")?.to_vec())).collect()
}

#[test]
fn an_epoch_is_each_example_once_and_the_next_one_is_shuffled_anew() {
    let mut loader =
        loader(10).batch_size(4).shuffle(Shuffle::Whole).seed(1).open().expect("the file is right");
    let epochs: Vec<Vec<Vec<f32>>> = (0..2).map(|_| epoch(&mut loader).expect("data")).collect();
    for (number, batches) in epochs.iter().enumerate() {
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2], "{number}");
        let mut all: Vec<f32> = batches.concat();
        all.sort_by(f32::total_cmp);
        assert_eq!(all, (0..10u8).map(f32::from).collect::<Vec<_>>());
    }
    assert_ne!(epochs[0], epochs[1]);
    assert_eq!((loader.epoch_number(), loader.step().expect("it is indexed")), (2, 6));
    assert_eq!((loader.num_examples().expect("as many"), loader.num_batches().expect("as many")), (10, 3));
}

#[test]
fn a_batch_says_which_files_its_examples_are_from() {
    let files = [("a.ctf", "|x 0\n|x 1\n|x 2\n"), ("b.ctf", "|x 3\n|x bad\n"), ("c.ctf", "|x 5\n|x 6\n")];
    let sources = |shuffle| -> Vec<(String, u32)> {
        let data = tesson::read_ctf("[a-c].ctf").dense("x", 1);
        let store = store_of(files.map(|(name, text)| (name, text.to_owned())));
        let loader = data.loader().store(&store).batch_size(2).shuffle(shuffle).max_errors(2);
        let mut loader = loader.open().expect("the files are right");
        let of = |batch: tesson::Batch| {
            let values = batch.dense::<f32>("x").expect("it is dense").to_vec();
            let files = batch.sources().into_iter().map(|file| file.expect("a file").display().to_string());
            assert_eq!((files.len(), values.len()), (batch.len(), batch.len()));
            files.zip(values.into_iter().map(|x| x as u32)).collect::<Vec<_>>()
        };
        loader.epoch().flat_map(|batch| of(batch.expect("the faults of one line are forgiven"))).collect()
    };
    let expected = [("a.ctf", 0), ("a.ctf", 1), ("a.ctf", 2), ("b.ctf", 3), ("c.ctf", 5), ("c.ctf", 6)]
        .map(|(file, x)| (file.to_owned(), x));
    assert_eq!(sources(Shuffle::Off), expected);
    let mut shuffled = sources(Shuffle::Whole);
    assert_ne!(shuffled, expected);
    shuffled.sort();
    assert_eq!(shuffled, expected);
}

#[test]
fn examples_come_in_the_order_of_the_data_unless_they_are_shuffled() {
    let of = |loader: LoaderBuilder| epoch(&mut loader.batch_size(50).open().expect("the file is right"));
    let stored: Vec<f32> = (0..50u8).map(f32::from).collect();
    assert_eq!(of(loader(50)).expect("data"), std::slice::from_ref(&stored));
    assert_eq!(of(loader(50).shuffle(Shuffle::Off)).expect("data"), std::slice::from_ref(&stored));
    assert_ne!(of(loader(50).shuffle(Shuffle::Whole)).expect("data"), [stored]);
}

#[test]
fn a_loader_resumes_after_any_batch_on_any_number_of_ranks() {
    let open = |rank, ranks| {
        let loader = loader(11).batch_size(4).shuffle(Shuffle::Whole).rank(rank, ranks).epochs(2);
        loader.open().expect("the file is right")
    };
    let whole: Vec<Vec<f32>> = [0, 1].map(|_| epoch(&mut open(0, 1)).expect("data")).concat();
    assert_eq!(whole.len(), 6);
    let mut one = open(0, 1);
    for batch in &whole[..2] {
        let read = one.epoch().next().expect("there are more").expect("the file is right");
        assert_eq!(&*read.dense::<f32>("x").expect("dense"), &batch[..]);
        assert_eq!((read.state(), read.is_epoch_end()), (one.state(), false));
    }
    let mut ranks = [0, 1].map(|rank| open(rank, 2));
    for rank in &mut ranks {
        rank.restore(one.state()).expect("a state of the same data");
    }
    let [a, b] = ranks.each_mut().map(|rank| epoch(rank).expect("data"));
    assert_eq!(
        [[a[0][0], b[0][0]], [a[0][1], b[0].get(1).copied().unwrap_or(whole[2][2])]].concat()[..3],
        whole[2]
    );
    let mut skipped = open(0, 1);
    skipped.skip_to(2).expect("there are so many");
    assert_eq!(epoch(&mut skipped).expect("data"), whole[2..3]);
}

#[test]
fn a_short_last_batch_is_left_out_if_asked_for() {
    let mut loader = loader(10).batch_size(4).drop_last().open().unwrap();
    for _ in 0..2 {
        assert_eq!(epoch(&mut loader).unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
        let report = loader.report().unwrap();
        assert_eq!((report.examples, report.dropped, report.is_over), (8, 2, true));
    }
    assert_eq!(loader.num_batches().unwrap(), 2);
}

#[test]
fn examples_of_similar_length_are_grouped_if_asked_for() {
    let row = |id: u32| format!("{id} |x {id}\n").repeat(1 + (id % 7) as usize * 5);
    let text: String = (0..140).map(row).collect();
    let store = store_of([("a.ctf", text)]);
    let padding = |builder: LoaderBuilder| {
        let builder = builder.batch_size(8).shuffle(Shuffle::Whole).store(&store);
        let (mut padding, mut keys) = (0, Vec::new());
        for batch in builder.open().unwrap().epoch() {
            let batch = batch.unwrap();
            let lengths: Vec<usize> = batch.ragged::<f32>("x").unwrap().iter().map(<[f32]>::len).collect();
            let longest = lengths.iter().max().unwrap();
            padding += lengths.iter().map(|n| longest - n).sum::<usize>();
            keys.extend((0..batch.len()).map(|i| batch.keys().get(i)));
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 140);
        padding
    };
    let data = || tesson::read_ctf("a.ctf").dense("x", 1).loader();
    assert!(padding(data().bucket_by_length()) * 3 < padding(data()));
    // There is nothing to group within where nothing is shuffled.
    let refused = data().batch_size(8).store(&store).bucket_by_length().open().err().unwrap();
    assert!(refused.to_string().contains("bucketing"), "{refused}");
}

#[test]
fn epochs_that_are_all_read_do_not_end_in_silence() {
    let mut loader = loader(3).batch_size(2).epochs(1).open().expect("the file is right");
    assert_eq!(epoch(&mut loader).expect("data"), [vec![0.0, 1.0], vec![2.0]]);
    let mut over = loader.epoch();
    assert!(refusal(over.next().expect("an error")).starts_with("all 1 epochs have been read"));
    assert!(over.next().is_none());
}

#[test]
fn invalid_examples_are_left_out_and_reported() {
    let values = [Some(0), None, Some(2), Some(3), None, None];
    let open = |errors| {
        let loader = data().loader().store(&store(values)).batch_size(2).max_errors(errors);
        loader.open().expect("nothing is read yet")
    };
    let mut loader = open(3);
    let ends: Vec<bool> = loader.epoch().map(|batch| batch.expect("forgiven").is_epoch_end()).collect();
    assert_eq!(ends, [false, true]);
    let report = loader.report().expect("it is indexed");
    assert_eq!((report.batches, report.examples, report.left_out, report.is_over), (2, 3, 3, true));
    assert!(matches!(epoch(&mut open(2)), Err(Error::Data(_))));
}

#[test]
fn a_stream_is_read_as_what_it_is() {
    let text = "0 |x 1 2 |y 1:1\n1 |x 3 4 |y 0:1\n1 |x 5 6\n";
    let store = store_of([("a.ctf", text)]);
    let data = tesson::read_ctf("a.ctf").dense("x", 2).sparse("label", 3).field("label", "y");
    let mut loader = data.loader().store(&store).batch_size(2).open().expect("the file is right");
    let batch = loader.epoch().next().expect("examples").expect("the file is right");
    let y = batch.sparse::<f32>("label").expect("sparse");
    assert_eq!((y.indptr, y.indices, y.values, y.columns), (&[0, 1, 2][..], &[1, 0][..], &[1.0, 1.0][..], 3));
    let x = batch.ragged::<f32>("x").expect("dense");
    assert_eq!(x.offsets(), [0, 1, 3]);
    assert_eq!(x.iter().collect::<Vec<_>>(), [&[1.0, 2.0][..], &[3.0, 4.0, 5.0, 6.0]]);
    let several =
        "stream `x` has 2 samples in the example with the key 1, expected 1; ask for a ragged stream";
    assert_eq!(refusal(batch.dense::<f32>("x")), several);
    assert_eq!(
        refusal(batch.dense::<f64>("x")),
        "stream `x` is dense float32 [2], asked for as dense float64"
    );
    assert_eq!(
        refusal(batch.sparse::<i64>("label")),
        "stream `label` is sparse float32 [3], asked for as sparse int64"
    );
    assert_eq!(
        refusal(batch.dense::<f32>("labels")),
        "no stream `labels`, there are x, label, did you mean `label`?"
    );
}

#[test]
fn a_configuration_gives_the_same_builder() {
    let text = r#"{"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "a.ctf", "input": {"x": {"dim": 1, "format": "dense"}}}], "randomize": false}"#;
    let store = store((0..5).map(Some));
    let open = || tesson::from_str(text).expect("a configuration").store(&store);
    let mut loader = open().batch_size(2).open().expect("the file is right");
    assert_eq!(epoch(&mut loader).expect("data"), [vec![0.0, 1.0], vec![2.0, 3.0], vec![4.0]]);
    assert!(refusal(open().open()).contains("batch_size"));
    let missing = std::env::temp_dir().join("tesson-no-such.cntk");
    assert!(refusal(tesson::from_path(&missing)).contains("tesson-no-such.cntk"));
}

/// Six examples of 7, 1, 4, 9, 2 and 2 samples; sample `t` of example `i` is `100 · i + t`.
fn cut(rows: u64) -> LoaderBuilder {
    let row = |(i, t): (usize, u32)| format!("{i} |x {} |y {i}:1\n", 100 * i + t as usize);
    let lengths = [7, 1, 4, 9, 2, 2];
    let text: String =
        lengths.iter().enumerate().flat_map(|(i, &n)| (0..n).map(move |t| (i, t))).map(row).collect();
    let data = tesson::read_ctf("a.ctf").dense("x", 1).sparse("y", 6);
    data.loader().batch_size(rows).truncate(3).epochs(2).store(&store_of([("a.ctf", text)]))
}

fn pieces(loader: &mut tesson::Loader) -> Vec<Pieces<f32>> {
    loader.epoch().map(|batch| batch.and_then(|batch| batch.pieces("x")).expect("pieces")).collect()
}

#[test]
fn examples_are_cut_into_pieces_that_continue_in_their_row() {
    let mut loader = cut(2).shuffle(Shuffle::Whole).seed(3).open().unwrap();
    let epochs = [pieces(&mut loader), pieces(&mut loader)];
    for batches in &epochs {
        // Each row, from batch to batch: its examples one behind the other.
        let mut examples: Vec<Vec<f32>> = Vec::new();
        for row in 0..2 {
            for batch in batches {
                assert_eq!((batch.rows, batch.steps, &batch.shape[..]), (2, 3, &[1][..]));
                for at in row * 3..row * 3 + 3 {
                    match (batch.mask[at], batch.is_start[at]) {
                        (true, true) => examples.push(vec![batch.values[at]]),
                        (true, false) => examples.last_mut().unwrap().push(batch.values[at]),
                        (false, begins) => assert_eq!((begins, batch.values[at]), (false, 0.0)),
                    }
                }
            }
        }
        examples.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let whole = |(i, n): (u16, u16)| (0..n).map(|t| f32::from(100 * i + t)).collect();
        assert_eq!(
            examples,
            [7, 1, 4, 9, 2, 2]
                .iter()
                .enumerate()
                .map(|(i, &n)| whole((i as u16, n)))
                .collect::<Vec<Vec<f32>>>()
        );
    }
    assert_ne!(epochs[0], epochs[1]);
}

#[test]
fn pieces_resume_and_are_shared_by_rows() {
    let of = |rank, ranks| cut(2).rank(rank, ranks).open().unwrap();
    let whole = pieces(&mut of(0, 1));
    let mut first = of(0, 1);
    let state = first.epoch().nth(1).unwrap().unwrap().state().clone();
    let mut resumed = of(0, 1);
    resumed.restore(&state).unwrap();
    assert_eq!(pieces(&mut resumed), whole[2..]);
    for rank in 0..2 {
        for (own, all) in pieces(&mut of(rank, 2)).iter().zip(&whole) {
            let row = rank as usize * 3..rank as usize * 3 + 3;
            assert_eq!(
                (own.rows, &own.values[..], &own.mask[..]),
                (1, &all.values[row.clone()], &all.mask[row])
            );
        }
    }
}

#[test]
fn what_pieces_cannot_be_is_refused_with_a_remedy() {
    let refused = |builder: LoaderBuilder| refusal(builder.open().map(|_| ()));
    assert_eq!(refused(cut(2).truncate(0)), "truncate: found 0, expected at least 1");
    assert!(refused(cut(2).rank(0, 3)).starts_with("batch_size: found 2 rows for 3 ranks"));
    assert!(refused(cut(2).batch_samples(9)).starts_with("batch_size: found it beside batch_samples"));
    assert!(refused(cut(2).shuffle(Shuffle::Whole).bucket_by_length()).contains("truncated"));
    let mut loader = loader(4).batch_size(2).open().unwrap();
    let batch = loader.epoch().next().unwrap().unwrap();
    assert_eq!(
        batch.pieces::<f32>("x").unwrap_err().to_string(),
        "stream `x` is dense float32 [1], asked for as pieces of float32"
    );
}

#[test]
fn colours_of_images_are_red_green_and_blue() {
    let image = b"P6 1 1 255 \x01\x02\x03".to_vec();
    let store = MemoryStore::default().with("a.ppm", image).with("a.map", b"a.ppm\t0\n".to_vec());
    let data = tesson::read_images("a.map").images("x", []).labels("y", 1);
    let batch = data.loader().batch_size(1).store(&store).open().unwrap().epoch().next().unwrap().unwrap();
    assert_eq!(
        (&*batch.dense::<f32>("x").unwrap(), batch.dense::<f32>("x").unwrap().shape()),
        (&[1.0, 2.0, 3.0][..], &[1, 1, 3][..])
    );
}

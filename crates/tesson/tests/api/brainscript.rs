//! BrainScript configurations, from their files to minibatches.

use std::path::{Path, PathBuf};

use tesson::config::load;
use tesson::store::MemoryStore;
use tesson::{Error, OpenOptions, Source, SourceConfig, StreamInfo, registry};
use tesson_config::reader::ReaderType;
use tesson_config::{Choices, Loaded};
use tesson_config::{json, lower, toml};
use tesson_core::Value;
use tesson_plan::SegmentLength;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cntk")
}

fn example(name: &str) -> Loaded {
    let path = examples().join(name);
    load(path.to_str().expect("the repository has a name in UTF-8"), &Choices::default())
        .expect("examples are configurations")
}

fn open(loaded: &Loaded, section: &str) -> Result<Source, Error> {
    let reader = loaded.reader(Some(section))?;
    let mut config = reader.source(&registry())?;
    if let Some(folder) = loaded.base_dir(&reader) {
        config.resolve_paths(Path::new(folder), &registry())?;
    }
    tesson::open(&config)
}

/// The samples of each minibatch of a size, up to the end of the data.
fn sizes(source: &mut Source, size: u64) -> Vec<usize> {
    // Some have no end.
    let minibatches =
        std::iter::from_fn(|| source.next_minibatch(size).expect("the data are right")).take(100);
    minibatches.map(|m| m.streams().iter().map(|s| s.n_samples()).max().unwrap_or(0)).collect()
}

#[test]
fn every_example_means_something_and_is_read() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "cntk"));
    assert!(files.len() >= 8, "{files:?}");
    let overview = std::fs::read_to_string(examples().join("README.md")).unwrap();
    for file in files {
        let loaded = load(file.to_str().unwrap(), &Choices::default()).unwrap();
        let resolved = loaded.resolved().unwrap();
        assert!(!resolved.readers.is_empty(), "{file:?}");
        let name = format!("]({})", file.file_name().unwrap().to_str().unwrap());
        assert!(overview.contains(&name), "{name} is not in the overview");
        let described = resolved.to_json(&registry()).unwrap();
        for (path, reader) in described["readers"].as_object().unwrap() {
            assert_eq!(reader["ignored"], serde_json::json!([]), "{file:?} {path}");
            let mut source = open(&loaded, path).unwrap_or_else(|e| panic!("{file:?} {path}: {e}"));
            assert!(
                source.next_minibatch(8).unwrap().is_some_and(|m| m.n_sequences() > 0),
                "{file:?} {path}"
            );
        }
    }
}

#[test]
fn examples_of_text_are_read() {
    let text = example("text.cntk");
    // Two epochs of five samples; no minibatch crosses the end of a sweep.
    assert_eq!(sizes(&mut open(&text, "Train").unwrap(), 3), [3, 2, 3, 2]);
    let mut composite = open(&example("text_composite.cntk"), "2ndTagger").unwrap();
    let first = composite.next_minibatch(100).unwrap().unwrap();
    let joined_example = example("text_joined.cntk");
    let mut joined = open(&joined_example, "Train").unwrap();
    let same = joined.next_minibatch(100).unwrap().unwrap();
    assert_eq!(first.n_sequences(), same.n_sequences());
    assert_eq!(same.streams().len(), 2);
}

#[test]
fn examples_of_binary_files_are_read() {
    let example = example("binary.cntk");
    let mut renamed = open(&example, "Train").unwrap();
    let names: Vec<&str> = renamed.streams().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["features", "y"]);
    assert_eq!(sizes(&mut open(&example, "Test").unwrap(), 2)[..3], [2, 2, 1]);
    assert_eq!(renamed.next_minibatch(5).unwrap().unwrap().n_sequences(), 5);
}

#[test]
fn examples_of_images_are_read() {
    let shapes = |source: &mut Source| -> Vec<Vec<usize>> {
        let minibatch = source.next_minibatch(20).expect("the pictures are right").expect("there are some");
        minibatch.streams().iter().map(|s| [&[s.n_samples()], s.info().shape.dims()].concat()).collect()
    };
    let old = example("images_old.cntk");
    assert_eq!(shapes(&mut open(&old, "Train_Pictures").unwrap()), [vec![20, 3, 32, 32], vec![20, 3]]);
    let images = example("images.cntk");
    assert_eq!(shapes(&mut open(&images, "Train").unwrap()), [vec![20, 3, 32, 32], vec![20, 3]]);
    assert_eq!(shapes(&mut open(&images, "Plain").unwrap()), [vec![12, 24, 24, 3], vec![12, 3]]);
    // Four images, each with its own number of regions.
    let expected = [vec![4, 3, 96, 96], vec![4, 4], vec![7, 4], vec![7, 3]];
    assert_eq!(shapes(&mut open(&example("images_joined.cntk"), "Train").unwrap()), expected);
}

#[test]
fn examples_of_speech_are_read() {
    let shapes = |source: &mut Source| -> Vec<(usize, usize)> {
        let minibatch = source.next_minibatch(100).expect("the corpus is right").expect("there are some");
        let dims = |s: &StreamInfo| s.shape.dims().iter().product();
        minibatch.streams().iter().map(|s| (s.n_samples(), dims(s.info()))).collect()
    };
    // Five utterances at a time, 20 frames of each.
    let speech = example("speech.cntk");
    assert_eq!(shapes(&mut open(&speech, "Train").unwrap()), [(100, 363), (100, 31)]);
    let old = example("speech_old.cntk");
    assert_eq!(shapes(&mut open(&old, "Train").unwrap()), [(100, 363), (100, 31)]);
}

#[test]
fn a_converted_reader_is_the_same_reader() {
    for (file, n) in [("text.cntk", 2), ("text_composite.cntk", 1), ("text_joined.cntk", 1)] {
        let resolved = example(file).resolved().unwrap();
        assert_eq!(resolved.readers.len(), n);
        for reader in resolved.readers {
            let wanted = format!("{:?}", reader.source(&registry()).unwrap());
            let as_json = json::parse(&json::section_to_json(&reader.section).to_string()).unwrap();
            let as_toml = toml::parse(&toml::print(&reader.section).unwrap()).unwrap();
            for tree in [as_json, as_toml] {
                let found = format!("{:?}", lower(&tree, &registry()).unwrap());
                assert_eq!(without_spans(&found), without_spans(&wanted), "{file} {}", reader.path);
            }
        }
    }
}

/// Debug output without the spans of names, which only one form has, and without the order of names.
fn without_spans(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split("span: ") {
        let kept = part.strip_prefix("None").or_else(|| Some(part.split_once("})")?.1)).unwrap_or(part);
        words.extend(kept.split(&[',', ' ', '(', ')', '[', ']', '{', '}'][..]).map(str::to_string));
    }
    words.retain(|word| !word.is_empty());
    words.sort();
    words
}

#[test]
fn an_override_leads_from_the_top_of_the_file() {
    let overrides = vec![
        ("DataDir".to_string(), Value::Text("elsewhere".into())),
        ("Train.reader.input.labels.dim".to_string(), Value::Whole(7)),
    ];
    let choices = Choices { overrides, ..Choices::default() };
    let loaded = load(examples().join("text.cntk").to_str().unwrap(), &choices).unwrap();
    let described = loaded.resolved().unwrap().to_json(&registry()).unwrap();
    let deserializer = &described["readers"]["Train/reader"]["deserializers"][0];
    assert_eq!(deserializer["file"], "elsewhere/classification.ctf");
    assert_eq!(deserializer["input"]["labels"]["dim"], 7);
}

fn reader_of(text: &str) -> Result<tesson_config::reader::Reader, Error> {
    load(text, &Choices::default())?.reader(None)
}

fn refused(text: &str) -> String {
    reader_of(text).expect_err(text).to_string()
}

#[test]
fn the_kind_of_a_reader_is_found_by_its_words() {
    let kind = |text: &str| {
        reader_of(&format!("reader = [ file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ; {text} ]"))
            .unwrap()
            .kind
    };
    assert_eq!(kind(""), ReaderType::Text);
    assert_eq!(kind("readerType = cntktextformatreader"), ReaderType::Text);
    assert_eq!(kind("readerType = Cntk.Deserializers.TextFormat"), ReaderType::Text);
    assert_eq!(kind("readerType = Cntk.Deserializers.Binary"), ReaderType::Binary);
    assert_eq!(
        refused("T = [ reader = [ readerType = UCIFastReader ] ]"),
        "configuration:1:18: T.reader.readerType: `UCIFastReader` is not supported, convert the data to CNTK's text format"
    );
    assert!(refused("reader = [ readerType = ImagReader ]").contains("did you mean `ImageReader`?"));
    assert!(refused("reader = [ readers = a:b ]").contains("list them in `deserializers`"));
}

#[test]
fn a_window_in_samples_without_a_size_is_the_whole_set_in_every_reader() {
    let input = "input = [ x = [ dim = 1 ; format = dense ] ]";
    let text = format!("file = f ; {input}");
    let composite = format!("deserializers = ( [ type = CNTKTextFormatDeserializer ; file = f ; {input} ] )");
    let binary = "readerType = CNTKBinaryReader ; file = f".to_owned();
    let window = |reader: &str, more: &str| {
        let reader = reader_of(&format!("reader = [ {reader} ; {more} ]")).unwrap();
        let described = reader.describe(&registry()).unwrap();
        (described["randomizationWindow"].clone(), described["sampleBasedRandomizationWindow"].clone())
    };
    for reader in [text, composite, binary] {
        assert_eq!(
            window(&reader, "sampleBasedRandomizationWindow = true"),
            ("all".into(), true.into()),
            "{reader}"
        );
        assert_eq!(window(&reader, "randomize = true"), (128.into(), false.into()), "{reader}");
    }
}

#[test]
fn what_excludes_each_other_is_refused_with_its_place() {
    let text = |more: &str| {
        format!("T = [\n reader = [ file = f ; {more} ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]")
    };
    let e = refused(&text("hashSequenceKeys = true"));
    assert!(e.contains("T.reader.hashSequenceKeys: only text keys are hashed"), "{e}");
    let e = refused(&text("skipSequenceIds = yes"));
    assert_eq!(e, "configuration:2:24: T.reader.skipSequenceIds: found `yes`, expected `true` or `false`");
    let e = refused(
        "T = [ SGD = [ minibatchSize = 8 ; epochSize = 4 ] ; reader = [ file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]",
    );
    assert!(e.contains("epochSize: found 4 samples, expected at least the size of a minibatch, 8"), "{e}");
}

#[test]
fn data_to_validate_with_have_no_epochs() {
    let text = "T = [ SGD = [ minibatchSize = 8 ; epochSize = 16 ; maxEpochs = 2 ]
        reader = [ file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ]
        cvReader = [ file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]";
    let loaded = load(text, &Choices::default()).unwrap();
    let source = |path| loaded.reader(Some(path)).unwrap().source(&registry()).unwrap();
    let (train, validate) = (source("T/reader"), source("T/cvReader"));
    assert_eq!((train.minibatches.epoch_size, validate.minibatches.epoch_size), (Some(16), None));
    assert_eq!(train.minibatches.size, validate.minibatches.size);
    assert_ne!(train.minibatches.limit, validate.minibatches.limit);
}

#[test]
fn the_reader_decides_over_precision_frames_and_messages() {
    let reader = reader_of(
        "traceLevel = 0 ; reader = [ deserializers = (
        [ type = HTKFeatureDeserializer ; precision = double ; frameMode = true ; traceLevel = 2
          input = [ f = [ scpFile = s ; dim = 1 ] ] ]
        [ type = CNTKTextFormatReader ; traceLevel = 2 ; precision = double
          file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ] ) ]",
    );
    let described = reader.unwrap().describe(&registry()).unwrap();
    assert_eq!(described["ignored"], serde_json::json!([]));
    assert_eq!((&described["precision"], &described["frameMode"]), (&"float".into(), &false.into()));
    assert_eq!(described["deserializers"][1]["traceLevel"], 0);
    assert_eq!(described["randomizationWindow"], 128);
}

#[test]
fn writing_reads_whole_sequences_in_order() {
    let reader = reader_of(
        "T = [ action = write ; randomize = true ; frameMode = true
        reader = [ file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]",
    );
    let described = reader.unwrap().describe(&registry()).unwrap();
    assert_eq!((&described["randomize"], &described["frameMode"]), (&false.into(), &false.into()));
}

#[test]
fn options_of_speech_may_stand_around_their_stream() {
    let reader = reader_of(
        "reader = [ deserializers = ( [ type = HTKFeatureDeserializer ; dim = 9 ; maxSequenceLength = 5
        input = [ contextWindow = 3 ; f = [ scpFile = s ; dimm = 1 ] ] ] ) ]",
    )
    .unwrap();
    let described = reader.describe(&registry()).unwrap();
    let stream = &described["deserializers"][0]["input"]["f"];
    assert_eq!(
        (&stream["dim"], &stream["left"], &stream["maxSequenceSize"]),
        (&9.into(), &1.into(), &5.into())
    );
    assert_eq!(described["ignored"], serde_json::json!(["deserializers[0].input.f.dimm"]));
    assert_eq!(
        reader.complaints(),
        ["reader: unused option `deserializers[0].input.f.dimm`, did you mean `dim`?"]
    );
}

#[test]
fn a_misspelt_option_is_told_where_the_one_that_was_meant_is_missing() {
    let text = "reader = [ deserializers = ([ type = CNTKTextFormatDeserializer ; file = f\n input = [ x = [ dim = 1 ; fromat = dense ] ] ]) ]";
    assert_eq!(
        refused(text),
        "configuration:2:18: reader.deserializers[0].input.x.format: required option is missing; `fromat` is unused, is that what it is meant to be?"
    );
    assert!(refused(&text.replace("fromat", "colour")).ends_with("format: required option is missing"));
}

#[test]
fn what_a_module_registers_is_described_as_it_was_written() {
    let text = "reader = [ randomise = true ; deserializers = (
        [ type = Ours ; module = ours.readers ; rowsInChunk = 3 ]
        : [ type = CNTKTextFormatDeserializer ; file = f ; input = [ x = [ dim = 1 ; format = dense ] ] ]) ]";
    let reader = reader_of(text).unwrap();
    let described = reader.describe(&tesson::registry()).unwrap();
    let ours = serde_json::json!({"type": "Ours", "module": "ours.readers", "rowsInChunk": "3"});
    assert_eq!(described["deserializers"][0], ours);
    assert_eq!(described["deserializers"][1]["file"], "f");
    assert_eq!(reader.complaints(), ["reader: unused option `randomise`, did you mean `randomize`?"]);
    // Without a module the type may be unknown.
    assert!(refused(&text.replace("module = ours.readers ;", "")).contains("unknown type `Ours`"));
}

#[test]
fn what_older_readers_knew_is_passed_over_with_a_warning() {
    let reader = reader_of(
        "reader = [ readerType = HTKMLFReader ; frameMode = false ; hmms = [ phoneFile = p ]
        f = [ scpFile = s ; dim = 3 ] ]",
    );
    let reader = reader.unwrap();
    assert_eq!(reader.complaints(), ["reader: hmms: nothing of it is used"]);
    let of = |section: &str| {
        format!(
            "reader = [ readerType = HTKMLFReader ; f = [ scpFile = s ; dim = 3 ] ; states = [ {section} ] ]"
        )
    };
    let reader = reader_of(&of("phoneFile = p ; transpFile = t")).unwrap();
    assert_eq!(reader.complaints(), ["reader: states: nothing of it is used"]);
    assert!(refused(&of("denlatTocFile = d")).contains("states: lattices are not supported"));
    let text = "reader = [ file = f ; numChunksToCache = 5 ; input = [ x = [ dim = 1 ; format = dense ] ] ]";
    assert_eq!(reader_of(text).unwrap().complaints(), ["reader: unused option `numChunksToCache`"]);
}

/// The error of a configuration that includes `included`.
fn refused_include(test: &str, place: impl Fn(&std::path::Path)) -> String {
    let folder = crate::kit::folder(test);
    place(&folder.join("included"));
    let file = folder.join("main.cntk");
    std::fs::write(&file, format!("include={}\n", folder.join("included").display())).expect("a folder");
    let path = file.to_str().expect("the folder's name is text");
    tesson::config::load(path, &tesson_config::Choices::default()).expect_err("it is refused").to_string()
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_included() {
    let e = refused_include("include-pipe", crate::kit::make_pipe);
    assert!(e.contains("included: is no regular file"), "{e}");
}

#[test]
fn a_file_larger_than_any_configuration_is_not_included() {
    let e = refused_include("include-sparse", |path| {
        let file = std::fs::File::create(path).expect("a folder");
        file.set_len(10 << 30).expect("sparse files take no room");
    });
    assert!(
        e.contains("included: has 10737418240 bytes, expected at most 67108864 in a file of this kind"),
        "{e}"
    );
}

/// A source of a configuration in text, whose files lie in a store: `a` of four frames, `b` of three, `c` of one, each with its
/// classes.
fn opened(text: &str) -> Result<Source, Error> {
    let features = |n: u32| {
        let mut file = [n.to_be_bytes(), 100_000_u32.to_be_bytes()].concat();
        file.extend([4_u16.to_be_bytes(), 9_u16.to_be_bytes()].concat());
        file.extend((0..n).flat_map(|t| (t as f32).to_be_bytes()));
        file
    };
    let labels = "#!MLF!#\n\"a.lab\"\n0 4 s\n.\n\"b.lab\"\n0 3 t\n.\n\"c.lab\"\n0 1 s\n.\n";
    let store = MemoryStore::new()
        .with("l.scp", *b"a.f=a[0,3]\nb.f=b[0,2]\nc.f=c[0,0]\n")
        .with("a", features(4))
        .with("b", features(3))
        .with("c", features(1))
        .with("l.mlf", labels.as_bytes().to_vec())
        .with("states", *b"s\nt\n")
        .with("t.ctf", *b"|x 1\n|x 2\n|x 3\n|x 4\n|x 5\n");
    let reader = load(text, &Choices::default())?.reader(None)?;
    OpenOptions::in_store(&store).open(&reader.source(&registry())?)
}

/// A section with an older reader of speech.
fn speech(kind: &str, around: &str, options: &str) -> String {
    format!(
        "T = [\n {around}\n reader = [ readerType = {kind} ; {options}\n features = [ dim = 1 ; scpFile = l.scp ]\n \
         labels = [ mlfFile = l.mlf ; labelMappingFile = states ; labelDim = 2 ] ] ]"
    )
}

/// The keys of each minibatch of a size.
fn keys(source: &mut Source, size: u64) -> Vec<Vec<String>> {
    let minibatches = std::iter::from_fn(|| source.next_minibatch(size).expect("the data are right"));
    minibatches.map(|m| (0..m.n_sequences()).map(|i| m.keys().get(i).to_string()).collect()).collect()
}

#[test]
fn the_older_reader_of_speech_reads_in_order_where_it_did() {
    let whole = "frameMode = false ; maxSweeps = 1";
    for (kind, around, options) in [
        ("HTKMLFReader", "", "readMethod = rollingWindow ; randomize = None"),
        ("HTKMLFReader", "", "readMethod = none"),
        ("HTKDeserializers", "", "readMethod = none"),
        // What writes, whatever it says.
        ("HTKMLFReader", "action = write", "readMethod = blockRandomize ; randomize = auto"),
        ("HTKMLFReader", "action = write", "readMethod = rollingWindow"),
        ("Cntk.Reader.HTKMLF", "action = write", ""),
    ] {
        let text = speech(kind, around, &format!("{options} ; {whole}"));
        let mut source = opened(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(keys(&mut source, 100), [["a", "b", "c"]], "{text}");
    }
    for (kind, around, options, expected) in [
        ("HTKMLFReader", "", "randomize = none", "`none` wants `readMethod = none`"),
        (
            "HTKDeserializers",
            "",
            "readMethod = rollingWindow ; randomize = none",
            "`none` wants `readMethod = none`",
        ),
        ("HTKDeserializers", "action = write", "", "readMethod: what writes reads in order: expected `none`"),
    ] {
        let error = opened(&speech(kind, around, options)).err().expect(options).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn truncation_without_a_length_cuts_pieces_of_a_minibatch() {
    let options = "frameMode = false ; truncated = true ; readMethod = none ; nbruttsineachrecurrentiter = 2";
    let text = speech("HTKMLFReader", "SGD = [ minibatchSize = 2 ; epochSize = 0 ; maxEpochs = 1 ]", options);
    let reader = load(&text, &Choices::default()).unwrap().reader(None).unwrap();
    let config = reader.source(&registry()).unwrap();
    // Pieces of 2 samples in 2 slots.
    let length = |config: &SourceConfig| config.truncation.spec().map(|t| t.length);
    assert_eq!(
        (length(&config), config.minibatches.default_sizes().at(0)),
        (Some(SegmentLength::Samples(2)), 4)
    );
    let mut source = opened(&text).unwrap();
    let mut found = Vec::new();
    while let Some(minibatch) = source.next_minibatch(config.minibatches.default_sizes().at(0)).unwrap() {
        let keys: Vec<String> =
            (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect();
        found.push((keys, minibatch.streams()[0].lengths().to_vec()));
    }
    let piece = |keys: [&str; 2], lengths: [u32; 2]| (keys.map(String::from).to_vec(), lengths.to_vec());
    let last = (vec!["c".to_string()], vec![1]);
    let expected = [piece(["a", "b"], [2, 2]), piece(["a", "b"], [2, 1]), last];
    assert_eq!(found, expected);
    // The number of slots may change from epoch to epoch, and holds beyond the last one that is given.
    let by_epoch = speech("HTKDeserializers", "minibatchSize = 10", &options.replace("= 2", "= 4*2:16"));
    let sizes =
        load(&by_epoch, &Choices::default()).unwrap().reader(None).unwrap().source(&registry()).unwrap();
    let sizes = sizes.minibatches.size.expect("a schedule");
    assert_eq!([0, 1, 2, 9].map(|epoch| sizes.at(epoch)), [40, 40, 160, 160]);
    // A length that is given holds, and so does the size.
    let given = speech("HTKMLFReader", "minibatchSize = 10", &format!("{options} ; truncationLength = 3"));
    let given = load(&given, &Choices::default()).unwrap().reader(None).unwrap().source(&registry()).unwrap();
    assert_eq!(
        (length(&given), given.minibatches.default_sizes().at(0)),
        (Some(SegmentLength::Samples(3)), 10)
    );
    // Without a size of minibatches it is the one that they have then.
    let open = speech("HTKMLFReader", "", options);
    let open = load(&open, &Choices::default()).unwrap().reader(None).unwrap().source(&registry()).unwrap();
    assert_eq!(
        (length(&open), open.minibatches.default_sizes().at(0)),
        (Some(SegmentLength::Samples(256)), 512)
    );
    // An epoch has to hold as many samples as `minibatchSize` says, as in training, and not as all slots take.
    let config = |around: &str, slots: &str| {
        let text = speech("HTKMLFReader", around, &options.replace("= 2", slots));
        load(&text, &Choices::default()).unwrap().reader(None).unwrap().source(&registry())
    };
    let short = config("minibatchSize = 10 ; epochSize = 10", "= 2").unwrap();
    assert_eq!(length(&short), Some(SegmentLength::BySlots(2)));
    assert_eq!(
        length(&config("minibatchSize = 10 ; epochSize = 20", "= 2").unwrap()),
        Some(SegmentLength::Samples(10))
    );
    let error = config("minibatchSize = 10 ; epochSize = 9", "= 2").expect_err("it is shorter").to_string();
    assert!(error.contains("found 9 samples, expected at least the size of a minibatch, 10"), "{error}");
}

#[test]
fn the_length_of_pieces_and_the_number_of_slots_change_together() {
    let options = "frameMode = false ; truncated = true ; readMethod = none ; nbruttsineachrecurrentiter = ";
    let config = |around: &str, slots: &str| {
        let text = speech("HTKMLFReader", around, &format!("{options}{slots}"));
        load(&text, &Choices::default()).unwrap().reader(None).unwrap().source(&registry()).unwrap()
    };
    for (sizes, slots, expected) in [
        ("10*2:20", "2:4", [(10, 2), (10, 4), (20, 4), (20, 4)]),
        ("10:20:30", "2:4", [(10, 2), (20, 4), (30, 4), (30, 4)]),
        ("10:20", "2:2:8:2", [(10, 2), (20, 2), (20, 8), (20, 2)]),
        ("10*3:20", "2*2:4", [(10, 2), (10, 2), (10, 4), (20, 4)]),
        ("10", "2:4", [(10, 2), (10, 4), (10, 4), (10, 4)]),
    ] {
        let config = config(&format!("minibatchSize = {sizes}"), slots);
        let (sizes, length) =
            (config.minibatches.default_sizes(), config.truncation.spec().expect("it truncates").length);
        let of_epoch = |epoch| (length.samples(sizes.at(epoch), epoch), length.slots(sizes.at(epoch), epoch));
        assert_eq!([0, 1, 2, 3].map(of_epoch), expected, "{slots}");
    }
    // Two slots with pieces of one sample, then one slot with pieces of two: the size of a minibatch is the same.
    let around = "SGD = [ minibatchSize = 1:2 ; epochSize = 4 ; maxEpochs = 2 ]";
    let text = speech("HTKMLFReader", around, &format!("{options}2:1"));
    let sizes = config(around, "2:1").minibatches.default_sizes();
    let read = |source: &mut Source| {
        let size = sizes.at(source.state().cursor.position / 4);
        let minibatch = source.next_minibatch(size).unwrap()?;
        let keys: Vec<String> =
            (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect();
        let rows = minibatch.streams()[0].layout().rows;
        Some((keys.join(" "), minibatch.streams()[0].lengths().to_vec(), rows))
    };
    let expected = [("a b", vec![1, 1], 2), ("a b", vec![2, 2], 2), ("a c", vec![1, 1], 1)];
    let expected = expected.map(|(keys, lengths, rows)| (keys.to_string(), lengths, rows));
    let mut source = opened(&text).unwrap();
    for (i, minibatch) in expected.iter().enumerate() {
        assert_eq!(read(&mut source).as_ref(), Some(minibatch), "minibatch {i}");
        let mut resumed = opened(&text).unwrap();
        resumed.restore(source.state()).unwrap();
        let rest: Vec<_> = std::iter::from_fn(|| read(&mut resumed)).collect();
        assert_eq!(rest, expected[i + 1..], "after minibatch {i}");
    }
    assert_eq!(read(&mut source), None);
}

#[test]
fn pieces_are_as_long_as_a_minibatch_is_large_in_each_epoch() {
    let options = "frameMode = false ; truncated = true ; readMethod = none ; nbruttsineachrecurrentiter = 2";
    let text = speech("HTKMLFReader", "minibatchSize = 1*2:2", options);
    let config = load(&text, &Choices::default()).unwrap().reader(None).unwrap().source(&registry()).unwrap();
    assert_eq!(config.truncation.spec().map(|t| t.length), Some(SegmentLength::BySlots(2)));
    let sizes = config.minibatches.default_sizes();
    assert_eq!([0, 1, 2, 9].map(|epoch| sizes.at(epoch)), [2, 2, 4, 4]);
    let read = |source: &mut Source, size| {
        let minibatch = source.next_minibatch(size).unwrap().expect("there are more");
        let keys: Vec<String> =
            (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect();
        (keys.join(" "), minibatch.streams()[0].lengths().to_vec(), minibatch.resume().clone())
    };
    let mut source = opened(&text).unwrap();
    let (keys, lengths, state) = read(&mut source, 2);
    assert_eq!((keys.as_str(), lengths.as_slice()), ("a b", [1, 1].as_slice()));
    // Sequences continue where they were, in longer pieces; a state resumes in another epoch.
    let (keys, lengths, _) = read(&mut source, 4);
    assert_eq!((keys.as_str(), lengths.as_slice()), ("a b", [2, 2].as_slice()));
    let mut resumed = opened(&text).unwrap();
    resumed.restore(&state).unwrap();
    let (again, lengths_again, _) = read(&mut resumed, 4);
    assert_eq!((again, lengths_again), (keys, lengths));
}

#[test]
fn an_override_leads_to_something() {
    let with = |config: &str, path: &str| {
        let overrides = vec![(path.to_string(), Value::Bool(false))];
        load(config, &Choices { overrides, override_option: Some("--set"), ..Choices::default() })
    };
    let text = text_reader("SGD = [ minibatchSize = 2 ]");
    for path in ["T.reader.randomize", "T/reader/randomize", "t.SGD.x", "T.x", "x", "T.cvReader.randomize"] {
        assert!(with(&text, path).is_ok(), "{path}");
    }
    let json = r#"{"source": {"deserializers": []}, "job": {"x": 1}}"#;
    for path in ["source.randomize", "job.y", "SOURCE.threads"] {
        assert!(with(json, path).is_ok(), "{path}");
    }
    assert!(with(r#"{"deserializers": []}"#, "threads").is_ok());
    for (config, path, expected) in [
        (text.as_str(), "Tt.reader.randomize", "found nothing called `Tt`, did you mean `T`?"),
        (&text, "Train.reader.randomize", "found nothing called `Train`; there are T"),
        (&text, "T.raeder.randomize", "found nothing called `raeder`, did you mean `reader`?"),
        (json, "sorce.randomize", "found nothing called `sorce`, did you mean `source`?"),
        (
            json,
            "randomize",
            "found nothing called `randomize`; the reader's options are in `source`: `source.randomize`",
        ),
    ] {
        let error = with(config, path).expect_err(path).to_string();
        assert_eq!(error, format!("--set {path}=false: {expected}"));
    }
    let warned = |path| with(&text, path).unwrap().reader(None).unwrap().complaints().join(" ");
    assert!(warned("randomise").contains("unused `randomise` of an argument, did you mean `randomize`?"));
    assert_eq!((warned("randomize"), warned("ModelPath")), (String::new(), String::new()));
}

#[test]
fn an_argument_leads_to_something() {
    let text = text_reader("SGD = [ minibatchSize = 2 ]");
    let with = |argument: &str| {
        load(&text, &Choices { arguments: vec![argument.to_string()], ..Choices::default() })
    };
    for argument in [
        "t=[reader=[randomize=false]]",
        "T=[SGD=[x=1]]",
        "Other=[x=1]",
        "Tt=[reader=[readerType=CNTKTextFormatReader]]",
        "T=[reader=[inputs=[]]]",
        "name.with.points=1",
        "modelPath=x",
    ] {
        assert!(with(argument).is_ok(), "{argument}");
    }
    for (argument, found, meant) in [
        ("Tt=[reader=[randomize=false]]", "Tt", "T"),
        ("T=[raeder=[randomize=false]]", "T.raeder", "reader"),
        ("T.reader.randomize=false", "T.reader.randomize", "T=[reader=[randomize=…]]"),
        ("T.raeder.fil=x", "T.raeder.fil", "T=[reader=[file=…]]"),
    ] {
        let error = with(argument).expect_err(argument).to_string();
        let expected =
            format!("argument `{argument}`: found nothing called `{found}`, did you mean `{meant}`?");
        assert_eq!(error, expected);
    }
}

#[test]
fn an_unknown_type_beside_a_module_of_cntk_is_misspelt() {
    let with = |kind: &str, module: &str| {
        let text = format!(
            "T = [ reader = [ deserializers = ([ type = {kind} ; module = {module} ; input = [ x = [ scpFile = l.scp ] ] ]) ] ]"
        );
        opened(&text).err().expect("it is refused").to_string()
    };
    for module in ["HTKDeserializers", "CNTKTextFormatReader", "Cntk.Deserializers.HTK", "imagereader"] {
        let error = with("HTKFeatureDeserialiser", module);
        assert!(error.ends_with("did you mean `HTKFeatureDeserializer`?"), "{error}");
    }
    assert!(with("LatticeDeserializer", "HTKDeserializers").contains("lattices are not supported"));
    assert!(with("Mine", "my_module").contains("if the Python module `my_module` registers it"));
}

/// A section with a reader of text.
fn text_reader(around: &str) -> String {
    format!(
        "T = [\n {around}\n reader = [ file = t.ctf ; randomize = false ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]"
    )
}

#[test]
fn what_stands_around_a_reader_of_text_does_not_keep_it_from_reading() {
    for around in [
        "traceLevel = 3",
        "verbosity = 9",
        "Net = [ f(x) = x + 1 ; a[i:1..3] = 4 ]",
        "action = test ; minibatchSize = 4 ; epochSize = 3 ; maxEpochs = 1",
    ] {
        let mut source = opened(&text_reader(around)).unwrap_or_else(|e| panic!("{around}: {e}"));
        assert_eq!(source.next_minibatch(3).unwrap().expect("data").n_sequences(), 3, "{around}");
    }
    // Tests, evaluations and what writes end a minibatch with the epoch; training refuses to.
    for (action, is_read) in
        [("test", true), ("eval", true), ("Write", true), ("cv", true), ("train", false), ("", false)]
    {
        let action = if action.is_empty() { String::new() } else { format!("action = {action} ;") };
        let text = text_reader(&format!("{action} minibatchSize = 2:4 ; epochSize = 3"));
        match (opened(&text), is_read) {
            (Ok(_), true) => {
                let reader = load(&text, &Choices::default()).unwrap().reader(None).unwrap();
                let sizes = reader.source(&registry()).unwrap().minibatches.default_sizes();
                assert_eq!((sizes.at(0), sizes.at(1), sizes.at(2)), (2, 3, 3));
            }
            (Err(error), false) => assert!(error.to_string().contains("epochSize"), "{error}"),
            (opened, _) => panic!("{action}: {:?}", opened.err()),
        }
    }
}

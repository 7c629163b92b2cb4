//! Configurations and their meaning, in one-line cases.

// Helpers of tests are no `#[test]` functions, which clippy excuses.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tesson_config::{Randomize, SourceConfig, StoreKind, TransformConfig, json, lower, option_manual};
use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Element, Format, OpenTransform, OptionKind, OptionSet, OptionSpec, OptionTable,
    ReaderDefaults, Registry, Section, TransformFormat, Value,
};
use tesson_plan::{
    ChunkWindow, Global, Limit, MissingKeys, OrderSpec, SegmentLength, Sharing, Truncation, Window,
};

/// Of every option.
const HELP: &str = "Says | nothing.";

static STREAM: OptionTable = OptionTable(&[
    OptionSpec::required("dim", OptionKind::Whole, HELP),
    OptionSpec::optional("means", OptionKind::Path, HELP),
    OptionSpec::optional("transforms", OptionKind::Transforms, HELP),
]);

static MEAN: TransformFormat = TransformFormat {
    name: "Mean",
    help: "Subtracts.",
    options: &OptionTable(&[OptionSpec::optional("meanFile", OptionKind::Path, HELP)]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Single(|_, _| {
        Err(ConfigError::wrong_form("", "this transform is only configured", "nothing").into())
    }),
};

static LINES: Format = Format::new(
    "LinesDeserializer",
    "Lines of text.",
    &OptionTable(&[
        OptionSpec::required("file", OptionKind::Path, HELP),
        OptionSpec::with_default("traceLevel", OptionKind::Whole, "1", HELP),
        OptionSpec::with_default("precision", OptionKind::OneOf(&["float", "double"]), "float", HELP),
        OptionSpec::optional("input", OptionKind::Sections(&STREAM), HELP),
    ]),
    |_, _| Err(ConfigError::wrong_form("", "this format is only configured", "nothing")),
)
.with_aliases(&["LinesReader"]);

fn registry() -> Registry {
    Registry::new(&[&LINES]).with_transforms(&[&MEAN])
}

/// Lowers a reader of one deserializer with these further options, as the inside of a JSON object.
fn reader(options: &str) -> Result<SourceConfig, ConfigError> {
    let comma = if options.is_empty() { "" } else { "," };
    let text =
        format!(r#"{{"deserializers": [{{"type": "LinesDeserializer", "file": "a"}}]{comma} {options}}}"#);
    lower(&json::parse(&text)?, &registry())
}

fn refused(options: &str) -> String {
    reader(options).expect_err(options).to_string()
}

fn lowered(text: &str) -> Result<SourceConfig, ConfigError> {
    lower(&json::parse(text)?, &registry())
}

#[test]
fn what_is_left_out_has_the_defaults_of_the_python_interface() {
    let c = reader("").unwrap();
    let seed = 0;
    assert_eq!(c.order.spec(), OrderSpec::ChunkWindow(ChunkWindow { window: Window::Chunks(128), seed }));
    assert_eq!((c.minibatches.limit, c.order.resolved_sharing()), (Limit::Endless, Sharing::Chunk));
    assert!(c.minibatches.cross_sweep_ends && c.order.local_timeline && c.runtime.prefetch);
    let defaults = ReaderDefaults {
        element: Element::F32,
        frame_mode: false,
        numeric_keys: true,
        cache_index: false,
        forgives: false,
    };
    assert_eq!(c.reader_defaults(), defaults);
    assert!(reader(r#""maxErrors": 3"#).unwrap().reader_defaults().forgives);
    assert_eq!(
        (c.faults.max_errors, c.trace_level, c.runtime.memory_limit, c.runtime.threads),
        (0, 1, None, 0)
    );
    assert_eq!((c.store, c.truncation.spec(), c.join.hash_keys), (StoreKind::File, None, false));
    assert_eq!(c.deserializers[0].format.name, "LinesDeserializer");
}

#[test]
fn a_source_that_a_program_describes_has_the_defaults_of_the_table() {
    let lowered = reader("").unwrap();
    let made = SourceConfig::new(lowered.deserializers.clone(), &registry()).expect("they are right");
    assert_eq!(format!("{lowered:?}"), format!("{made:?}"));
}

#[test]
fn the_order_has_many_spellings() {
    let order = |options: &str| reader(options).unwrap().order.randomize;
    for on in ["true", "1", "\"T\"", "\"true\"", "\"auto\"", "\"Window\""] {
        assert_eq!(order(&format!(r#""randomize": {on}"#)), Randomize::Window, "{on}");
    }
    for off in ["false", "0", "\"F\"", "\"none\"", "\"None\""] {
        assert_eq!(order(&format!(r#""randomize": {off}"#)), Randomize::Off, "{off}");
    }
    assert_eq!(order(r#""Randomize": "GLOBAL""#), Randomize::Global);
    assert_eq!(
        refused(r#""randomize": "globle""#),
        "randomize: found `globle`, expected `true`, `false` or `global`"
    );
    assert!(refused(r#""randomize": []"#).contains("found a list"));
}

#[test]
fn the_window_is_in_chunks_or_in_samples() {
    let window = |options: &str| reader(options).unwrap().order.window;
    assert_eq!(window(r#""randomizationWindow": 5"#), Window::Chunks(5));
    let samples = r#""randomizationWindow": 5, "sampleBasedRandomizationWindow": true"#;
    assert_eq!(window(samples), Window::Samples(5));
    assert_eq!(window(r#""randomizationWindowInChunks": 7"#), Window::Chunks(7));
    assert_eq!(window(r#""randomizationWindowInSamples": 7"#), Window::Samples(7));
    let python = r#""randomizationWindowInChunks": 0, "randomizationWindowInSamples": 9"#;
    assert_eq!(window(python), Window::Samples(9));
    let python = r#""randomizationWindowInChunks": 128, "randomizationWindowInSamples": 0"#;
    assert_eq!(window(python), Window::Chunks(128));
}

#[test]
fn a_window_of_nothing_turns_shuffling_off() {
    for options in [
        r#""randomizationWindow": 0"#,
        r#""randomizationWindowInChunks": 0, "randomizationWindowInSamples": 0"#,
        r#""randomizationWindowInChunks": 0"#,
    ] {
        assert_eq!(reader(options).unwrap().order.spec(), OrderSpec::AsStored, "{options}");
    }
    let global =
        reader(r#""randomizationWindow": 0, "randomize": "global", "randomizationSeed": 3"#).unwrap();
    assert_eq!(global.order.spec(), OrderSpec::Global(Global { seed: 3 }));
}

#[test]
fn a_window_that_is_given_twice_is_refused() {
    assert_eq!(
        refused(r#""randomizationWindowInChunks": 1, "randomizationWindowInSamples": 2"#),
        "randomizationWindowInSamples: the window is given in chunks and in samples; one of the two must be 0"
    );
    assert!(refused(r#""randomizationWindow": 1, "randomizationWindowInChunks": 2"#).contains("given twice"));
}

#[test]
fn a_window_in_samples_without_a_size_is_the_whole_set() {
    let window = |options: &str| reader(options).unwrap().order.window;
    let whole = Window::Samples((1 << 62) - 1);
    assert_eq!(window(r#""sampleBasedRandomizationWindow": true"#), whole);
    assert_eq!(
        window(r#""sampleBasedRandomizationWindow": true, "randomizationWindow": 4611686018427387903"#),
        whole
    );
    // A window that is given in another way counts as given.
    assert_eq!(
        window(r#""sampleBasedRandomizationWindow": true, "randomizationWindowInChunks": 3"#),
        Window::Chunks(3)
    );
}

#[test]
fn sharing_follows_the_order_unless_it_is_given() {
    let sharing = |options: &str| reader(options).unwrap().order.resolved_sharing();
    assert_eq!(sharing(r#""randomize": "global""#), Sharing::Position);
    assert_eq!(sharing(r#""randomize": "global", "sharing": "chunk""#), Sharing::Chunk);
    assert_eq!(sharing(r#""randomize": false"#), Sharing::Chunk);
    assert_eq!(sharing(r#""sharing": "Position""#), Sharing::Position);
    assert_eq!(refused(r#""sharing": "rank""#), "sharing: found `rank`, expected `chunk` or `position`");
}

#[test]
fn the_end_is_given_in_sweeps_or_in_samples() {
    let limit = |options: &str| reader(options).unwrap().minibatches.limit;
    assert_eq!(limit(r#""maxSweeps": 3"#), Limit::Sweeps(3));
    assert_eq!(limit(r#""maxSweeps": 0"#), Limit::Sweeps(0));
    assert_eq!(limit(r#""maxSamples": 11"#), Limit::Samples(11));
    assert_eq!(limit(r#""maxSamples": 0"#), Limit::Samples(0));
    assert_eq!(limit(r#""maxSamples": 18446744073709551614"#), Limit::Sweeps(1));
    assert_eq!(limit(r#""maxSamples": 18446744073709551615"#), Limit::Endless);
    assert_eq!(limit(r#""maxSweeps": "18446744073709551615", "maxSamples": 5"#), Limit::Samples(5));
    assert_eq!(
        refused(r#""maxSweeps": 2, "maxSamples": 5"#),
        "maxSamples: found 5 beside `maxSweeps` 2; only one of the two may be given"
    );
    assert!(refused(r#""maxSamples": 18446744073709551616"#).contains("expected a whole number"));
}

#[test]
fn truncation_is_a_length_with_or_without_saying_so() {
    let truncation = |options: &str| reader(options).unwrap().truncation.spec();
    let plain = Some(Truncation { length: SegmentLength::Samples(4), right_splice: 0, keep_sparse: false });
    for options in [r#""truncated": true, "truncationLength": 4"#, r#""truncationLength": 4"#] {
        assert_eq!(truncation(options), plain, "{options}");
    }
    assert_eq!(truncation(r#""truncated": false, "truncationLength": 4"#), None);
    assert_eq!(
        truncation(r#""truncationLength": 4, "rightSplice": 2, "keepSparse": true"#),
        Some(Truncation { length: SegmentLength::Samples(4), right_splice: 2, keep_sparse: true })
    );
    assert_eq!(
        truncation(r#""truncationSlots": 8"#),
        Some(Truncation { length: SegmentLength::BySlots(8), right_splice: 0, keep_sparse: false })
    );
    assert_eq!(truncation(r#""truncated": false, "truncationSlots": 8"#), None);
    let by_epoch = |slots: &[(u64, u64)]| {
        let length = match slots {
            [(slots, _)] => SegmentLength::BySlots(*slots),
            slots => SegmentLength::BySlotsOfEpoch(slots.into()),
        };
        Some(Truncation { length, right_splice: 0, keep_sparse: false })
    };
    for (slots, expected) in [
        (r#""4*2:16""#, &[(4, 2), (16, 1)][..]),
        ("[4, 4, 16]", &[(4, 2), (16, 1)]),
        (r#""8*3:8""#, &[(8, 4)]),
        (r#""8""#, &[(8, 1)]),
        ("8.0", &[(8, 1)]),
    ] {
        assert_eq!(truncation(&format!(r#""truncationSlots": {slots}"#)), by_epoch(expected), "{slots}");
    }
    assert_eq!(truncation(r#""truncationSlots": 0"#), None);
    let found = refused(r#""truncationSlots": "4:0""#);
    assert_eq!(
        found,
        "truncationSlots: found `4:0`, expected a number of slots, or numbers by epoch such as `4*2:16`"
    );
    assert!(
        refused(r#""truncationSlots": "many""#)
            .starts_with("truncationSlots: found `many`, expected a whole")
    );
    assert!(
        refused(r#""truncationSlots": "4:2", "equalSteps": "drop""#)
            .starts_with("equalSteps: equal steps are counted")
    );
    // The shortest pieces are those of an epoch in the middle.
    assert!(
        refused(r#""truncationSlots": "4:8:4", "minibatchSize": "256:64", "rightSplice": 8"#)
            .contains("expected less than `truncationLength` (8)")
    );
    // An epoch has to hold a piece of one slot, and where pieces have a length of their own a minibatch.
    assert!(reader(r#""truncationSlots": "4:8", "minibatchSize": "40:320", "epochSize": 40"#).is_ok());
    assert!(
        refused(r#""truncationSlots": "4:8", "minibatchSize": "40:328", "epochSize": 40"#)
            .ends_with("found 40 samples, expected at least the size of a minibatch, 41")
    );
    assert!(
        refused(r#""truncationLength": 4, "minibatchSize": 44, "epochSize": 40"#)
            .ends_with("expected at least the size of a minibatch, 44")
    );
    assert!(
        refused(r#""truncationSlots": 8, "truncationLength": 4"#)
            .starts_with("truncationSlots: found 8 beside")
    );
    // The shortest pieces are those of the smallest minibatches.
    assert!(
        refused(r#""truncationSlots": 8, "minibatchSize": "256*2:64", "rightSplice": 8"#)
            .contains("expected less than `truncationLength` (8)")
    );
    assert!(refused(r#""truncated": true"#).contains("found 0, expected at least 1 sample"));
    assert!(refused(r#""truncationLength": 4, "frameMode": true"#).starts_with("frameMode: "));
    assert!(
        refused(r#""truncationLength": 4, "rightSplice": 4"#)
            .contains("expected less than `truncationLength` (4)")
    );
}

#[test]
fn the_type_of_values_is_one_for_the_reader() {
    let element = |options: &str| reader(options).unwrap().defaults.precision;
    assert_eq!(element(r#""precision": "Double""#), Element::F64);
    assert_eq!(element(r#""dtype": "float64""#), Element::F64);
    assert_eq!(element(r#""dtype": "float32""#), Element::F32);
    let inner = r#"{"deserializers": [{"type": "LinesReader", "file": "a", "precision": "double"}]}"#;
    assert_eq!(lowered(inner).unwrap().defaults.precision, Element::F64);
    let both = r#"{"deserializers": [{"type": "LinesReader", "file": "a", "precision": "double"}],
        "precision": "float"}"#;
    assert_eq!(
        lowered(both).unwrap_err().to_string(),
        "deserializers[0].precision: found float64, the reader has another; one holds for all"
    );
}

#[test]
fn the_readers_trace_level_wins_over_the_deserializers() {
    let level = |outer: &str| {
        let text = format!(
            r#"{{"deserializers": [{{"type": "LinesReader", "file": "a", "traceLevel": 2}}]{outer}}}"#
        );
        lowered(&text).unwrap().trace_level
    };
    assert_eq!((level(""), level(r#", "traceLevel": 0"#)), (2, 0));
    assert_eq!(level(r#", "traceLevel": 30"#), 2);
    assert!(refused(r#""traceLevel": "loud""#).starts_with("traceLevel: found `loud`"));
}

#[test]
fn memory_threads_and_store_are_tessons_own() {
    let c = reader(r#""memoryLimit": "512MB", "threads": 3, "store": "MMAP""#).unwrap();
    assert_eq!((c.runtime.memory_limit, c.runtime.threads, c.store), (Some(512_000_000), 3, StoreKind::Mmap));
    assert_eq!(reader(r#""memoryLimit": 1048576"#).unwrap().runtime.memory_limit, Some(1 << 20));
    assert_eq!(
        refused(r#""memoryLimit": "lots""#),
        "memoryLimit: found `lots`, expected a size in bytes such as `2GiB` or `512MB`"
    );
    assert_eq!(refused(r#""threads": 5000"#), "threads: found 5000, expected at most 4096");
}

#[test]
fn options_without_effect_are_still_read() {
    assert!(
        reader(r#""multiThreadedDeserialization": true, "checkData": "F", "verbosity": 2, "module": "x""#)
            .is_ok()
    );
    assert!(reader(r#""verbosity": 4"#).is_ok());
    assert!(refused(r#""verbosity": "loud""#).starts_with("verbosity: found `loud`"));
    assert!(refused(r#""checkData": "maybe""#).starts_with("checkData: found `maybe`"));
}

#[test]
fn only_text_keys_are_hashed() {
    assert!(refused(r#""hashSequenceKeys": true"#).contains("only text keys are hashed"));
    let text = r#""hashSequenceKeys": true, "useNumericSequenceKeys": false"#;
    assert!(reader(text).unwrap().join.hash_keys);
}

#[test]
fn missing_keys_are_left_out_kept_or_refused() {
    let missing = |options: &str| reader(options).unwrap().join.missing;
    assert_eq!(missing(""), MissingKeys::LeaveOut);
    assert_eq!(missing(r#""outerJoin": true"#), MissingKeys::Empty);
    assert_eq!(missing(r#""strictKeys": true"#), MissingKeys::Refuse);
    assert!(refused(r#""strictKeys": true, "outerJoin": true"#).contains("only one of the two"));
}

#[test]
fn states_belong_to_the_options_that_change_values() {
    // Texts that states of released versions hold hashes of.
    let texts = [
        ("", "frame=false element=float32"),
        (r#""frameMode": true, "precision": "double""#, "frame=true element=float64"),
        (r#""outerJoin": true, "maxMissing": 0.5, "uniqueKeys": true"#, "frame=false element=float32 outer"),
        (
            r#""useNumericSequenceKeys": false, "hashSequenceKeys": true, "bucketing": true"#,
            "frame=false element=float32 bucketing=256/18446744073709551615 hashed",
        ),
        (
            r#""bucketing": 64, "minibatchSizeInSequences": 8, "outerJoin": true"#,
            "frame=false element=float32 outer bucketing=64/8",
        ),
        (
            r#""truncationLength": 5, "outerJoin": true"#,
            "frame=false element=float32 outer truncationLength=5 rightSplice=0 keepSparse=false",
        ),
        (
            r#""truncationSlots": 4, "rightSplice": 2, "keepSparse": true"#,
            "frame=false element=float32 truncationSlots=4 rightSplice=2 keepSparse=true",
        ),
        (
            r#""truncationSlots": "4*2:16", "useNumericSequenceKeys": false, "hashSequenceKeys": true"#,
            "frame=false element=float32 truncationSlots=4*2:16*1 rightSplice=0 keepSparse=false hashed",
        ),
        (r#""truncated": false, "truncationLength": 5, "rightSplice": 2"#, "frame=false element=float32"),
        (
            r#""randomize": "global", "randomizationSeed": 7, "sharing": "position", "equalSteps": "drop", "maxSweeps": 3,
                "crossSweepEnds": false, "epochSize": 9, "maxErrors": 4, "memoryLimit": 1000000, "excludeKeys": ["a"]"#,
            "frame=false element=float32",
        ),
    ];
    for (options, expected) in texts {
        assert_eq!(reader(options).unwrap().identify(Identity::default()).text(), expected, "{options}");
    }
}

#[test]
fn the_primary_deserializer_comes_first() {
    let paths = |primary: &str| {
        let part =
            |stream: &str| format!(r#"{{"type": "LinesDeserializer", "input": {{"{stream}": {{}}}}}}"#);
        let parts = ["a", "b", "c"].map(part).join(", ");
        let text = format!(r#"{{"deserializers": [{parts}], "primary": {primary}}}"#);
        let paths =
            |config: SourceConfig| config.deserializers.into_iter().map(|d| d.path).collect::<Vec<_>>();
        lowered(&text).map(paths).map_err(|e| e.to_string())
    };
    let order = |numbers: [u32; 3]| Ok(numbers.map(|n| format!("deserializers[{n}]")).to_vec());
    assert_eq!(paths("0"), order([0, 1, 2]));
    assert_eq!(paths("2"), order([2, 0, 1]));
    assert_eq!(paths(r#""b""#), order([1, 0, 2]));
    let refused = |primary: &str| paths(primary).unwrap_err();
    assert!(refused("3").starts_with("primary: found `3`, expected the number, type or a stream"));
    assert!(refused(r#""LinesDeserializer""#).contains("which 3 deserializers are"));
}

#[test]
fn deserializers_are_sections_with_a_known_type_and_known_options() {
    let refused = |text: &str| lowered(text).expect_err(text).to_string();
    assert_eq!(refused("{}"), "deserializers: required option is missing");
    assert_eq!(
        refused(r#"{"deserializers": []}"#),
        "deserializers: found an empty list, expected a deserializer"
    );
    assert_eq!(refused(r#"{"deserializers": "x"}"#), "deserializers: found `x`, expected a list of sections");
    assert_eq!(refused(r#"{"deserializers": [1]}"#), "deserializers[0]: found `1`, expected a section");
    assert_eq!(
        refused(r#"{"deserializers": [{"file": "a"}]}"#),
        "deserializers[0].type: required option is missing, expected a type such as `CNTKTextFormatDeserializer`"
    );
    assert_eq!(
        refused(r#"{"deserializers": [{"type": "LineDeserializer"}]}"#),
        "deserializers[0].type: unknown type `LineDeserializer`, did you mean `LinesDeserializer`?"
    );
    assert_eq!(
        refused(r#"{"deserializers": [{"type": "Ones", "module": "ours.readers"}]}"#),
        "deserializers[0].type: unknown type `Ones`, expected one of LinesDeserializer; if the Python module \
         `ours.readers` registers it, read it in Python: `python -m tesson`, `MinibatchSource.from_config`"
    );
    assert_eq!(
        refused(r#"{"deserializers": [{"type": "LinesReader", "fil": "a"}]}"#),
        "deserializers[0]: unknown option `fil`, did you mean `file`?"
    );
    assert_eq!(
        refused(r#"{"deserializers": [{"type": "LinesReader"}], "maxSweps": 1}"#),
        "unknown option `maxSweps`, did you mean `maxSweeps`?"
    );
    let one = r#"{"type": "LinesReader", "file": "a", "module": "Lines"}"#;
    assert!(lowered(&format!(r#"{{"deserializers": {one}}}"#)).is_ok());
    let two = lowered(&format!(r#"{{"deserializers": [{one}, {one}]}}"#)).unwrap();
    assert_eq!(two.deserializers.len(), 2);
}

#[test]
fn relative_file_names_may_be_given_another_folder() {
    let text = r#"{"deserializers": [{"type": "LinesReader", "file": "a.txt",
        "input": {"x": {"dim": 1, "means": "m.xml"}, "y": {"dim": 1, "means": "/abs/m.xml"}}}]}"#;
    let mut config = lowered(text).unwrap();
    config.resolve_paths(Path::new("/data"), &registry()).unwrap();
    let options = &config.deserializers[0].options;
    assert_eq!(options.get("file"), Some(&Value::Text("/data/a.txt".into())));
    let Some(Value::Section(input)) = options.get("input") else { panic!("{options:?}") };
    let means: Vec<_> = input
        .0
        .iter()
        .map(|(_, stream)| match stream {
            Value::Section(s) => s.get("means").cloned(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(means, [Some(Value::Text("/data/m.xml".into())), Some(Value::Text("/abs/m.xml".into()))]);
}

#[test]
fn files_of_transforms_are_in_that_folder_too_and_what_names_no_file_stays() {
    let text = r#"{"deserializers": [{"type": "LinesReader", "file": "default", "input": {"x": {"dim": 1,
        "means": "", "transforms": [{"type": "Mean", "meanFile": "m.xml"}, {"type": "Mean", "meanFile": ""},
        {"type": "Unknown", "meanFile": "m.xml"}]}}}]}"#;
    let mut config = lowered(text).unwrap();
    config.resolve_paths(Path::new("/data"), &registry()).unwrap();
    let options = &config.deserializers[0].options;
    assert_eq!(options.get("file"), Some(&Value::Text("default".into())));
    let Some(Value::Section(input)) = options.get("input") else { panic!("{options:?}") };
    let Some(Value::Section(stream)) = input.get("x") else { panic!("{input:?}") };
    assert_eq!(stream.get("means"), Some(&Value::Text(String::new())));
    let Some(Value::List(transforms)) = stream.get("transforms") else { panic!("{stream:?}") };
    let file = |transform: &Value| match transform {
        Value::Section(section) => section.get("meanFile").cloned(),
        other => panic!("{other:?}"),
    };
    let files: Vec<_> = transforms.iter().filter_map(file).collect();
    assert_eq!(files, ["/data/m.xml", "", "m.xml"].map(|file| Value::Text(file.into())));
}

#[test]
fn files_of_the_readers_own_transforms_are_in_that_folder_too() {
    let text = r#"{"deserializers": [{"type": "LinesReader", "file": "a.txt", "input": {"x": {"dim": 1}}}],
        "transforms": {"x": [{"type": "Mean", "meanFile": "m.xml"}, {"type": "Mean", "meanFile": "/abs/m.xml"}]}}"#;
    let mut config = lowered(text).unwrap();
    config.resolve_paths(Path::new("/data"), &registry()).unwrap();
    let file = |transform: &TransformConfig| match transform {
        TransformConfig::Named { section, .. } => section.get("meanFile").cloned(),
        TransformConfig::Custom(_) => None,
    };
    let files: Vec<_> = config.transforms.0[0].1.iter().filter_map(file).collect();
    assert_eq!(files, ["/data/m.xml", "/abs/m.xml"].map(|file| Value::Text(file.into())));
}

#[test]
fn the_manual_lists_every_option_of_every_table() {
    let page = option_manual(&registry());
    for row in [
        "| `randomize` | `true`, `false`, `auto`, `window`, `none`, `global` | `true` |",
        "| `precision`, `dtype` |",
        "| `memoryLimit` | size in bytes | – |",
        "## `LinesDeserializer`\n\nLines of text.\n\nAlso named `LinesReader`.",
        "| `file` | file name | required | Says \\| nothing. |",
        "| `input.*.dim` | whole number | required |",
    ] {
        assert!(page.contains(row), "{row} in\n{page}");
    }
}

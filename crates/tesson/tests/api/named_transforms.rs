//! Transforms that a configuration names.

use std::path::Path;
use std::sync::Arc;

use tesson::config::load;
use tesson::{ConfigError, Element, Error, OpenOptions, Source, SourceConfig};
use tesson_config::Choices;
use tesson_config::{json, lower, reader_of};
use tesson_convert::{Corpus, Form};
use tesson_core::Registry;
use tesson_core::{
    Draw, Input, InputValues, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, Output,
    OutputValues, ReadFile, SampleType, Scratch, Section, Transform, TransformFormat,
};
use tesson_engine::atomic_file::Existing;
use tesson_formats::user::UserError;

use crate::kit::{read_all, store_of, values};

/// Multiplies by a factor and adds a number that is drawn.
static SCATTER: TransformFormat = TransformFormat {
    name: "Scatter",
    help: "",
    options: &OptionTable(&[
        OptionSpec::with_default("factor", OptionKind::Real, "1", ""),
        OptionSpec::optional("factorFile", OptionKind::Path, ""),
        OptionSpec::with_default("seed", OptionKind::Whole, "0", ""),
    ]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Single(open_scatter),
};

#[derive(Debug)]
struct Scatter {
    factor: f32,
    seed: u64,
}

fn open_scatter(options: &Options<'_>, read: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
    let mut factor = options.real("factor")? as f32;
    if factor == 0.0 {
        return Err(ConfigError::out_of_range(options.path("factor"), "0", "another number").into());
    }
    if let Some(file) = options.text_if_given("factorFile")?.filter(|file| !file.is_empty()) {
        let text = String::from_utf8(read(Path::new(&file))?).expect("the test's file is text");
        factor = text.parse().expect("the test's file is a number");
    }
    Ok(Arc::new(Scatter { factor, seed: options.whole("seed")? }))
}

impl Transform for Scatter {
    fn name(&self) -> &str {
        SCATTER.name
    }

    fn identity(&self) -> String {
        format!("factor={}", self.factor)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        Ok(input.clone())
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::F32(values), OutputValues::F32(output)) = (input.values, output.values) else {
            return Err("float32 is expected".into());
        };
        output.extend(values.iter().map(|value| self.factor * value + draw.integer(0, 3) as f32 / 8.0));
        Ok(())
    }
}

fn registry() -> Registry {
    tesson::registry().with_transforms(&[&SCATTER])
}

fn lowered(transforms: &str, options: &str) -> SourceConfig {
    let text = format!(
        r#"{{"deserializers": [{{"type": "CTFDeserializer", "file": "f", "input": {{"x": {{"dim": 1, "format": "dense",
            "transforms": {transforms}}}}}}}], "maxSweeps": 2 {options}}}"#
    );
    let tree = json::parse(&text).expect("the text is JSON");
    lower(&tree, &registry()).expect("the options are right")
}

fn open(config: &SourceConfig) -> Result<Source, Error> {
    let text: String = (0..40).map(|i| format!("{i} |x {i}\n")).collect();
    OpenOptions::in_store(&store_of([("f", &*text), ("factor", "64")])).open(config)
}

/// The values of minibatches of seven sequences up to the end.
fn rest(source: &mut Source) -> Vec<Vec<f64>> {
    read_all(source, 7, values).expect("the data are right")
}

#[test]
fn transforms_of_a_streams_section_are_applied_in_order_and_resumed() {
    let transforms = r#"[{"type": "Scatter", "factor": 4}, {"type": "Scatter", "factor": 16, "seed": 7}]"#;
    let config = lowered(transforms, r#", "randomizationSeed": 3"#);
    let all = rest(&mut open(&config).unwrap());
    let both: Vec<f64> = all.iter().flatten().copied().collect();
    let (first, second) = both.split_at(40);
    for sweep in [first, second] {
        let mut numbers: Vec<u32> = sweep.iter().map(|value| (value / 64.0) as u32).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..40).collect::<Vec<_>>(), "each is multiplied by both factors");
    }
    assert!(first.iter().any(|value| !second.contains(value)), "each sweep draws its own numbers");
    for taken in [1, 5, 8] {
        let mut source = open(&config).unwrap();
        let state = (0..taken).map(|_| source.next_minibatch(7).unwrap().unwrap().resume().clone()).last();
        let mut resumed = open(&config).unwrap();
        resumed.restore(&state.unwrap()).unwrap();
        assert_eq!(rest(&mut resumed), all[taken..]);
    }
    let other = lowered(r#"[{"type": "Scatter", "factor": 4}]"#, r#", "randomizationSeed": 3"#);
    let state = open(&config).unwrap().next_minibatch(7).unwrap().unwrap().resume().clone();
    assert!(matches!(open(&other).unwrap().restore(&state), Err(Error::Resume(_))));
}

#[test]
fn the_readers_own_transforms_come_after_and_may_be_named_too() {
    let of_stream = r#"{"type": "Scatter", "factorFile": "factor"}"#;
    let reader = r#", "transforms": {"x": {"type": "Scatter", "factor": 2}}, "randomize": false"#;
    let both = rest(&mut open(&lowered(of_stream, reader)).unwrap());
    assert_eq!(both[0].iter().map(|value| (value / 128.0) as u32).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn brainscript_names_them_as_the_reference_does() {
    let text = "Train = [ reader = [
        maxSweeps = 2 ; randomizationSeed = 3
        deserializers = ([ type = \"CNTKTextFormatDeserializer\" ; file = \"f\" ; input = [ x = [ dim = 1 ; format = \"dense\" ; transforms = (
            [ type = \"Scatter\" ; factor = 4 ] :
            [ type = \"Scatter\" ; factor = 16 ; seed = 7 ] ) ] ] ])
    ] ]";
    let loaded = load(text, &Choices::default()).unwrap();
    let reader = reader_of(&loaded.tree, Some("Train"), &registry()).unwrap();
    let config = reader.source(&registry()).unwrap();
    let names = r#"[{"type": "Scatter", "factor": 4}, {"type": "Scatter", "factor": 16, "seed": 7}]"#;
    let same = lowered(names, r#", "randomizationSeed": 3"#);
    let (mut found, mut expected) = (open(&config).unwrap(), open(&same).unwrap());
    let [found, expected] = [&mut found, &mut expected].map(|source| {
        let mut all: Vec<f64> = rest(source).concat();
        all.sort_by(f64::total_cmp);
        all
    });
    assert_eq!(found, expected);
}

#[test]
fn errors_name_the_transform_and_its_option() {
    let error = |transforms: &str| open(&lowered(transforms, "")).map(|_| ()).unwrap_err().to_string();
    let path = "deserializers[0].input.x.transforms[1]";
    for (second, expected) in [
        (r#"{"type": "Skatter"}"#, format!("{path}.type: unknown type `Skatter`, did you mean `Scatter`?")),
        (r#"{"type": "Scatter", "factor": 0}"#, format!("{path}.factor: found 0, expected another number")),
        (
            r#"{"type": "Scatter", "fctor": 1}"#,
            format!("{path}: unknown option `fctor`, did you mean `factor`?"),
        ),
        (r#"{"type": "Scatter", "factorFile": "g"}"#, "g: ".into()),
        (
            "7",
            "deserializers[0].input.x.transforms: found `7`, expected a transform or a list of them".into(),
        ),
    ] {
        let found = error(&format!(r#"[{{"type": "Scatter"}}, {second}]"#));
        assert!(found.starts_with(&expected), "{found}\n{expected}");
    }
}

#[test]
fn streams_of_the_binary_format_have_them_too() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("named-transforms");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("x.cbf");
    let text = lowered("[]", r#", "randomize": false"#);
    let mut sequences = Corpus::new(open(&text).unwrap(), |_| Element::F32);
    tesson_convert::write(&mut sequences, &file, Existing::Replace, Form::BINARY, &mut |_| ()).unwrap();
    let options = format!(
        r#"{{"deserializers": [{{"type": "CBFDeserializer", "file": {file:?}, "input": {{
            "x": {{"transforms": {{"type": "Scatter", "factor": 4}}}}}}}}],
            "randomize": false, "maxSweeps": 1}}"#
    );
    let config = lower(&json::parse(&options).unwrap(), &registry()).unwrap();
    let found: Vec<f64> = rest(&mut tesson::open(&config).unwrap()).concat();
    let expected: Vec<u32> = (0..40).chain(0..40).collect();
    assert_eq!(found.iter().map(|value| (value / 4.0) as u32).collect::<Vec<_>>(), expected, "two sweeps");
}

//! Comparing the output of a conversion with its input.

use std::path::Path;

use tesson_core::{ConfigError, Element, Error, Key, Section, Value, number_of};
use tesson_engine::Source;
use tesson_formats::mlf::write::LabelForm;
use tesson_formats::write::{Numbers, SequenceData, StreamSpec};

use crate::{ConvertError, Corpus, Form, PROGRESS, Sequences, Written};

/// Reads the output and compares it with the input, which must be at its beginning again, sequence by sequence and
/// bit by bit. Keys are compared if the format keeps them. `open` opens a source by its configuration.
///
/// # Errors
/// [`ConvertError::Differs`] for the first difference; other errors if either cannot be read.
pub fn verify(
    input: &mut dyn Sequences,
    output: &Path,
    form: Form,
    written: &Written,
    open: &dyn Fn(&Section) -> Result<Source, Error>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ConvertError> {
    let mut more = input.advance()?;
    let text_keys = more && matches!(input.key(), Key::Text(_));
    let source = open(&configuration(output, form, &written.streams, text_keys)?)?;
    let mut found = Corpus::new(source, |_| Element::F64);
    // Streams come in the order of the file or of the configuration: both are that of the input.
    let streams = &written.streams;
    for n in 0.. {
        match (more, found.advance()?) {
            (true, true) => compare(n, input, &found, streams, !matches!(form, Form::Binary { .. }))?,
            (false, false) => break,
            (more, _) => {
                let which = if more { "fewer" } else { "more" };
                return Err(ConvertError::Differs(format!(
                    "the file has {which} than {}",
                    number_of(n, "sequence")
                )));
            }
        }
        if n % PROGRESS == 0 {
            progress(input.bytes_read());
        }
        more = input.advance()?;
    }
    Ok(())
}

/// A configuration that reads the output.
fn configuration(
    output: &Path,
    form: Form,
    streams: &[StreamSpec],
    text_keys: bool,
) -> Result<Section, Error> {
    let Some(file) = output.to_str() else {
        let found = output.display().to_string();
        return Err(ConfigError::wrong_form("", found, "a name in UTF-8").into());
    };
    let text = |text: &str| Value::Text(text.into());
    let stream = |stream: &StreamSpec| {
        let format = if stream.sparse { "sparse" } else { "dense" };
        // A sparse stream without any entry still needs a dimension.
        let dim = stream.dim.unwrap_or_default().max(1);
        (
            stream.name.clone(),
            Value::Section(Section::from_iter([("format", text(format)), ("dim", Value::Whole(dim.into()))])),
        )
    };
    let double = streams.iter().any(|s| s.element == Element::F64);
    let (kind, input) = match form {
        Form::Text => ("CNTKTextFormatDeserializer", Section::from_iter(streams.iter().map(stream))),
        Form::Binary { .. } => ("CNTKBinaryFormatDeserializer", Section::default()),
        Form::Labels { form, boundaries } => {
            let labels = |stream: &StreamSpec| {
                let options = Section::from_iter([
                    ("dim", Value::Whole(stream.dim.unwrap_or_default().into())),
                    ("mlfFile", text(file)),
                    ("phoneBoundaries", Value::Bool(boundaries)),
                ]);
                (stream.name.clone(), Value::Section(options))
            };
            let kind = match form {
                LabelForm::Text => "HTKMLFDeserializer",
                LabelForm::Binary => "HTKMLFBinaryDeserializer",
            };
            (kind, Section::from_iter(streams.iter().map(labels)))
        }
    };
    let mut deserializer = Section::from_iter([("type", text(kind)), ("input", Value::Section(input))]);
    if !matches!(form, Form::Labels { .. }) {
        deserializer.push("file", text(file));
    }
    Ok(Section::from_iter([
        ("deserializers", Value::List(vec![Value::Section(deserializer)])),
        ("precision", text(if double { "double" } else { "float" })),
        ("randomize", Value::Bool(false)),
        ("useNumericSequenceKeys", Value::Bool(!text_keys || matches!(form, Form::Binary { .. }))),
        ("maxSweeps", Value::Whole(1)),
    ]))
}

fn compare(
    n: u64,
    expected: &dyn Sequences,
    found: &Corpus,
    streams: &[StreamSpec],
    keys: bool,
) -> Result<(), ConvertError> {
    use tesson_formats::write::Sequence as _;
    if keys && expected.key().to_string() != found.key().to_string() {
        let what = format!("sequence {n} has the key {}, expected {}", found.key(), expected.key());
        return Err(ConvertError::Differs(what));
    }
    for (i, stream) in streams.iter().enumerate() {
        if !same(expected.stream(i), found.stream(i), stream.element) {
            return Err(ConvertError::Differs(format!("stream `{}` of sequence {n}", stream.name)));
        }
    }
    Ok(())
}

/// True if two sequences hold the same values in this type.
fn same(expected: SequenceData<'_>, found: SequenceData<'_>, element: Element) -> bool {
    match (expected, found) {
        (SequenceData::Dense { n_samples: n, values }, SequenceData::Dense { n_samples, values: other }) => {
            n == n_samples && same_numbers(values, other, element)
        }
        (
            SequenceData::Sparse { bounds, columns, values },
            SequenceData::Sparse { bounds: other_bounds, columns: other_columns, values: other },
        ) => {
            let counts = |bounds: &[i32]| bounds.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>();
            columns == other_columns
                && counts(bounds) == counts(other_bounds)
                && same_numbers(values, other, element)
        }
        _ => false,
    }
}

fn same_numbers(expected: Numbers<'_>, found: Numbers<'_>, element: Element) -> bool {
    let bits = |numbers: Numbers<'_>, i: usize| match element {
        Element::F64 => numbers.get(i).to_bits(),
        _ => u64::from((numbers.get(i) as f32).to_bits()),
    };
    expected.len() == found.len() && (0..found.len()).all(|i| bits(expected, i) == bits(found, i))
}

//! Which reader a section is (spec/brainscript.md §9).

use tesson_core::{ConfigError, Registry, nearest};

use super::scope::Scope;
use crate::ReaderRefusal;
use crate::{READER_OPTIONS, Result, format_names};

/// The readers of CNTK, as far as Tesson knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderType {
    /// A list of deserializers.
    Composite,
    /// One text file.
    Text,
    /// One binary file.
    Binary,
    /// Features and labels of speech, each in a section of its own.
    Speech,
    /// Images and labels, each in a section of its own.
    Image,
}

/// Values of `readerType` in any case, and what they are.
const TYPES: &[(&str, ReaderType)] = &[
    ("CNTKTextFormatReader", ReaderType::Text),
    ("Cntk.Deserializers.TextFormat", ReaderType::Text),
    ("CNTKBinaryReader", ReaderType::Binary),
    ("Cntk.Deserializers.Binary", ReaderType::Binary),
    ("HTKMLFReader", ReaderType::Speech),
    ("HTKDeserializers", ReaderType::Speech),
    ("Cntk.Reader.HTKMLF", ReaderType::Speech),
    ("Cntk.Deserializers.HTK", ReaderType::Speech),
    ("ImageReader", ReaderType::Image),
    ("Cntk.Deserializers.Image", ReaderType::Image),
    ("CompositeDataReader", ReaderType::Composite),
    ("Cntk.Composite", ReaderType::Composite),
];

/// Readers of CNTK that Tesson has nothing for.
const UNSUPPORTED: &[&str] = &[
    "UCIFastReader",
    "LMSequenceReader",
    "LUSequenceReader",
    "LibSVMBinaryReader",
    "SparsePCReader",
    "Kaldi2Reader",
    "BinaryReader",
    "DSSMReader",
];

/// True if CNTK reads a deserializer with the program of this name, which its configurations write beside each `type`.
/// Such a name is no Python module that registers types.
pub fn is_cntk_module(module: &str) -> bool {
    TYPES
        .iter()
        .map(|(name, _)| *name)
        .chain(UNSUPPORTED.iter().copied())
        .any(|name| name.eq_ignore_ascii_case(module))
}

impl ReaderType {
    /// The kind of a reader's section.
    pub(super) fn of(scope: &Scope<'_>) -> Result<ReaderType> {
        let name = scope.find_text("readerType");
        if scope.own("deserializers").is_some() {
            return Ok(ReaderType::Composite);
        }
        if scope.own("readers").is_some() {
            return Err(ConfigError::refused("readers", &ReaderRefusal::SeveralReaders));
        }
        let Some(name) = name else { return Ok(ReaderType::Text) };
        if let Some((_, kind)) = TYPES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
            return Ok(*kind);
        }
        let refusal = match UNSUPPORTED.iter().find(|n| n.eq_ignore_ascii_case(name)) {
            Some(name) => ReaderRefusal::UnsupportedReader { name },
            None => ReaderRefusal::UnknownReader {
                name: name.to_owned(),
                nearest: nearest(name, TYPES.iter().map(|(n, _)| *n)),
            },
        };
        Err(ConfigError::refused("readerType", &refusal))
    }

    /// The reader's name in descriptions.
    pub fn name(self) -> &'static str {
        match self {
            ReaderType::Composite => "composite",
            ReaderType::Text => "CNTKTextFormatReader",
            ReaderType::Binary => "CNTKBinaryReader",
            ReaderType::Speech => "HTKMLFReader",
            ReaderType::Image => "ImageReader",
        }
    }

    /// The type of the deserializer whose options stand in the reader's own section.
    pub(super) fn own_deserializer(self) -> Option<&'static str> {
        match self {
            ReaderType::Text => Some(format_names::TEXT),
            ReaderType::Binary => Some(format_names::BINARY),
            _ => None,
        }
    }

    /// Names of options that may stand in the section, for "did you mean".
    pub(super) fn options(self, registry: &Registry) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = READER_OPTIONS.names().collect();
        let format = self.own_deserializer().and_then(|name| registry.find(name, "").ok());
        names.extend(format.into_iter().flat_map(|format| format.options.names()));
        names
    }
}

//! The file that is written, under a temporary name until it is whole.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tesson_core::Key;
use tesson_engine::atomic_file::{AtomicFile, Existing, NewFile, Target, is_same_file};
use tesson_formats::cbf::write::{Encoded, Encoder};
use tesson_formats::mlf::write::LabelForm;
use tesson_formats::write::{SequenceWriter, StreamSpec, WriteError};
use tesson_formats::{cbf, ctf, mlf};

use crate::ConvertError;

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// CNTK's text format.
    Text,
    /// CNTK's binary format; a chunk is closed when it has `chunk_bytes` bytes.
    Binary {
        /// The size.
        chunk_bytes: u64,
    },
    /// Labels of speech alone.
    Labels {
        /// As text or in binary.
        form: LabelForm,
        /// True if the beginnings of phones are marked in the input.
        boundaries: bool,
    },
}

impl Form {
    /// The binary format with chunks as large as those of the text format are by default.
    pub const BINARY: Form = Form::Binary { chunk_bytes: cbf::write::CHUNK_BYTES };

    /// The binary format for an input of `input_bytes` bytes: about 64 chunks, fewer if they would be smaller than a
    /// page, more if they would be larger than those of [`Form::BINARY`]. Workers share whole chunks, and a window of
    /// the default size covers them all.
    pub fn binary_of(input_bytes: u64) -> Form {
        Form::Binary {
            chunk_bytes: (input_bytes / SHARED_CHUNKS).clamp(LEAST_CHUNK, cbf::write::CHUNK_BYTES),
        }
    }
}

/// Chunks that an input becomes, and the fewest bytes of one.
const SHARED_CHUNKS: u64 = 64;
const LEAST_CHUNK: u64 = 4 << 10;

/// Refuses an output that is one of the inputs, under any name, and one that exists and is to be kept. The end of a
/// conversion checks the same; here it is found before hours of work.
///
/// # Errors
/// [`ConvertError::Usage`] with the file.
pub fn check_output(output: &Path, inputs: &[PathBuf], existing: Existing) -> Result<(), ConvertError> {
    let shown = output.display();
    if let Some(input) = inputs.iter().find(|input| is_same_file(input, output)) {
        let name = if **input == *output { String::new() } else { format!(" `{}`", input.display()) };
        let what = format!("{shown}: this is the input{name}, which is never replaced; choose another name");
        return Err(ConvertError::Usage(what));
    }
    match Target::of(output) {
        Target::Folder => {
            let what = format!("{shown}: this is a folder, expected the name of a file; add one");
            Err(ConvertError::Usage(what))
        }
        Target::Taken if existing == Existing::Keep => Err(ConvertError::exists(output)),
        Target::Free | Target::Taken => Ok(()),
    }
}

/// Bytes that are handed to the system at once, at least; binary chunks come in larger parts.
const BUFFER: usize = 128 << 10;

/// An unfinished file, removed if it is never finished.
pub(super) struct Output {
    path: PathBuf,
    existing: Existing,
    writer: Writer,
    guard: AtomicFile,
}

/// A finished file: its size, its streams as they were found, and the first key that it does not keep.
pub(super) struct Finished {
    pub(super) bytes: u64,
    pub(super) streams: Vec<StreamSpec>,
    pub(super) lost_key: Option<Key>,
}

/// The writer of a format.
enum Writer {
    Text(ctf::write::Writer<BufWriter<NewFile>>),
    Binary(cbf::write::Writer<BufWriter<NewFile>>),
    Labels(mlf::write::Writer<BufWriter<NewFile>>),
}

impl Output {
    /// Opens the temporary file.
    pub(super) fn create(
        path: &Path,
        existing: Existing,
        form: Form,
        streams: &[StreamSpec],
    ) -> Result<Output, ConvertError> {
        // The error has the caller's name, not that of the temporary file.
        let (guard, file) = AtomicFile::create(path).map_err(|e| ConvertError::file(path, e))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        let writer = match form {
            Form::Text => ctf::write::Writer::new(out, streams).map(Writer::Text),
            Form::Binary { chunk_bytes } => {
                cbf::write::Writer::new(out, streams, chunk_bytes).map(Writer::Binary)
            }
            Form::Labels { form, .. } => mlf::write::Writer::new(out, streams, form).map(Writer::Labels),
        };
        let writer = writer.map_err(|e| ConvertError::write(path, e))?;
        Ok(Output { path: path.into(), existing, writer, guard })
    }

    pub(super) fn writer(&mut self) -> &mut dyn SequenceWriter {
        match &mut self.writer {
            Writer::Text(writer) => writer,
            Writer::Binary(writer) => writer,
            Writer::Labels(writer) => writer,
        }
    }

    /// The encoder of sequences for any thread, if the format has one.
    pub(super) fn encoder(&self) -> Option<Encoder> {
        match &self.writer {
            Writer::Text(_) | Writer::Labels(_) => None,
            Writer::Binary(writer) => Some(writer.encoder()),
        }
    }

    /// Appends bytes that [`Output::encoder`] has made.
    pub(super) fn append(&mut self, encoded: Encoded) -> Result<(), ConvertError> {
        match &mut self.writer {
            Writer::Text(_) | Writer::Labels(_) => unreachable!("nothing encodes these"),
            Writer::Binary(writer) => writer.append(encoded).map_err(|e| self.error(e)),
        }
    }

    pub(super) fn error(&self, e: WriteError) -> ConvertError {
        ConvertError::write(&self.path, e)
    }

    /// Completes the file and renames it to its name.
    pub(super) fn finish(mut self) -> Result<Finished, ConvertError> {
        self.writer().finish().map_err(|e| self.error(e))?;
        let streams = self.writer().streams();
        let lost_key = self.writer().lost_key().cloned();
        let Output { path, existing, guard, .. } = self;
        let metadata = guard.temporary().metadata();
        let bytes = metadata.and_then(|metadata| guard.commit(existing).map(|()| metadata.len()));
        let bytes = bytes.map_err(|e| ConvertError::file(&path, e))?;
        Ok(Finished { bytes, streams, lost_key })
    }
}

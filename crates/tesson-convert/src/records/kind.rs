//! The format of a file of records.

use std::path::Path;

use tesson_core::ResourceId;
use tesson_core::store::{Store, beginning};
use tesson_formats::array_record::{self, ArrayRecordFile};
use tesson_formats::record::RecordFile;
use tesson_formats::tfrecord::TfRecordFile;

/// A format of files of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// TFRecord, perhaps compressed as a whole.
    TfRecord,
    /// ArrayRecord.
    ArrayRecord,
}

impl RecordKind {
    /// All of them.
    pub const ALL: [RecordKind; 2] = [RecordKind::TfRecord, RecordKind::ArrayRecord];

    /// Its name, which is also the suffix of its files.
    pub fn name(self) -> &'static str {
        match self {
            RecordKind::TfRecord => "tfrecord",
            RecordKind::ArrayRecord => "array_record",
        }
    }

    /// The format with a name or suffix.
    pub fn parse(name: &str) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|kind| kind.name() == name || Some(*kind) == short(name))
    }

    /// The format that a file's name says: `x.tfrecord`, `x-train.array_record-00000-of-00004`.
    pub fn of_name(path: &Path) -> Option<RecordKind> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        name.split('.').skip(1).find_map(|part| RecordKind::parse(part.split('-').next()?))
    }

    /// The format of a file, by its name, else by its first bytes: those of ArrayRecord are always the same.
    pub fn of(store: &dyn Store, path: &Path) -> Option<RecordKind> {
        let is_signed = || beginning(store, path, array_record::SIGNATURE.len()) == array_record::SIGNATURE;
        RecordKind::of_name(path).or_else(|| is_signed().then_some(RecordKind::ArrayRecord))
    }

    /// A reader of the file that a resource is.
    pub fn reader(self, resource: ResourceId) -> Box<dyn RecordFile> {
        match self {
            RecordKind::TfRecord => Box::new(TfRecordFile::new(resource)),
            RecordKind::ArrayRecord => Box::new(ArrayRecordFile::new(resource)),
        }
    }
}

fn short(name: &str) -> Option<RecordKind> {
    match name {
        "tfrecords" => Some(RecordKind::TfRecord),
        "arrayrecord" => Some(RecordKind::ArrayRecord),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_shard_says_its_format() {
        let check = |name: &str, kind| assert_eq!(RecordKind::of_name(Path::new(name)), kind, "{name}");
        check("a/mnist-train.tfrecord-00000-of-00010", Some(RecordKind::TfRecord));
        check("a/mnist-train.array_record-00000-of-00010", Some(RecordKind::ArrayRecord));
        check("x.tfrecords", Some(RecordKind::TfRecord));
        check("x.TFRecord.gz", Some(RecordKind::TfRecord));
        check("x.arrayrecord", Some(RecordKind::ArrayRecord));
        check("a.tfrecord/x.ctf", None);
        check("tfrecord", None);
        check("x.tfrecordish", None);
    }
}

//! The deserializer of map files: it reads the map when a source is opened, and pictures when a minibatch needs them.

use std::collections::HashMap;
use std::sync::Arc;

use tesson_core::{
    CompactLengths, DataError, DataErrorKind, Defects, Deserializer, DeserializerFacts, Error, Fetch, Index,
    Indexed, Keys, ListedAt, Location, Parallelism, ResourceId, StreamMismatch, StreamingDecoder,
};
use xxhash_rust::xxh3::xxh3_64;

use super::FORMAT;
use super::corpus::{MapCorpus, Picture};
use super::fault::ImageMapFault;
use super::line::Line;
use super::options::MapOptions;
use super::path::{PathRules, PicturePath};
use crate::pictures::{KeyColumn, OnCorruptImage, VIEWS, lossy, parse_label};

/// The map file among the resources.
pub(super) const MAP: ResourceId = ResourceId(0);

/// What a picture is assumed to take in storage: its size is not known before it is opened.
const BYTES_OF_A_PICTURE: u64 = 64 << 10;

/// Pictures that a map file lists.
pub(super) struct ImageMap {
    options: MapOptions,
    facts: DeserializerFacts,
    /// What `prepare` has found.
    pictures: Arc<Vec<Picture>>,
    keys: Keys,
    defects: Vec<DataError>,
}

impl ImageMap {
    pub(super) fn new(options: MapOptions) -> ImageMap {
        let mut facts = options.pictures.facts(FORMAT.name, "map 1");
        facts.strict = options.pictures.on_corrupt != OnCorruptImage::Skip;
        ImageMap { options, facts, pictures: Arc::default(), keys: Keys::Consecutive(0), defects: Vec::new() }
    }

    fn at(&self, offset: usize, line: u32) -> Location {
        let file = self.facts.resources[0].as_path().into();
        Location { file, offset: offset as u64, line: Some(line.into()) }
    }
}

impl Deserializer for ImageMap {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let mut bytes = Vec::new();
        fetch.read(MAP, 0..fetch.size(MAP)?, &mut bytes)?;
        self.facts.fingerprint = Some(xxh3_64(&bytes));
        let map = self.facts.resources[0].display().to_string();
        let mut reader = MapReader {
            options: &self.options,
            facts: &mut self.facts,
            rules: PathRules::new(&map, self.options.root.clone()),
            pictures: Vec::new(),
            keys: KeyColumn::default(),
            archives: HashMap::new(),
            warned: false,
        };
        let mut defects = Vec::new();
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut offset = bytes.len() - text.len();
        for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            let is_comment = self.options.comments && content.starts_with(b"#");
            if !is_comment
                && content.iter().any(|byte| !byte.is_ascii_whitespace() || *byte == b'\t')
                && let Err(fault) = reader.line(content, number)
            {
                defects.push((offset, number, fault));
            }
            offset += line.len();
        }
        let MapReader { pictures, keys, .. } = reader;
        (self.pictures, self.keys) = (Arc::new(pictures), keys.finish(self.options.pictures.numeric_keys));
        self.defects = defects
            .into_iter()
            .map(|(offset, number, fault)| DataError::new(fault, self.at(offset, number)))
            .collect();
        Ok(())
    }

    fn index(&self, _: &dyn Fetch, _: &dyn Parallelism, defects: &mut Defects<'_>) -> Result<Indexed, Error> {
        for defect in &self.defects {
            defects.report(defect.clone())?;
        }
        if self.pictures.is_empty() {
            defects.report(DataError::new(DataErrorKind::EmptyFile, self.at(0, 1)))?;
        }
        let copies = if self.options.pictures.multi_view { VIEWS } else { 1 };
        let mut index = Index::new();
        for _ in 0..self.pictures.len() * copies as usize {
            index.push(CompactLengths::new(&[1]), BYTES_OF_A_PICTURE);
        }
        index.seal();
        let corpus = MapCorpus::new(self.pictures.clone(), self.keys.clone(), copies, &self.options.pictures);
        Ok(Indexed { index: Arc::new(index), corpus: Arc::new(corpus) })
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

/// A map file on its way into columns.
struct MapReader<'a> {
    options: &'a MapOptions,
    facts: &'a mut DeserializerFacts,
    rules: PathRules,
    pictures: Vec<Picture>,
    keys: KeyColumn,
    archives: HashMap<String, ResourceId>,
    /// Whether a label with more than a number has been logged.
    warned: bool,
}

impl MapReader<'_> {
    /// Takes in a line; `number` counts from 1.
    fn line(&mut self, line: &[u8], number: u32) -> Result<(), ImageMapFault> {
        let columns = Line::parse(line, self.options.pictures.labels().is_some())?;
        let path = std::str::from_utf8(columns.path)
            .map_err(|_| ImageMapFault::NotUtf8 { found: lossy(columns.path) })?;
        let label = columns.label.map(|text| self.label(text, path, number)).transpose()?;
        let (resource, embedded) = self.resource(path, number);
        self.keys.push(columns.key, u64::from(number - 1));
        self.pictures.push(Picture { resource, label: label.unwrap_or(0), embedded });
        Ok(())
    }

    fn label(&mut self, text: &[u8], path: &str, line: u32) -> Result<u32, ImageMapFault> {
        let (label, has_more) =
            parse_label(text).ok_or_else(|| ImageMapFault::BadLabel { found: lossy(text) })?;
        let dim = self.options.pictures.labels().map_or(0, |labels| labels.dim);
        if label >= dim {
            return Err(ImageMapFault::LabelOutOfRange { path: path.into(), label, dim });
        }
        if has_more {
            let fault = ImageMapFault::TrailingText { found: lossy(text) };
            if self.options.strict_labels {
                return Err(fault);
            }
            if !std::mem::replace(&mut self.warned, true) {
                let map = self.facts.resources[0].display();
                tracing::warn!(
                    "{map}:{line}: the label is `{}`, read as {label}; further ones are not logged",
                    lossy(text)
                );
            }
        }
        Ok(label as u32)
    }

    /// The resource of a path, and whether it is a member of an archive.
    fn resource(&mut self, path: &str, line: u32) -> (ResourceId, bool) {
        let at = ListedAt { root: MAP, line };
        match self.rules.resolve(path) {
            PicturePath::File(path) => (self.facts.push_file(&path, at), false),
            PicturePath::Member { archive, name } => {
                let facts = &mut *self.facts;
                let id = *self.archives.entry(archive).or_insert_with_key(|path| facts.push_file(path, at));
                (facts.push_member(id, &name, at), true)
            }
        }
    }
}

//! The deserializer of maps: it reads the map when a source is opened, and images when a minibatch needs them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    CompactLengths, DataError, DataErrorKind, Defects, Deserializer, DeserializerFacts, Error, Fetch, Index,
    Indexed, Key, ListedAt, Location, NamedResource, Parallelism, ResourceId, SEQUENCES_IN_MEMORY, Shape,
    StoreError, StoreErrorKind, StreamMismatch, StreamingDecoder, TextSet,
};

use super::FORMAT;
use super::corpus::MapCorpus;
use super::fault::ImageMapFault;
use super::labels::{Classes, LabelKind, Labels, NAME_BYTES};
use super::line::{Line, LineStart, TextRules};
use super::listed_images::{ImageColumn, ListedImages};
use super::options::{MapFormat, MapOptions};
use super::path::{ImagePath, PathRules};
use super::text::{MAP, MapText, PIECE, TextLine};
use super::{classes, csv, folder, json_lines};
use crate::images::{OnCorruptImage, VIEWS, lossy};

/// The list of classes among the resources, where there is one.
const CLASSES: ResourceId = ResourceId(1);

/// The line of what is wrong with the whole map, or with a folder.
const WHOLE: u32 = ListedAt::IN_FOLDER;

/// Lines between two looks at how much memory they take.
pub(super) const LOOK: u32 = 4096;

/// Bytes that a line with a fault takes, about, and one that is the first of its archive.
const FAULT_BYTES: usize = 256;

/// Members that archives lack and that an error names.
const NAMED_MEMBERS: usize = 10;

/// Bytes that an image is assumed to take in storage: its size is not known before it is opened.
const BYTES_OF_AN_IMAGE: u64 = 64 << 10;

/// Images that a map lists.
pub(super) struct ImageMap {
    options: MapOptions,
    facts: DeserializerFacts,
    /// Bytes of each read of the map.
    piece: u64,
    /// True if the map is a folder; like the next fields, found by `prepare`.
    is_folder: bool,
    images: Arc<ListedImages>,
    defects: Vec<DataError>,
}

impl ImageMap {
    pub(super) fn new(options: MapOptions) -> ImageMap {
        let mut facts = options.images.facts(FORMAT.name, options.identity());
        facts.takes_folders = true;
        facts.resources.extend(options.classes.clone());
        ImageMap {
            options,
            facts,
            piece: PIECE,
            is_folder: false,
            images: Arc::new(ImageColumn::default().finish(MAP, &[], true)),
            defects: Vec::new(),
        }
    }

    fn at(&self, offset: u64, line: u32) -> Location {
        at(&self.facts, offset, line)
    }

    /// A deserializer that reads the map in pieces of this many bytes.
    #[cfg(test)]
    pub(super) fn with_pieces(self, piece: u64) -> ImageMap {
        ImageMap { piece, ..self }
    }

    /// The images and defects that `prepare` found.
    #[cfg(test)]
    pub(super) fn found(&self) -> (&ListedImages, &[DataError]) {
        (&self.images, &self.defects)
    }

    /// The members that archives lack, as one fault of the first line that lists one. Where such images may be left out, that is
    /// found when they are read.
    ///
    /// # Errors
    /// Archives that are missing or damaged.
    fn missing_members(&self, fetch: &dyn Fetch) -> Result<Option<DataError>, Error> {
        let images = &self.options.images;
        if images.on_corrupt == OnCorruptImage::Skip || images.forgives {
            return Ok(None);
        }
        if !self.images.has_archives() {
            return Ok(None);
        }
        let first = self.facts.resources.len() as u32;
        let named = &self.facts.named;
        let (mut missing, mut n) = (Vec::new(), 0);
        let mut name = String::new();
        for number in 0..named.len() as u32 {
            let NamedResource::Member { archive, at, .. } = named.get(number, &mut name) else { continue };
            // Where the archive itself is missing, the error is that of its file.
            let is_of_archive = |e: &StoreError| matches!(named.get(archive, &mut String::new()), NamedResource::File { path, .. } if *e.file == *Path::new(path));
            match fetch.size(ResourceId(first + number)) {
                Err(Error::Store(e)) if e.kind() == StoreErrorKind::NotFound && !is_of_archive(&e) => {
                    n += 1;
                    if missing.len() < NAMED_MEMBERS {
                        missing.push((at.line, e.file.display().to_string()));
                    }
                }
                Err(Error::Store(e)) => {
                    let map = self.facts.resources[0].display();
                    return Err(e.with_remedy(Some(format!("line {} of {map} lists it", at.line))).into());
                }
                size => _ = size?,
            }
        }
        let Some((line, path)) = missing.first().cloned() else { return Ok(None) };
        let others: Vec<String> = missing[1..].iter().map(|(_, path)| format!("`{path}`")).collect();
        let others = match n {
            1 => String::new(),
            _ => format!(
                " ({n} in all, {}{} too)",
                others.join(", "),
                if n > missing.len() { ", …" } else { "" }
            ),
        };
        Ok(Some(DataError::new(ImageMapFault::NoMembers { path, others }, self.at(0, line))))
    }

    /// The names of the classes, one in each line, where a file lists them.
    fn classes(&self, fetch: &dyn Fetch) -> Result<Option<TextSet>, Error> {
        match &self.options.classes {
            Some(path) => classes::read(fetch, CLASSES, path, self.piece).map(Some),
            None => Ok(None),
        }
    }

    /// Gives the stream of labels its classes.
    fn take_classes(&mut self, n: u64, names: Arc<[String]>) {
        let Some(labels) = self.options.images.labels() else { return };
        let stream = self.facts.streams.iter_mut().find(|stream| stream.name == labels.name);
        let stream = stream.expect("the stream of labels is one of them");
        if !labels.as_numbers {
            stream.shape = Shape::new([n as usize]);
        }
        stream.classes = names;
    }
}

impl Deserializer for ImageMap {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let path = self.facts.resources[0].clone();
        let text = MapText::open(fetch, &path, self.piece)?;
        let format = if text.is_folder {
            MapFormat::Folder
        } else {
            self.options.format.unwrap_or_else(|| MapFormat::of_extension(&path))
        };
        let map = path.display().to_string();
        let classes = self.classes(fetch)?;
        let kind = match format {
            MapFormat::Cntk => LabelKind::Numbers { strict: self.options.strict_labels },
            MapFormat::Csv | MapFormat::JsonLines if classes.is_none() => LabelKind::NumbersOrNames,
            MapFormat::Csv | MapFormat::JsonLines | MapFormat::Folder => LabelKind::Names,
        };
        let labels = self.options.images.labels();
        let column = Labels::new(kind, labels.map_or(1, |labels| labels.dim));
        let column = match classes.filter(|_| labels.is_some()) {
            Some(classes) => column.with_listed(classes),
            None => column,
        };
        let mut reader = MapReader {
            facts: &mut self.facts,
            rules: match format {
                MapFormat::Folder => PathRules::in_folder(&map),
                _ => PathRules::new(&map, self.options.root.as_deref().unwrap_or_default()),
            },
            map: map.clone(),
            label_stream: labels.map(|labels| &labels.name),
            images: ImageColumn::default(),
            labels: column,
            archives: HashMap::new(),
            defects: Vec::new(),
        };
        let rules = TextRules { with_labels: labels.is_some(), comments: self.options.comments };
        let columns = &self.options.columns;
        let limit = fetch.largest().saturating_mul(SEQUENCES_IN_MEMORY);
        let mut records = csv::Records::new(rules, columns);
        let mut rest = folder::Rest::default();
        let hash = text.each_line(format as u64, |line| {
            match format {
                MapFormat::Cntk => {
                    if let Some((at, content)) = rules.content(line) {
                        reader.take(at, Line::parse(content, rules.with_labels));
                    }
                }
                MapFormat::JsonLines => {
                    if let Some((at, content)) = rules.content(line) {
                        reader.take(at, json_lines::parse(content, rules.with_labels, columns));
                    }
                }
                MapFormat::Csv => records
                    .push(line, text.longest(), &mut |at, line| reader.take(at, line))
                    .map_err(|csv::TooLong { offset, line }| text.too_long(offset, line))?,
                MapFormat::Folder => reader.take_name(line, &mut rest, rules.with_labels),
            }
            if line.number.is_multiple_of(LOOK) {
                reader.check_memory(line, text.size, limit)
            } else {
                Ok(())
            }
        })?;
        records.finish(&mut |at, line| reader.take(at, line));
        let MapReader { images, mut labels, mut defects, .. } = reader;
        self.facts.fingerprint = Some(hash);
        rest.classes.iter().filter(|_| rules.with_labels).for_each(|name| labels.declare(name));
        if let Some(first) = rest.first_other {
            let n = rest.n_others;
            tracing::warn!(
                "{map}: {n} files are no images by their extensions and are left out, first `{first}`"
            );
        }
        let first = ResourceId(self.facts.resources.len() as u32);
        let numeric_keys = self.options.images.numeric_keys;
        let images = match labels.finish() {
            Ok(Classes { n, names, numbers }) => {
                self.take_classes(n, names);
                images.finish(first, &numbers, numeric_keys)
            }
            Err(fault) => {
                defects.push((LineStart { offset: 0, line: WHOLE, number: 0 }, None, fault));
                images.finish(first, &[], numeric_keys)
            }
        };
        self.is_folder = format == MapFormat::Folder;
        self.images = Arc::new(images);
        let labels = self.options.images.labels().map(|labels| &labels.name);
        self.defects = defects.into_iter().map(|defect| error(&self.facts, labels, defect)).collect();
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        _: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        for defect in &self.defects {
            defects.report(defect.clone())?;
        }
        // A check reads all images, and lists each that is missing.
        if !defects.are_collected()
            && let Some(missing) = self.missing_members(fetch)?
        {
            defects.report(missing)?;
        }
        // Where every line is wrong there are no images either, and the lines say why.
        if self.images.len() == 0 && self.defects.is_empty() {
            let empty = if self.is_folder {
                DataError::new(ImageMapFault::NoImages, self.at(0, ListedAt::IN_FOLDER))
            } else {
                DataError::new(DataErrorKind::EmptyFile, self.at(0, 1))
            };
            defects.report(empty)?;
        }
        let copies = if self.options.images.multi_view { VIEWS } else { 1 };
        let mut index = Index::new();
        for _ in 0..self.images.len() * copies as usize {
            index.push(CompactLengths::new(&[1]), BYTES_OF_AN_IMAGE);
        }
        index.assume_bytes();
        index.seal();
        let names = self.facts.streams.iter().flat_map(|stream| stream.classes.iter());
        let names = names.map(|name| name.len() + NAME_BYTES).sum();
        let corpus = MapCorpus::new(self.images.clone(), copies, &self.options.images, names);
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

/// The beginning of a faulty line, the key of its image, and the fault.
type Defect = (LineStart, Option<Key>, ImageMapFault);

/// A place in the map.
fn at(facts: &DeserializerFacts, offset: u64, line: u32) -> Location {
    let file = facts.resources[0].as_path().into();
    Location { file, offset, line: Some(line.into()).filter(|_| line != WHOLE) }
}

/// The error of a line, where the stream of labels has this name.
fn error(
    facts: &DeserializerFacts,
    labels: Option<&String>,
    (LineStart { offset, line, .. }, key, fault): Defect,
) -> DataError {
    let stream = labels.filter(|_| fault.is_of_label()).cloned();
    DataError::new(fault, at(facts, offset, line)).within(stream, key)
}

/// The key of a line's image.
fn key_of(line: &Line<'_>, at: LineStart) -> Key {
    line.key.as_deref().map_or(Key::Number(at.number), |key| Key::Text(lossy(key)))
}

/// A map on its way into columns.
struct MapReader<'a> {
    facts: &'a mut DeserializerFacts,
    /// The map's path.
    map: String,
    /// The stream of labels.
    label_stream: Option<&'a String>,
    rules: PathRules,
    images: ImageColumn,
    labels: Labels,
    archives: HashMap<String, ResourceId>,
    defects: Vec<Defect>,
}

impl MapReader<'_> {
    /// Takes a line, or what is wrong with it.
    fn take(&mut self, at: LineStart, line: Result<Line<'_>, ImageMapFault>) {
        let pushed = line
            .map_err(|fault| (None, fault))
            .and_then(|line| self.push(&line, at).map_err(|fault| (Some(key_of(&line, at)), fault)));
        if let Err((key, fault)) = pushed {
            self.defects.push((at, key, fault));
        }
    }

    /// Takes a name in a folder.
    fn take_name(&mut self, line: TextLine<'_>, rest: &mut folder::Rest, with_labels: bool) {
        let at = LineStart { offset: 0, line: WHOLE, number: 0 };
        let name = line.bytes.strip_suffix(b"\n").unwrap_or(line.bytes);
        match std::str::from_utf8(name) {
            Ok(name) => {
                if let Some(line) = rest.image(name, with_labels) {
                    self.take(at, line);
                }
            }
            Err(_) => self.take(at, Err(ImageMapFault::NotUtf8 { found: lossy(name) })),
        }
    }

    fn push(&mut self, line: &Line<'_>, at: LineStart) -> Result<(), ImageMapFault> {
        let path = std::str::from_utf8(&line.path)
            .map_err(|_| ImageMapFault::NotUtf8 { found: lossy(&line.path) })?;
        let label = line.label.as_deref().map(|text| self.labels.push(text, path, &self.map, at.line));
        let label = label.transpose()?;
        self.push_resource(path, at.line);
        self.images.push(line.key.as_deref(), at.number, label.unwrap_or(0));
        Ok(())
    }

    /// Adds the resource of a path, and its archive where that is met for the first time.
    fn push_resource(&mut self, path: &str, line: u32) {
        let at = ListedAt { root: MAP, line };
        match self.rules.resolve(path) {
            ImagePath::File(path) => {
                self.facts.push_file(&path, at);
            }
            ImagePath::Member { archive, name } => {
                let MapReader { facts, images, archives, .. } = self;
                let id = *archives.entry(archive).or_insert_with_key(|path| {
                    images.push_archive();
                    facts.push_file(path, at)
                });
                facts.push_member(id, &name, at);
            }
        }
    }

    /// Refuses a map that takes more than `limit` bytes of memory, as far as it has been read: up to the end of a line. Where lines
    /// are wrong, that is what is said.
    fn check_memory(&mut self, line: TextLine<'_>, size: u64, limit: u64) -> Result<(), Error> {
        let apart = (self.defects.len() + self.archives.len()) * FAULT_BYTES + self.labels.bytes();
        let bytes = (self.facts.named.bytes() + self.images.bytes() + apart) as u64;
        if bytes <= limit {
            return Ok(());
        }
        if !self.defects.is_empty() {
            return Err(error(self.facts, self.label_stream, self.defects.swap_remove(0)).into());
        }
        let done = line.offset + line.bytes.len() as u64;
        let needed = u128::from(bytes) * u128::from(size) / u128::from(done);
        let needed = u64::try_from(needed).unwrap_or(u64::MAX);
        let fault = ImageMapFault::ListBeyondMemory { lines: line.number.into(), bytes, limit, needed };
        Err(DataError::new(fault, at(self.facts, line.offset, line.number)).into())
    }
}

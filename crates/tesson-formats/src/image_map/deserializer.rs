//! The deserializer of maps: it reads the map when a source is opened, and pictures when a minibatch needs them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    CompactLengths, DataError, DataErrorKind, Defects, Deserializer, DeserializerFacts, Error, Fetch, Index,
    Indexed, Key, Keys, ListedAt, Listing, Location, NamedResource, Parallelism, ResourceId, Shape,
    StoreError, StoreErrorKind, StreamMismatch, StreamingDecoder,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::FORMAT;
use super::corpus::{MapCorpus, Picture};
use super::fault::ImageMapFault;
use super::labels::{Classes, LabelKind, Labels};
use super::line::{Line, LineStart, TextRules};
use super::options::{MapFormat, MapOptions};
use super::path::{PathRules, PicturePath};
use super::{csv, folder, json_lines, line};
use crate::pictures::{KeyColumn, OnCorruptImage, VIEWS, lossy};

/// The map file among the resources.
pub(super) const MAP: ResourceId = ResourceId(0);

/// The list of classes among the resources, where there is one.
const CLASSES: ResourceId = ResourceId(1);

/// The line of what is wrong with the whole map, or with a folder.
const WHOLE: u32 = ListedAt::IN_FOLDER;

/// Members that archives lack and that an error names.
const NAMED_MEMBERS: usize = 10;

/// What a picture is assumed to take in storage: its size is not known before it is opened.
const BYTES_OF_A_PICTURE: u64 = 64 << 10;

/// Pictures that a map lists.
pub(super) struct ImageMap {
    options: MapOptions,
    facts: DeserializerFacts,
    /// What `prepare` has found.
    is_folder: bool,
    pictures: Arc<Vec<Picture>>,
    keys: Keys,
    defects: Vec<DataError>,
}

impl ImageMap {
    pub(super) fn new(options: MapOptions) -> ImageMap {
        let mut facts = options.pictures.facts(FORMAT.name, options.identity());
        facts.takes_folders = true;
        facts.resources.extend(options.classes.clone());
        ImageMap {
            options,
            facts,
            is_folder: false,
            pictures: Arc::default(),
            keys: Keys::Consecutive(0),
            defects: Vec::new(),
        }
    }

    fn at(&self, offset: usize, line: u32) -> Location {
        let file = self.facts.resources[0].as_path().into();
        let line = Some(line.into()).filter(|_| line != WHOLE);
        Location { file, offset: offset as u64, line }
    }

    /// The members that archives lack, as one fault of the first line that lists one. Where such pictures may be left out, that is
    /// found when they are read.
    ///
    /// # Errors
    /// Archives that are missing or damaged.
    fn missing_members(&self, fetch: &dyn Fetch) -> Result<Option<DataError>, Error> {
        let pictures = &self.options.pictures;
        if pictures.on_corrupt == OnCorruptImage::Skip || pictures.forgives {
            return Ok(None);
        }
        let first = self.facts.resources.len() as u32;
        let (mut missing, mut n) = (Vec::new(), 0);
        for resource in
            self.pictures.iter().filter(|picture| picture.embedded).map(|picture| picture.resource)
        {
            let NamedResource::Member { archive, at, .. } = self.facts.named.get(resource.0 - first) else {
                continue;
            };
            // Where the archive itself is missing, the error is that of its file.
            let is_of_archive = |e: &StoreError| matches!(self.facts.named.get(archive), NamedResource::File { path, .. } if *e.file == *Path::new(path));
            match fetch.size(resource) {
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
    fn classes(&self, fetch: &dyn Fetch) -> Result<Option<Vec<String>>, Error> {
        let Some(path) = &self.options.classes else { return Ok(None) };
        let mut bytes = Vec::new();
        fetch.read(CLASSES, 0..fetch.size(CLASSES)?, &mut bytes)?;
        let mut classes: HashMap<&str, u32> = HashMap::new();
        let mut names = Vec::new();
        let (mut offset, mut line) = (0, 0);
        for text in bytes.split_inclusive(|&byte| byte == b'\n') {
            line += 1;
            let at = || Location { file: path.as_path().into(), offset, line: Some(line.into()) };
            let name = std::str::from_utf8(text)
                .map_err(|_| DataError::new(ImageMapFault::NotUtf8 { found: lossy(text) }, at()))?;
            let name = name.trim_start_matches('\u{feff}').trim();
            if let Some(first) = classes.insert(name, line).filter(|_| !name.is_empty()) {
                let name = name.to_owned();
                return Err(DataError::new(ImageMapFault::RepeatedClass { name, first }, at()).into());
            }
            names.extend((!name.is_empty()).then(|| name.to_owned()));
            offset += text.len() as u64;
        }
        Ok(Some(names))
    }

    /// Names the classes, and gives the pictures their numbers.
    fn take_classes(&mut self, classes: Classes, pictures: &mut [Picture]) {
        if !classes.numbers.is_empty() {
            pictures.iter_mut().for_each(|picture| picture.label = classes.numbers[picture.label as usize]);
        }
        let Some(labels) = self.options.pictures.labels() else { return };
        let stream = self.facts.streams.iter_mut().find(|stream| stream.name == labels.name);
        let stream = stream.expect("the stream of labels is one of them");
        stream.shape = Shape::new([classes.n as usize]);
        stream.classes = classes.names.into();
    }
}

impl Deserializer for ImageMap {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let mut bytes = Vec::new();
        fetch.read(MAP, 0..fetch.size(MAP)?, &mut bytes)?;
        let listing = Listing::names(&bytes);
        let path = &self.facts.resources[0];
        let format = match listing {
            Some(_) => MapFormat::Folder,
            None => self.options.format.unwrap_or_else(|| MapFormat::of_extension(path)),
        };
        let map = path.display().to_string();
        self.facts.fingerprint = Some(xxh3_64_with_seed(&bytes, format as u64));
        let classes = self.classes(fetch)?;
        let kind = match format {
            MapFormat::Cntk => LabelKind::Numbers { strict: self.options.strict_labels },
            MapFormat::Csv | MapFormat::JsonLines if classes.is_none() => LabelKind::NumbersOrNames,
            MapFormat::Csv | MapFormat::JsonLines | MapFormat::Folder => LabelKind::Names,
        };
        let labels = self.options.pictures.labels();
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
            map,
            pictures: Vec::new(),
            keys: KeyColumn::default(),
            labels: column,
            archives: HashMap::new(),
        };
        let rules = TextRules { with_labels: labels.is_some(), comments: self.options.comments };
        let mut defects = Vec::new();
        let mut on = |at: LineStart, line: Result<Line<'_>, ImageMapFault>| {
            let pushed = line
                .map_err(|fault| (None, fault))
                .and_then(|line| reader.push(&line, at).map_err(|fault| (Some(key_of(&line, at)), fault)));
            if let Err((key, fault)) = pushed {
                defects.push((at.offset, at.line, key, fault));
            }
        };
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let start = bytes.len() - text.len();
        match (format, listing) {
            (MapFormat::Csv, _) => csv::each(text, start, rules, &self.options.columns, &mut on),
            (MapFormat::JsonLines, _) => json_lines::each(text, start, rules, &self.options.columns, &mut on),
            (_, Some(names)) => {
                let at = LineStart { offset: 0, line: WHOLE, number: 0 };
                let rest = folder::each(names, rules.with_labels, &mut |line| on(at, line));
                rest.classes
                    .iter()
                    .filter(|_| rules.with_labels)
                    .for_each(|name| reader.labels.declare(name));
                if let Some(first) = rest.first_other {
                    let (map, n) = (&reader.map, rest.n_others);
                    tracing::warn!(
                        "{map}: {n} files are no pictures by their extensions and are left out, first `{first}`"
                    );
                }
            }
            (_, None) => line::each(text, start, rules, &mut on),
        }
        let MapReader { mut pictures, keys, labels, .. } = reader;
        self.keys = keys.finish(self.options.pictures.numeric_keys);
        match labels.finish() {
            Ok(classes) => self.take_classes(classes, &mut pictures),
            Err(fault) => defects.push((0, WHOLE, None, fault)),
        }
        self.is_folder = format == MapFormat::Folder;
        self.pictures = Arc::new(pictures);
        let labels = self.options.pictures.labels().map(|labels| &labels.name);
        let error = |(offset, number, key, fault): (usize, u32, Option<Key>, ImageMapFault)| {
            let stream = labels.filter(|_| fault.is_of_label()).cloned();
            DataError::new(fault, self.at(offset, number)).within(stream, key)
        };
        self.defects = defects.into_iter().map(error).collect();
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
        // A check reads all pictures, and lists each that is missing.
        if !defects.are_collected()
            && let Some(missing) = self.missing_members(fetch)?
        {
            defects.report(missing)?;
        }
        // Where every line is wrong there are no pictures either, and the lines say why.
        if self.pictures.is_empty() && self.defects.is_empty() {
            let empty = match self.is_folder {
                true => DataError::new(ImageMapFault::NoPictures, self.at(0, ListedAt::IN_FOLDER)),
                false => DataError::new(DataErrorKind::EmptyFile, self.at(0, 1)),
            };
            defects.report(empty)?;
        }
        let copies = if self.options.pictures.multi_view { VIEWS } else { 1 };
        let mut index = Index::new();
        for _ in 0..self.pictures.len() * copies as usize {
            index.push(CompactLengths::new(&[1]), BYTES_OF_A_PICTURE);
        }
        index.assume_bytes();
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

/// The key of a line's picture.
fn key_of(line: &Line<'_>, at: LineStart) -> Key {
    line.key.as_deref().map_or(Key::Number(at.number), |key| Key::Text(lossy(key)))
}

/// A map on its way into columns.
struct MapReader<'a> {
    facts: &'a mut DeserializerFacts,
    /// The map's path.
    map: String,
    rules: PathRules,
    pictures: Vec<Picture>,
    keys: KeyColumn,
    labels: Labels,
    archives: HashMap<String, ResourceId>,
}

impl MapReader<'_> {
    fn push(&mut self, line: &Line<'_>, at: LineStart) -> Result<(), ImageMapFault> {
        let path = std::str::from_utf8(&line.path)
            .map_err(|_| ImageMapFault::NotUtf8 { found: lossy(&line.path) })?;
        let label = line.label.as_deref().map(|text| self.labels.push(text, path, &self.map, at.line));
        let label = label.transpose()?;
        let (resource, embedded) = self.resource(path, at.line);
        self.keys.push(line.key.as_deref(), at.number);
        self.pictures.push(Picture { resource, label: label.unwrap_or(0), embedded });
        Ok(())
    }

    /// The resource of a path, and whether the path is that of a member of an archive.
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

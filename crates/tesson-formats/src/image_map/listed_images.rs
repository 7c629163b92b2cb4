//! The images of a map: where each lies, its class and its key, packed.

use tesson_core::{CompactLengths, Keys, ResourceId};

use super::labels::Label;
use crate::images::{KeyColumn, KeyTable};

/// The images of the lines so far.
#[derive(Default)]
pub(super) struct ImageColumn {
    labels: Vec<Label>,
    /// For each archive, the first image that was listed after it.
    archives: Vec<u32>,
    keys: KeyColumn,
}

impl ImageColumn {
    /// Says that an archive is added to the listed resources before the next image.
    pub(super) fn push_archive(&mut self) {
        self.archives.push(self.labels.len() as u32);
    }

    /// Appends an image, which is the next listed resource.
    pub(super) fn push(&mut self, key: Option<&[u8]>, line: u64, label: Label) {
        self.keys.push(key, line);
        self.labels.push(label);
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + (self.labels.capacity() + self.archives.capacity()) * size_of::<u32>()
    }

    /// The images, whose first listed resource is given; `numbers` are the classes of labels, if these have to be translated.
    pub(super) fn finish(mut self, first: ResourceId, numbers: &[Label], numeric_keys: bool) -> ListedImages {
        if !numbers.is_empty() {
            self.labels.iter_mut().for_each(|label| *label = numbers[*label as usize]);
        }
        self.archives.shrink_to_fit();
        ListedImages {
            first,
            labels: CompactLengths::new(&self.labels),
            archives: self.archives,
            keys: self.keys.finish(numeric_keys),
        }
    }
}

/// The images of a map, in its order.
pub(super) struct ListedImages {
    /// The first listed resource.
    first: ResourceId,
    /// Their classes; 0 where no labels are wanted.
    labels: CompactLengths,
    /// For each archive, which is a resource in front of its first image, the number of that image.
    archives: Vec<u32>,
    keys: KeyTable,
}

impl ListedImages {
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The file or the member of an archive that an image is.
    pub(super) fn resource(&self, image: u32) -> ResourceId {
        let archives = self.archives.partition_point(|&next| next <= image);
        ResourceId(self.first.0 + image + archives as u32)
    }

    /// True if some lie in archives.
    pub(super) fn has_archives(&self) -> bool {
        !self.archives.is_empty()
    }

    pub(super) fn label(&self, image: u32) -> Label {
        self.labels.get(image as usize)
    }

    /// A column of the key of an image alone.
    pub(super) fn key(&self, image: u32) -> Keys {
        self.keys.single(image)
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        self.labels.bytes() + self.archives.capacity() * size_of::<u32>() + self.keys.bytes()
    }
}

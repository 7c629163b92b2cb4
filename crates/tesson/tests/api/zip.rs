//! Archives for tests, right ones and wrong ones.

/// A `zip` archive in the making: what is in `entries` goes into its directory as it is.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
}

pub(crate) struct Entry {
    name: String,
    offset: u32,
    packed: u32,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) size: u32,
}

impl Writer {
    pub(crate) fn store(&mut self, name: &str, data: &[u8]) {
        self.add(name, 0, data, data);
    }

    /// One block of deflate that holds the data as they are.
    pub(crate) fn deflate(&mut self, name: &str, data: &[u8]) {
        let n = data.len() as u16;
        let packed = [&[1][..], &n.to_le_bytes(), &(!n).to_le_bytes(), data].concat();
        self.add(name, 8, data, &packed);
    }

    fn add(&mut self, name: &str, method: u16, data: &[u8], packed: &[u8]) {
        let entry = Entry {
            name: name.to_owned(),
            offset: self.bytes.len() as u32,
            packed: packed.len() as u32,
            method,
            crc: crc32(data),
            size: data.len() as u32,
        };
        self.bytes.extend(0x0403_4b50_u32.to_le_bytes());
        self.bytes.extend(entry.common());
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(packed);
        self.entries.push(entry);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let (start, n) = (self.bytes.len() as u32, self.entries.len() as u16);
        for entry in &self.entries {
            self.bytes.extend(0x0201_4b50_u32.to_le_bytes());
            self.bytes.extend(20_u16.to_le_bytes());
            self.bytes.extend(entry.common());
            // No comment, first disk, no attributes.
            self.bytes.extend([0; 10]);
            self.bytes.extend(entry.offset.to_le_bytes());
            self.bytes.extend(entry.name.as_bytes());
        }
        let size = self.bytes.len() as u32 - start;
        self.bytes.extend(0x0605_4b50_u32.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([n.to_le_bytes(), n.to_le_bytes()].concat());
        self.bytes.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
        self.bytes.extend([0; 2]);
        self.bytes
    }
}

impl Entry {
    /// The fields that the header in front of the data and the directory have in common.
    fn common(&self) -> Vec<u8> {
        let mut bytes = 20_u16.to_le_bytes().to_vec();
        bytes.extend([0; 2]);
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0; 4]);
        [self.crc, self.packed, self.size].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

//! Small images as corpora: a map of files, of which some cannot be decoded, a file in Base64, and two tar archives.

use std::fmt::Write as _;
use std::ops::Range;

/// The number of images in a corpus, that of sequences in the other corpora.
const IMAGES: usize = 240;

/// The number of files, which the map lists repeatedly.
const FILES: usize = 7;

/// The file of image `i`, with a size that depends on `i`.
fn image(i: usize) -> Vec<u8> {
    let (width, height) = (6 + i % 3, 5 + i % 2);
    let mut file = format!("P6 {width} {height} 255\n").into_bytes();
    file.extend((0..3 * width * height).map(|value| (value * (37 + 2 * i) + 11 * i) as u8));
    file
}

/// The files: of [`MAP`](crate::corpus::MAP), of [`BAD_MAP`](crate::corpus::BAD_MAP), which lists files that are none or
/// cut short, of [`BASE64`](crate::corpus::BASE64), and of [`ARCHIVES`](crate::corpus::ARCHIVES). Image `i` has the key `3 · i`.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let (mut map, mut bad_map, mut text) = (String::new(), String::new(), String::new());
    for i in 0..IMAGES {
        let (key, class, file) = (3 * i, i % 10, i * i % FILES);
        writeln!(map, "{key}\t{file}.ppm\t{class}").expect("strings take everything");
        let bad = if i % 9 == 4 { "cut.ppm" } else { "none.ppm" };
        let file = if i % 9 % 5 == 4 { bad.to_owned() } else { format!("{file}.ppm") };
        writeln!(bad_map, "{key}\t{file}\t{class}").expect("strings take everything");
        writeln!(text, "{key}\t{class}\t{}", base64(&image(i))).expect("strings take everything");
    }
    let cut = image(0)[..40].to_vec();
    let axes = AXES.to_owned();
    let texts = [("map.txt", map), ("bad-map.txt", bad_map), ("pictures.txt", text), ("axes.xml", axes)];
    let archives = [("0.tar", 0..IMAGES / 3), ("1.tar", IMAGES / 3..IMAGES)]
        .map(|(name, numbers)| (name.to_owned(), archive(numbers)));
    let images = (0..FILES).map(|i| (format!("{i}.ppm"), image(i)));
    let texts = texts.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    images.chain([("cut.ppm".to_owned(), cut)]).chain(texts).chain(archives).collect()
}

/// A tar archive of images and their classes.
fn archive(numbers: Range<usize>) -> Vec<u8> {
    let members = numbers.flat_map(|i| {
        let class = format!("{}\n", i % 10).into_bytes();
        [(format!("{}.ppm", 3 * i), image(i)), (format!("{}.cls", 3 * i), class)]
    });
    tar(members)
}

/// A tar archive of files, without the blocks that should end it.
pub(crate) fn tar(members: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, data) in members {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(&data);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive
}

/// Principal axes of colours, as OpenCV stores matrices.
const AXES: &str = r#"<?xml version="1.0"?><opencv_storage>
<EigVal type_id="opencv-matrix"><rows>1</rows><cols>3</cols><dt>f</dt><data>20. 9. 4.</data></EigVal>
<EigVec type_id="opencv-matrix"><rows>3</rows><cols>3</cols><dt>f</dt>
<data>.6 .6 .5 -.7 0. .7 .4 -.8 .5</data></EigVec></opencv_storage>"#;

/// Base64 of bytes.
fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let mut three = [0; 4];
        three[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(three);
        let digit = move |i: usize| alphabet[(bits >> (18 - 6 * i) & 63) as usize] as char;
        let n = group.len();
        (0..4).map(move |i| if i > n { '=' } else { digit(i) })
    };
    bytes.chunks(3).flat_map(group).collect()
}

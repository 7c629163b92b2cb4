//! Small files that declare large images: the memory for decoding is compared with the limit before it begins.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{folder, lines, stderr, tesson};

/// The sides that the files declare.
const SIDE: u16 = 16_000;

/// A lossless WebP of 38 bytes.
fn webp() -> Vec<u8> {
    let bits = (u32::from(SIDE) - 1) | (u32::from(SIDE) - 1) << 14;
    let contents = [&[0x2f][..], &bits.to_le_bytes(), &[0x88, 0x88, 0x08], &[0; 9]].concat();
    let chunk = [&b"VP8L"[..], &(contents.len() as u32).to_le_bytes(), &contents, &[0]].concat();
    [&b"RIFF"[..], &(chunk.len() as u32 + 4).to_le_bytes(), b"WEBP", &chunk].concat()
}

/// A bitmap of runs, which end at once.
fn bmp(sides: [u32; 2]) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0".to_vec();
    file.extend([62, 40, sides[0], sides[1]].map(u32::to_le_bytes).concat());
    file.extend([1_u16, 8].map(u16::to_le_bytes).concat());
    file.extend([1_u32, 0, 0, 0, 2, 0, 0, 0].map(u32::to_le_bytes).concat());
    file.extend([0, 1]);
    file
}

/// A TIFF of one strip, deflated, and more bytes than its strip has.
fn tiff() -> Vec<u8> {
    let side = u32::from(SIDE);
    let entries = [
        (256, side),
        (257, side),
        (258, 8),
        (259, 8),
        (262, 1),
        (273, 130),
        (277, 1),
        (278, side),
        (279, 40_000),
    ];
    let mut file = b"II\x2a\0\x08\0\0\0".to_vec();
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, value) in entries {
        file.extend([tag, 4_u16].map(u16::to_le_bytes).concat());
        file.extend([1, value].map(u32::to_le_bytes).concat());
    }
    file.extend([0; 4]);
    file.resize(130, 0);
    file.extend(b"\x78\x9c");
    file.resize(50_000, 0);
    file
}

/// A JPEG whose frame has other sides, and more bytes than its scan has: baseline, or progressive.
fn jpeg(start_of_frame: u8) -> Vec<u8> {
    let sides = [SIDE; 2].map(u16::to_be_bytes).concat();
    let quantization = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
    let frame = [&[0xff, start_of_frame, 0, 11, 8][..], &sides, &[1, 1, 0x11, 0]].concat();
    let table = |class: u8| [&[0xff, 0xc4, 0, 20, class, 1][..], &[0; 15], &[0]].concat();
    let last = if start_of_frame == 0xc2 { 0 } else { 63 };
    let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, last, 0];
    let mut file = [&[0xff, 0xd8][..], &quantization, &frame, &table(0), &table(0x10), &scan].concat();
    file.resize(50_000, 0);
    file
}

fn write(folder: &Path, (limit, on_corrupt): (&str, &str), files: &[(&str, Vec<u8>)]) {
    let mut map = String::new();
    for (name, file) in files {
        fs::write(folder.join(name), file).unwrap();
        map += &format!("{name}\t1\n");
    }
    fs::write(folder.join("map.txt"), map).unwrap();
    let reader = json!({"randomize": false, "memoryLimit": limit, "maxSweeps": 1, "deserializers": [{
        "type": "ImageDeserializer", "file": "map.txt", "onCorruptImage": on_corrupt,
        "input": {"x": {"transforms": [{"type": "Scale", "width": 2, "height": 1, "channels": 3}]}, "y": {"labelDim": 2}}}]});
    fs::write(folder.join("reader.json"), reader.to_string()).unwrap();
}

fn good() -> Vec<u8> {
    b"P6 2 1 255\n\x01\x02\x03\x04\x05\x06".to_vec()
}

#[test]
fn what_does_not_fit_is_refused_with_the_limit_that_is_needed() {
    for (name, file) in [
        ("a.webp", webp()),
        ("a.bmp", bmp([SIDE.into(); 2])),
        ("a.tif", tiff()),
        ("a.jpg", jpeg(0xc0)),
        ("b.jpg", jpeg(0xc2)),
    ] {
        let folder = folder(&format!("huge-{name}"));
        write(&folder, ("64MiB", "error"), &[(name, file)]);
        let read = tesson(&folder, "read reader.json --json");
        let message = stderr(&read);
        assert_eq!(read.status.code(), Some(1), "{name}: {message}");
        assert!(message.contains(name) && message.contains("16000x16000x3"), "{message}");
        assert!(message.contains("at most 50331648 fit into this `memoryLimit`"), "{message}");
        // 16,000 by 16,000 pixels of three values are 768 MB, and that is three quarters of what is needed at least.
        let needed = message.split("; ").find_map(|part| part.split_once(" or more is needed"));
        let needed: u64 = needed.expect("the limit that is needed").0.parse().expect("a number");
        assert!((1_024_000_000..6_000_000_000).contains(&needed), "{message}");
    }
}

/// With 1 GiB of address space, which one such image would exceed.
#[cfg(target_os = "linux")]
#[test]
fn what_does_not_fit_is_left_out_and_ends_no_process() {
    let folder = folder("huge-left-out");
    let files = [
        ("first.ppm", good()),
        ("a.webp", webp()),
        ("a.bmp", bmp([SIDE.into(); 2])),
        ("a.tif", tiff()),
        ("a.jpg", jpeg(0xc0)),
        ("b.jpg", jpeg(0xc2)),
        ("last.ppm", good()),
    ];
    write(&folder, ("64MiB", "skip"), &files);
    let shell = format!(
        "ulimit -v 1048576; exec '{}' read reader.json --json --minibatch-size 10",
        env!("CARGO_BIN_EXE_tesson")
    );
    let read = std::process::Command::new("sh").current_dir(&folder).args(["-c", &shell]).output().unwrap();
    assert_eq!(read.status.code(), Some(0), "{}", stderr(&read));
    let found: Vec<Value> = lines(&read);
    let pixels = json!([[3, 2, 1, 6, 5, 4]]);
    assert_eq!(found[0]["streams"]["x"]["sequences"], json!([pixels, pixels]), "{found:?}");
}

#[test]
fn what_fits_the_limit_is_decoded_by_any_number_of_threads() {
    let folder = folder("large-pictures");
    // They take 12 MB each: no two of them fit at once.
    let names = ["0.bmp", "1.bmp", "2.bmp", "3.bmp"];
    let files: Vec<(&str, Vec<u8>)> = names.map(|name| (name, bmp([2000, 1500]))).into();
    write(&folder, ("16MiB", "error"), &files);
    for threads in [1, 4] {
        let read =
            tesson(&folder, &format!("read reader.json --json --minibatch-size 1 --threads {threads}"));
        assert_eq!(read.status.code(), Some(0), "{}", stderr(&read));
        let found = lines(&read);
        assert_eq!(found.iter().filter(|batch| batch["streams"].is_object()).count(), 4, "{found:?}");
    }
}

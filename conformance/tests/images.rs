//! Memory of images: once sizes have been seen, nothing of the size of an image is allocated any more.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use counting::{alone, calls, total};
use tesson::store::MemoryStore;
use tesson::{OpenOptions, Source};

const WIDTH: usize = 300;
const HEIGHT: usize = 200;

/// Images of a minibatch, and minibatches before counting begins.
const SIZE: u64 = 4;
const WARM_UP: usize = 6;

fn ppm() -> Vec<u8> {
    let pixels = (0..3 * WIDTH * HEIGHT).map(|i| (i % 251) as u8);
    format!("P6 {WIDTH} {HEIGHT} 255\n").bytes().chain(pixels).collect()
}

/// A JPEG that ends after its header: the rest is gray.
fn jpeg() -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/imdecode/jpeg");
    let mut file = std::fs::read(path).expect("the corpus can be read").split_off(1);
    let frame = file.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("it has a frame");
    file[frame + 5..frame + 7].copy_from_slice(&(HEIGHT as u16).to_be_bytes());
    file[frame + 7..frame + 9].copy_from_slice(&(WIDTH as u16).to_be_bytes());
    file
}

/// A source of one image again and again, which has been read from for a while.
fn warmed_up(lines: usize, file: Vec<u8>, transforms: &str, size: u64) -> Source {
    let map: String = (0..lines).map(|i| format!("{i}\tpicture\t0\n")).collect();
    let store = MemoryStore::new().with("map", map.into_bytes()).with("picture", file);
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map", "onCorruptImage": "accept",
            "input": {{"x": {{"transforms": {transforms}}}, "y": {{"labelDim": 1}}}}}}],
            "threads": 1, "prefetch": false, "randomize": true}}"#
    );
    let mut source = OpenOptions::in_store(&store)
        .open(&tesson::config::from_json(&text).expect("it is right"))
        .expect("it opens");
    read(&mut source, WARM_UP, size);
    source
}

fn read(source: &mut Source, n: usize, size: u64) {
    (0..n).for_each(|_| drop(source.next_minibatch(size).expect("the pictures are right")));
}

/// Bytes that are allocated for each image after a warm-up.
fn for_each_image(file: Vec<u8>, transforms: &str) -> usize {
    let mut source = warmed_up(20, file, transforms, SIZE);
    // A block may come back too late to be used for the next one: that happens once, not in all of these.
    let windows = (0..4).map(|_| total(|| read(&mut source, WARM_UP, SIZE)).1);
    windows.min().expect("there are some") / (WARM_UP * SIZE as usize)
}

#[test]
fn nothing_of_the_size_of_an_image_is_allocated_after_a_warm_up() {
    let _alone = alone();
    let resized = r#"[{"type": "Scale", "width": 64, "height": 64, "channels": 3}]"#;
    let all = r#"[{"type": "Crop", "cropType": "RandomSide", "sideRatio": "0.6:1", "jitterType": "UniRatio"},
        {"type": "Scale", "width": 64, "height": 64, "channels": 3},
        {"type": "Color", "brightnessRadius": 0.2, "contrastRadius": 0.2},
        {"type": "Normalize", "divisor": 255, "mean": "0.5:0.5:0.5", "std": "0.2:0.2:0.2"},
        {"type": "Transpose"}]"#;
    for transforms in [resized, all] {
        for (name, file) in [("ppm", ppm()), ("jpeg", jpeg())] {
            let bytes = for_each_image(file, transforms);
            // A resized image has 12,288 values. The rest are names, positions and the library's own structures.
            assert!(bytes < 6 << 10, "{name}: {bytes} bytes");
        }
    }
}

/// Bytes of an image's file, at most.
const FILE: usize = 110_000;

/// The allocations that 48 more images in a minibatch may add.
const A_FEW: usize = 16;

/// Files that differ in size.
const FILES: usize = 23;

/// The number of allocations that a minibatch of 64 images makes more than one of 16 (a few, since growing arrays
/// double), and the bytes of the largest allocation of either. The images are files, which a map of `lines` lines
/// names; `before` images are read before counting begins, so many that buffers have met the largest file and tables of the
/// corpus have their size. `are_read` says whether files are still read then.
fn of_images(name: &str, lines: usize, options: &str, before: u64, are_read: bool) -> (usize, usize) {
    let jpegs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/tesson-image/tests/jpeg");
    let mut file = std::fs::read(jpegs.join("420-95.jpg")).expect("a committed file");
    let folder = std::env::temp_dir().join(format!("tesson-pictures-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it can be made");
    let path = folder.join("map");
    let image = |i: usize| folder.join(format!("picture{}", i % FILES));
    for i in (0..FILES).rev() {
        // Bytes after the image are read, but not decoded.
        file.resize(FILE - 4321 * (FILES - 1 - i), 0);
        std::fs::write(image(i), &file).expect("it can be written");
    }
    let map: String = (0..lines).map(|i| format!("{i}\t{}\t0\n", image(i).display())).collect();
    std::fs::write(&path, map).expect("it can be written");
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "{}", "input": {{"x": {{"transforms": [
            {{"type": "Crop", "cropType": "RandomSide", "sideRatio": "0.6:1", "jitterType": "UniRatio"}},
            {{"type": "Scale", "width": 96, "height": 96, "channels": 3}},
            {{"type": "Normalize", "divisor": 255, "mean": "0.5:0.5:0.5", "std": "0.2:0.2:0.2"}}]}},
            "y": {{"labelDim": 1}}}}}}],
            "threads": 1, "prefetch": false, {options}}}"#,
        path.display()
    );
    let of_minibatches = |size: u64| {
        let mut source =
            tesson::open(&tesson::config::from_json(&text).expect("it is right")).expect("it opens");
        read(&mut source, (before / size) as usize, size);
        let read_before = source.stats().bytes_read;
        // A block may come back too late to be used for the next one: that happens once, not in all of these.
        let windows: Vec<(usize, usize)> =
            (0..4).map(|_| calls(|| read(&mut source, WARM_UP, size))).collect();
        assert_eq!(
            source.stats().bytes_read > read_before,
            are_read,
            "{name}: files are read while it counts"
        );
        let least = |of: fn(&(usize, usize)) -> usize| windows.iter().map(of).min().expect("there are some");
        (least(|w| w.0), least(|w| w.1))
    };
    let (few, many) = (of_minibatches(4 * SIZE), of_minibatches(16 * SIZE));
    std::fs::remove_dir_all(folder).expect("it is there");
    (many.0.saturating_sub(few.0) / WARM_UP, few.1.max(many.1))
}

#[test]
fn nothing_is_allocated_for_an_image_that_is_decoded_cut_resized_and_normalized() {
    let _alone = alone();
    // All files stay in memory. The decoded image has 55,578 bytes, the resized one 27,648 values.
    let (n, largest) = of_images("kept", 64, r#""randomize": true"#, 400, false);
    assert!(n <= A_FEW && largest <= 4096, "{n} allocations for 48 pictures, {largest} bytes at most");
}

#[test]
fn nothing_is_allocated_for_an_image_that_is_also_read() {
    let _alone = alone();
    let (n, largest) = of_images("passed", 1000, r#""randomize": false"#, 1500, true);
    assert!(n <= A_FEW && largest <= 4096, "{n} allocations for 48 pictures, {largest} bytes at most");
}

#[test]
fn nothing_is_allocated_for_an_image_that_takes_the_place_of_others_in_memory() {
    let _alone = alone();
    // In random order with memory for a part of them, which is full.
    let options = r#""randomize": true, "memoryLimit": "128 MiB""#;
    let (n, largest) = of_images("replaced", 3000, options, 4500, true);
    assert!(n <= A_FEW && largest <= 4096, "{n} allocations for 48 pictures, {largest} bytes at most");
}

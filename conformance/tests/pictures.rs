//! Memory of pictures: once sizes have been seen, nothing of the size of a picture is allocated any more.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use counting::{alone, total};
use tesson::store::MemoryStore;
use tesson::{Source, config};

const WIDTH: usize = 300;
const HEIGHT: usize = 200;

/// Pictures of a minibatch, and minibatches before counting begins.
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

/// Bytes that are allocated for each picture after a warm-up.
fn for_each_picture(file: Vec<u8>, transforms: &str) -> usize {
    let map: String = (0..20).map(|i| format!("{i}\tpicture\t0\n")).collect();
    let store = MemoryStore::new().with("map", map.into_bytes()).with("picture", file);
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map", "onCorruptImage": "accept",
            "input": {{"x": {{"transforms": {transforms}}}, "y": {{"labelDim": 1}}}}}}],
            "threads": 1, "prefetch": false, "randomize": false}}"#
    );
    let mut source =
        Source::open_in(&config::from_json(&text).expect("it is right"), &store).expect("it opens");
    let mut read = |n: usize| {
        (0..n).for_each(|_| drop(source.next_minibatch(SIZE).expect("the pictures are right")));
    };
    read(WARM_UP);
    // A block may come back too late to be used for the next one: that happens once, not in all of these.
    let windows = (0..4).map(|_| total(|| read(WARM_UP)).1);
    windows.min().expect("there are some") / (WARM_UP * SIZE as usize)
}

#[test]
fn nothing_of_the_size_of_a_picture_is_allocated_after_a_warm_up() {
    let _alone = alone();
    let resized = r#"[{"type": "Scale", "width": 64, "height": 64, "channels": 3}]"#;
    let all = r#"[{"type": "Crop", "cropType": "RandomSide", "sideRatio": "0.6:1", "jitterType": "UniRatio"},
        {"type": "Scale", "width": 64, "height": 64, "channels": 3},
        {"type": "Color", "brightnessRadius": 0.2, "contrastRadius": 0.2},
        {"type": "Normalize", "divisor": 255, "mean": "0.5:0.5:0.5", "std": "0.2:0.2:0.2"},
        {"type": "Transpose"}]"#;
    for transforms in [resized, all] {
        for (name, file) in [("ppm", ppm()), ("jpeg", jpeg())] {
            let bytes = for_each_picture(file, transforms);
            // A resized picture has 12,288 values. What is left are names, places and the library's own structures.
            assert!(bytes < 6 << 10, "{name}: {bytes} bytes");
        }
    }
}

//! `tesson read --preview`: a sheet of images.

use std::fs;
use std::path::Path;

use tesson_image::decode::{Depth, Want, decode};

use crate::common::{folder, refused, tesson, two};

/// Three images of four columns and two rows, one color each, with the classes 0, 7 and 12.
fn write(folder: &Path, transforms: &str) {
    for (name, color) in [("0", [250, 10, 20]), ("1", [0, 200, 0]), ("2", [1, 2, 3])] {
        fs::write(folder.join(name), [b"P6 4 2 255\n".as_slice(), &color.repeat(8)].concat()).unwrap();
    }
    fs::write(folder.join("map.txt"), "0\t0\n1\t7\n2\t12\n").unwrap();
    let config = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", "root": ".", "input": {{
            "x": {{"transforms": [{transforms}]}}, "y": {{"labelDim": 13}}}}}}], "randomize": false}}"#
    );
    fs::write(folder.join("reader.json"), config).unwrap();
}

#[test]
fn a_sheet_has_the_images_with_their_classes() {
    for (name, transforms) in [("rows", ""), ("planes", r#"{"type": "Transpose"}"#)] {
        let folder = folder(&format!("preview-{name}"));
        write(&folder, transforms);
        let read = "read reader.json --minibatch-size 3 --take 1 --preview sheet.png";
        let output = tesson(&folder, read);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (file, mut pixels) = (fs::read(folder.join("sheet.png")).unwrap(), Vec::new());
        let want = Want { channels: Some(3), depth: Depth::Eight, limit: 1 << 20 };
        let shape = decode(&file, want, &mut pixels).unwrap();
        // Two columns of images as wide as two digits, two pixels apart.
        let width = 2 + 2 * (8 + 2);
        assert_eq!((shape.height, shape.width), (2 + 2 * (6 + 2 + 2), width));
        let pixel = |y: usize, x: usize| pixels[3 * (y * width + x)..][..3].to_vec();
        let places = [(8, 2), (9, 5), (8, 12), (18, 5), (0, 0), (8, 6), (18, 12)];
        let expected = [[250, 10, 20], [250, 10, 20], [0, 200, 0], [1, 2, 3], [48; 3], [48; 3], [48; 3]];
        assert_eq!(places.map(|(y, x)| pixel(y, x)), expected.map(Vec::from), "{name}");
        // A 0 is hollow; a 7 has its upper row and no lower left corner; a 12 has its 2 after its 1.
        let ink = [(2, 2), (3, 2), (2, 12), (2, 14), (12, 3), (12, 6), (16, 8)];
        let paper = [(3, 3), (6, 12), (12, 2), (14, 2), (13, 6)];
        assert!(ink.iter().all(|&(y, x)| pixel(y, x) == [255; 3]), "{name}");
        assert!(paper.iter().all(|&(y, x)| pixel(y, x) == [48; 3]), "{name}");
    }
}

#[test]
fn a_sheet_needs_images() {
    let folder = two("preview-none");
    let error = refused(&folder, "read two.ctf --stream a:2 --randomize false --preview sheet.png", 2);
    assert!(
        error.contains("--preview sheet.png: no stream holds images") && error.contains("`a` has 2"),
        "{error}"
    );
    assert!(!folder.join("sheet.png").exists());
}

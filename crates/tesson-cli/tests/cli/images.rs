//! Images on the command line.

use std::fs;

use serde_json::json;

use crate::common::{answers, folder, tesson};

#[test]
fn a_folder_of_classes_is_described_read_and_checked() {
    let folder = folder("folder-of-classes");
    for (name, value) in [("photos/dog/1.pgm", 1_u8), ("photos/cat/2.pgm", 2)] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, [b"P5 1 1 255\n", &[value][..]].concat()).unwrap();
    }
    let reader = json!({"randomize": false, "deserializers": [{
        "type": "ImageDeserializer", "file": "photos", "grayscale": true,
        "input": {"x": {"transforms": []}, "y": {"labelDim": "auto"}}}]});
    fs::write(folder.join("reader.json"), reader.to_string()).unwrap();
    let info = answers(&folder, "info reader.json --json");
    assert_eq!(info[0]["streams"][1]["classes"], json!(["cat", "dog"]));
    let told = tesson(&folder, "info reader.json");
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("of y: 0 cat, 1 dog"), "{told}");
    let read = answers(&folder, "read reader.json --json --minibatch-size 2 --take 1");
    assert_eq!(read[0]["streams"]["x"]["sequences"], json!([[[2]], [[1]]]), "by class");
    assert_eq!(read[0]["streams"]["y"]["sequences"], json!([[[[0, 1]]], [[[1, 1]]]]));
    answers(&folder, "check reader.json --json");
    fs::write(folder.join("photos/dog/3.png"), "no picture").unwrap();
    let checked = tesson(&folder, "check reader.json --json");
    assert_ne!(checked.status.code(), Some(0));
}

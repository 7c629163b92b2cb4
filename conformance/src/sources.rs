//! Lists, maps, labels and archives from outside. A fuzz target indexes and loads the data that its deserializers
//! find ([`parts`]); the tests also read all of it as a source: minibatches of any size deliver the same sequences,
//! or an error.

use serde_json::{Value, json};
use tesson::OpenOptions;
use tesson::store::MemoryStore;

use crate::corpus::Delivered;
use crate::{parts, speech};

/// A configuration, and the files that it reads.
#[derive(Debug)]
pub struct Input {
    pub(crate) reader: Value,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

impl Input {
    /// Indexes and loads it without a source.
    pub fn check_parts(&self) {
        parts::check(self);
    }

    /// Reads it as a source, in two ways; the number of sequences, if there is no error.
    pub fn read(&self) -> Option<usize> {
        read_in_two_ways(self)
    }
}

/// Pixels of the largest image that is decoded.
const MOST_PIXELS: usize = 1 << 16;

/// Frames of the utterances that lists and labels of speech are read beside.
const LENGTHS: [u32; 4] = [3, 1, 4, 2];

/// A map of images, its first byte choosing options. It may name `a.ppm`, `b.png` and `cut.ppm`.
pub fn image_map(bytes: &[u8]) -> Option<Input> {
    let (&choice, map) = bytes.split_first()?;
    let bit = |n: u32| choice >> n & 1 == 1;
    let mut deserializer = json!({
        "type": "ImageDeserializer",
        "file": if bit(0) { "map.csv" } else { "map.txt" },
        "onCorruptImage": if bit(1) { "skip" } else { "error" },
        "grayscale": bit(2),
        "multiViewCrop": bit(3),
        "maxPixels": MOST_PIXELS,
        "input": {"x": {"transforms": resized()}, "y": {"labelDim": 3}},
    });
    if bit(4) {
        deserializer["root"] = "folder".into();
    }
    let mut files = images();
    files.extend([("map.txt", map.to_vec()), ("map.csv", map.to_vec())]);
    Some(Input { reader: images_of(&deserializer, choice), files })
}

/// Images in Base64, the first byte choosing options.
pub fn base64_images(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let deserializer = json!({
        "type": "Base64ImageDeserializer",
        "file": "pictures.txt",
        "onCorruptImage": if choice >> 1 & 1 == 1 { "skip" } else { "error" },
        "maxPixels": MOST_PIXELS,
        "input": {"x": {"transforms": resized()}, "y": {"labelDim": 3}},
    });
    Some(Input { reader: images_of(&deserializer, choice), files: vec![("pictures.txt", file.to_vec())] })
}

/// A tar archive of images, the first byte choosing options.
pub fn tar_images(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let deserializer = json!({
        "type": "TarImageDeserializer",
        "file": "pictures.tar",
        "onCorruptImage": if choice >> 1 & 1 == 1 { "skip" } else { "error" },
        "maxPixels": MOST_PIXELS,
        "input": {"x": {"transforms": resized()}, "y": {"labelDim": 3}},
    });
    Some(Input { reader: images_of(&deserializer, choice), files: vec![("pictures.tar", file.to_vec())] })
}

/// A `zip` archive that a map lists members of. The engine opens it, so it is read as a source.
pub fn zip_members(file: &[u8]) -> Option<Input> {
    let deserializer = json!({
        "type": "ImageDeserializer",
        "file": "map.txt",
        "onCorruptImage": "skip",
        "maxPixels": MOST_PIXELS,
        "input": {"x": {"transforms": resized()}, "y": {"labelDim": 3}},
    });
    let map = b"z.zip@/a.ppm\t0\nz.zip@/b.ppm\t1\nz.zip@/a.ppm\t2\n".to_vec();
    let files = vec![("map.txt", map), ("z.zip", file.to_vec())];
    Some(Input { reader: images_of(&deserializer, 0), files })
}

/// The transforms of a stream of images, as JSON: they are refused, or make images.
pub fn image_transforms(bytes: &[u8]) -> Option<Input> {
    let transforms: Value = serde_json::from_slice(bytes).ok()?;
    // Images as large as someone may ask for are right, and slow.
    if numbers(&transforms).into_iter().any(|number| !(-512.0..=512.0).contains(&number)) {
        return None;
    }
    let deserializer = json!({
        "type": "ImageDeserializer",
        "file": "map.txt",
        "input": {"x": {"transforms": transforms, "ragged": true}, "y": {"labelDim": 3}},
    });
    let mut files = images();
    files.push(("map.txt", b"a.ppm\t0\nb.png\t1\na.ppm\t2\n".to_vec()));
    Some(Input { reader: images_of(&deserializer, 0), files })
}

/// A script file of features, the first byte choosing options. It may name `all.htk`.
pub fn htk_scp(bytes: &[u8]) -> Option<Input> {
    let (&choice, list) = bytes.split_first()?;
    let (archive, _) = speech::one_archive(&LENGTHS);
    let files = vec![("list.scp", list.to_vec()), ("all.htk", archive)];
    Some(Input { reader: speech_of(&[features(choice)], choice), files })
}

/// A file of features, the first byte choosing options: all of it is one utterance, and two frames are another.
pub fn htk_features(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let list = b"whole.mfc=all.htk\npart.mfc=all.htk[0,1]\n".to_vec();
    let files = vec![("list.scp", list), ("all.htk", file.to_vec())];
    Some(Input { reader: speech_of(&[features(choice)], choice), files })
}

/// Labels in a master label file, in CNTK's binary form of it, or in an archive of Kaldi's, as the first byte says,
/// beside features.
pub fn speech_labels(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let bit = |n: u32| choice >> n & 1 == 1;
    let (name, mut stream, option) = match choice >> 6 {
        0 | 1 => ("HTKMLFDeserializer", json!({"phoneBoundaries": bit(5)}), "mlfFile"),
        2 => ("HTKMLFBinaryDeserializer", json!({"phoneBoundaries": bit(5)}), "mlfFile"),
        _ => ("KaldiAlignmentDeserializer", json!({}), "arkFile"),
    };
    stream["dim"] = 10.into();
    stream[option] = "labels".into();
    if choice >> 6 == 1 {
        stream["labelMappingFile"] = "states".into();
    }
    if bit(4) {
        stream["lengthTolerance"] = 1.into();
    }
    let labels = json!({"type": name, "chunkSizeInBytes": 40, "input": {"y": stream}});
    let (archive, list) = speech::one_archive(&LENGTHS);
    let states = b"s2\ns3\ns4\n".to_vec();
    let files = vec![("labels", file.to_vec()), ("states", states), ("list.scp", list), ("all.htk", archive)];
    Some(Input { reader: speech_of(&[features(choice), labels], choice), files })
}

/// An archive of matrices of Kaldi's, or a script file of one that is right, the first byte choosing which, and options.
pub fn kaldi_features(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let window = if choice >> 2 & 1 == 1 { [1, 2] } else { [0, 0] };
    let mut stream = json!({"dim": 2, "contextWindow": window, "chunkSizeInFrames": 4});
    let is_list = choice >> 3 & 1 == 1;
    stream[if is_list { "scpFile" } else { "arkFile" }] = "file".into();
    let [(_, right), ..] = speech::matrices(&LENGTHS);
    let deserializer = json!({"type": "KaldiFeatureDeserializer", "input": {"x": stream}});
    let files = vec![("file", file.to_vec()), ("right.ark", right)];
    Some(Input { reader: speech_of(&[deserializer], choice), files })
}

/// A recording, the first byte choosing options.
pub fn recordings(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let stream = json!({"sampleRate": 8000, "filters": 2, "windowSeconds": 0.001, "shiftSeconds": 0.001});
    let deserializer = json!({"type": "AudioDeserializer", "file": "list", "input": {"x": stream}});
    let files = vec![("list", b"a file\nb file\n".to_vec()), ("file", file.to_vec())];
    Some(Input { reader: json!({"deserializers": [deserializer], "randomize": choice & 1 == 1}), files })
}

/// CSV, JSON lines, a shard of MDS, lines of libsvm, records of examples, ARFF or lines of Vowpal Wabbit, the first byte choosing which and the options.
pub fn text_tables(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let name =
        ["a.csv", "a.jsonl", "a.mds", "a.svm", "a.tfrecord", "a.arff", "a.vw"][usize::from(choice >> 2) % 7];
    let table = json!({"type": "TableDeserializer", "file": name, "chunkSizeInBytes": 20});
    let reader = json!({"deserializers": [table], "randomize": choice & 1 == 1, "maxErrors": choice & 2});
    Some(Input { reader, files: vec![(name, file.to_vec())] })
}

/// A tar archive of members of any kind, the first byte choosing options.
pub fn tar_tables(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let nulls = ["refuse", "skip", "0"][usize::from(choice >> 2) % 3];
    let mut table =
        json!({"type": "TableDeserializer", "file": "a.tar", "nulls": nulls, "chunkSizeInBytes": 20});
    if choice >> 4 & 1 == 1 {
        table["input"] = json!({"npy": {"ragged": true}, "key": {"column": "__key__"}});
    }
    let reader = json!({"deserializers": [table], "randomize": choice & 1 == 1, "maxErrors": choice & 2});
    Some(Input { reader, files: vec![("a.tar", file.to_vec())] })
}

/// An array of NumPy's, the first byte choosing options.
pub fn numpy_arrays(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let each = ["rows", "example", "sequence"][usize::from(choice >> 2) % 3];
    let table =
        json!({"type": "TableDeserializer", "file": "a.npy", "eachFile": each, "chunkSizeInBytes": 20});
    let reader = json!({"deserializers": [table], "randomize": choice & 1 == 1, "maxErrors": choice & 2});
    Some(Input { reader, files: vec![("a.npy", file.to_vec())] })
}

/// A file of tokens, or Megatron's index of one, the first byte choosing which, and options.
pub fn token_files(bytes: &[u8]) -> Option<Input> {
    let (&choice, file) = bytes.split_first()?;
    let mut table =
        json!({"type": "TableDeserializer", "format": "tokens", "file": "a.bin", "chunkSizeInBytes": 20});
    match choice >> 2 & 3 {
        0 => table["length"] = (1 + choice / 64).into(),
        1 => table["endOfText"] = 7.into(),
        2 => (table["length"], table["stride"]) = (3.into(), (1 + choice / 64).into()),
        _ => {}
    }
    let files = match choice >> 2 & 3 {
        3 => vec![("a.bin", (0..60).collect()), ("a.idx", file.to_vec())],
        _ => vec![("a.bin", file.to_vec())],
    };
    Some(Input { reader: json!({"deserializers": [table], "randomize": choice & 1 == 1}), files })
}

/// Features that `list.scp` lists.
fn features(choice: u8) -> Value {
    let window = if choice >> 2 & 1 == 1 { [1, 2] } else { [0, 0] };
    json!({"type": "HTKFeatureDeserializer", "input": {"x": {
        "scpFile": "list.scp", "dim": 2, "contextWindow": window, "chunkSizeInFrames": 4,
    }}})
}

/// An image of six by five pixels, a smaller one, and one that ends too early.
fn images() -> Vec<(&'static str, Vec<u8>)> {
    let ppm = |width: u8, height: u8| {
        let mut file = format!("P6 {width} {height} 255\n").into_bytes();
        file.extend((0..3 * width * height).map(|value| value.wrapping_mul(41)));
        file
    };
    let cut = ppm(6, 5)[..30].to_vec();
    vec![("a.ppm", ppm(6, 5)), ("b.png", ppm(3, 4)), ("cut.ppm", cut)]
}

/// A source of images.
fn images_of(deserializer: &Value, choice: u8) -> Value {
    json!({"deserializers": [deserializer], "randomize": choice & 1 == 1, "maxErrors": choice & 2})
}

/// A source of speech, of whole utterances or frame by frame.
fn speech_of(deserializers: &[Value], choice: u8) -> Value {
    json!({"deserializers": deserializers, "randomize": choice & 1 == 1, "frameMode": choice & 2 == 2})
}

fn resized() -> Value {
    json!([{"type": "Scale", "width": 4, "height": 3, "channels": 3}])
}

/// All numbers in a value, those in texts too.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().into_iter().collect(),
        Value::String(text) => {
            text.split([':', ' ', ',']).filter_map(|part| part.trim().parse().ok()).collect()
        }
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values().flat_map(numbers).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// Reads a sweep with a sequence a minibatch and with several: the same comes out, or neither comes to an end. Returns how many
/// sequences came out.
fn read_in_two_ways(input: &Input) -> Option<usize> {
    let mut reader = input.reader.clone();
    let store =
        input.files.iter().fold(MemoryStore::new(), |store, (name, file)| store.with(name, file.clone()));
    reader["maxSweeps"] = 1.into();
    reader["threads"] = 1.into();
    reader["memoryLimit"] = "64MB".into();
    let config = tesson::config::from_json(&reader.to_string()).ok()?;
    let read = |samples: u64| {
        let mut source = OpenOptions::in_store(&store).open(&config).ok()?;
        let mut found: Vec<Delivered> = Vec::new();
        while let Some(minibatch) = source.next_minibatch(samples).ok()? {
            found.push(Delivered::of(&minibatch));
        }
        Some(sequences(&found))
    };
    let found = read(1);
    assert_eq!(found, read(1000), "{reader}");
    found.map(|sequences| sequences.len())
}

/// A sequence: its key, and of each stream its length, the columns of sparse entries or the shapes of images, and the bits of all values.
type Sequence = (String, Vec<(u32, Vec<i32>, Vec<u64>)>);

/// The sequences of minibatches.
fn sequences(minibatches: &[Delivered]) -> Vec<Sequence> {
    let of_one = |minibatch: &Delivered| {
        let sequence = |i: usize| {
            let streams = minibatch.streams.iter().map(|stream| {
                let first = stream.lengths[..i].iter().sum::<u32>() as usize;
                let samples = first..first + stream.lengths[i] as usize;
                let n_samples = stream.lengths.iter().sum::<u32>().max(1) as usize;
                let each = |n: usize| samples.start * n / n_samples..samples.end * n / n_samples;
                let (entries, indices) = match (&stream.indptr[..], &stream.indices[..]) {
                    ([], []) => (each(stream.bits.len()), 0..0),
                    ([], shapes) => {
                        let values =
                            |shapes: &[i32]| shapes.chunks(3).map(|s| s.iter().product::<i32>()).sum::<i32>();
                        let (own, before) = (each(shapes.len()), &shapes[..each(shapes.len()).start]);
                        let first = values(before) as usize;
                        (first..first + values(&shapes[own.clone()]) as usize, own)
                    }
                    (indptr, _) => {
                        let entries = indptr[samples.start] as usize..indptr[samples.end] as usize;
                        (entries.clone(), entries)
                    }
                };
                (stream.lengths[i], stream.indices[indices].to_vec(), stream.bits[entries].to_vec())
            });
            (minibatch.keys[i].clone(), streams.collect())
        };
        (0..minibatch.keys.len()).map(sequence).collect::<Vec<_>>()
    };
    minibatches.iter().flat_map(of_one).collect()
}

//! The store of the example, against a server on this machine: a text file and a split of a prepared dataset come as from files.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tesson::store::Stores;
use tesson::{Error, Loader, LoaderBuilder, Samples, Shuffle};
use tesson_formats::example::Value;
use tesson_prepared::{DatasetWriter, NewDataset, NewSplit};
use tesson_tfds::info::Version;

#[path = "../examples/http_store.rs"]
#[allow(dead_code, unreachable_pub)]
mod http_store;

use http_store::HttpStore;

/// Files by the path of their URLs.
type Files = BTreeMap<String, Vec<u8>>;

/// Serves files on a port of this machine for the life of the process; returns the URL that their paths follow.
fn serve(files: Files) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            // A caller that hangs up has what it wanted.
            let _ = answer(caller, &files);
        }
    });
    format!("http://{address}")
}

/// Answers one request: `HEAD`, or `GET` with a range.
fn answer(caller: TcpStream, files: &Files) -> std::io::Result<()> {
    let mut lines = BufReader::new(caller.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| line.strip_prefix("Range: bytes=")?.split_once('-'));
    let (mut words, mut caller) = (request.split(' '), caller);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let Some(bytes) = files.get(path) else { return write!(caller, "HTTP/1.0 404 Not Found\r\n\r\n") };
    match (method, range) {
        ("GET", Some((first, last))) => {
            let [first, last] = [first, last].map(|n| n.parse::<usize>().expect("a range of numbers"));
            write!(caller, "HTTP/1.0 206 Partial Content\r\nContent-Length: {}\r\n\r\n", last + 1 - first)?;
            caller.write_all(&bytes[first..=last])
        }
        _ => write!(caller, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len()),
    }
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    folder
}

/// All files of a folder, each with its name.
fn files_in(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder is ours");
    let file = |path: PathBuf| {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("the file is ours"))
    };
    entries.map(|entry| file(entry.expect("it is listed").path())).collect()
}

/// The data, shuffled.
fn shuffled(data: LoaderBuilder) -> Result<Loader, Error> {
    data.batch_size(7).shuffle(Shuffle::Whole).open()
}

/// Everything in an epoch.
fn everything(mut loader: Loader) -> Vec<String> {
    let mut all = Vec::new();
    for batch in loader.epoch() {
        let batch = batch.expect("the data are right");
        let minibatch = batch.minibatch();
        let streams = minibatch.streams().iter().map(|stream| match stream.samples() {
            Samples::Dense { values } => {
                format!("{:?}", (0..values.len()).map(|i| values.get(i)).collect::<Vec<_>>())
            }
            Samples::Sparse { indices, .. } => format!("{:?}", &indices[..]),
            Samples::Ragged { .. } => unreachable!("no stream is ragged"),
        });
        all.push(format!("{:?} {:?}", minibatch.keys(), streams.collect::<Vec<_>>()));
    }
    all
}

/// The epoch of data over HTTP, compared with that of the same data in files.
fn check(of: impl Fn(&str) -> LoaderBuilder, local: &Path, url: &str) {
    let stores = Stores::local().with("http", Arc::new(HttpStore));
    let expected = everything(shuffled(of(local.to_str().expect("UTF-8"))).expect("the files are right"));
    let found = shuffled(of(url).store(&stores)).expect("the server has the same");
    assert!(expected.len() > 2);
    assert_eq!(everything(found), expected);
}

#[test]
fn a_text_file_is_read_over_http() {
    let rows: String = (0..100).map(|i| format!("{i} |x {i} {} |y {}:1\n", i * i, i % 10)).collect();
    let file = folder("http-ctf").join("train.ctf");
    std::fs::write(&file, &rows).expect("the folder is ours");
    let url = serve(Files::from([("/data/train.ctf".to_owned(), rows.into_bytes())]));
    let of = |name: &str| tesson::read_ctf(name).dense("x", 2).sparse("y", 10).loader();
    check(of, &file, &format!("{url}/data/train.ctf"));
    let stores = Stores::local().with("http", Arc::new(HttpStore));
    let missing = shuffled(of(&format!("{url}/data/test.ctf")).store(&stores));
    let missing = missing.expect_err("there is none").to_string();
    assert!(
        missing.contains("/data/test.ctf") && missing.contains("the server has no such file"),
        "{missing}"
    );
}

#[test]
fn a_split_of_a_prepared_dataset_is_read_over_http() {
    let features = serde_json::json!({
        "type": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
        "content": {"square": {
            "type": "tensorflow_datasets.core.features.tensor_feature.Tensor",
            "content": {"shape": [], "dtype": "int64"},
        }},
    });
    let mut new = NewDataset::new("squares", Version([1, 0, 0]), features);
    new.splits = vec![NewSplit::new("train", Some(4))];
    let mut writer = DatasetWriter::open(folder("http-tfds"), new).expect("the folder is ours");
    (0..60).for_each(|n| writer.example("train", &[("square", Value::Ints(&[n * n]))]).expect("it is right"));
    let directory = writer.finish().expect("the folder is ours");
    let name = |(name, bytes)| (format!("/squares/1.0.0/{name}"), bytes);
    let url = serve(files_in(&directory).into_iter().map(name).collect());
    let of = |name: &str| tesson::read_tfds(name).split("train[:50]").dense("square").loader();
    check(of, &directory, &format!("{url}/squares/1.0.0"));
}

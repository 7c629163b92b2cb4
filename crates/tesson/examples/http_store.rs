//! A store that reads ranges of files over plain HTTP, and training data in it:
//! `cargo run --example http_store -- http://localhost:8000/train.ctf`.
//!
//! It has no folders and tries nothing again: a store is a whole one once it opens resources. `tests/http_store.rs` reads a text file
//! and a prepared dataset through it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use tesson::store::{Resource, Store, Stores};

/// Files of servers that answer requests for ranges.
pub struct HttpStore;

/// A file of a server.
struct HttpFile {
    host: String,
    path: String,
    size: u64,
}

impl Store for HttpStore {
    fn open(&self, url: &Path) -> io::Result<Box<dyn Resource>> {
        let url = url.to_str().and_then(|url| url.strip_prefix("http://"));
        let (host, path) = url.and_then(|url| url.split_once('/')).ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = HttpFile { host: host.into(), path: format!("/{path}"), size: 0 };
        let (head, _) = file.request("HEAD", "")?;
        let size = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        file.size = size.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Box::new(file))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(HttpStore)
    }
}

impl HttpFile {
    /// The head of the answer, and the bytes after it.
    fn request(&self, method: &str, range: &str) -> io::Result<(String, Vec<u8>)> {
        let mut server = TcpStream::connect(&self.host)?;
        write!(server, "{method} {} HTTP/1.0\r\nHost: {}\r\n{range}\r\n", self.path, self.host)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
        let body = answer.split_off(end + 4);
        let head = String::from_utf8_lossy(&answer).into_owned();
        match head.split(' ').nth(1) {
            Some("404") => Err(io::Error::new(io::ErrorKind::NotFound, "the server has no such file")),
            // A server that ignores the range would send other bytes than those that were asked for.
            Some("206") | Some("200") if head.contains(" 206 ") || range.is_empty() => Ok((head, body)),
            _ => Err(io::Error::other(format!(
                "the server answers {}",
                head.lines().next().unwrap_or("nothing")
            ))),
        }
    }
}

impl Resource for HttpFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let end = self.size.min(offset + into.len() as u64);
        if offset >= end {
            return Ok(0);
        }
        let (_, body) = self.request("GET", &format!("Range: bytes={offset}-{}\r\n", end - 1))?;
        let n = body.len().min(into.len());
        into[..n].copy_from_slice(&body[..n]);
        Ok(n)
    }
}

/// Prints how many examples the batches of a text file on a server have.
#[allow(dead_code, clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url =
        std::env::args().nth(1).ok_or("give the URL of a file in CNTK's text format, with a stream |x")?;
    let stores = Stores::local().with("http", Arc::new(HttpStore));
    let mut loader = tesson::read_ctf(url).dense("x", 1).loader().batch_size(256).store(&stores).open()?;
    for batch in loader.epoch() {
        println!("{} examples", batch?.len());
    }
    Ok(())
}

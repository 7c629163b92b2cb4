//! In place of the codecs: errors that say what is missing. The same types and functions as in `built.rs`.

use std::io;
use std::path::Path;

use tesson_core::{Fetch, PartFetch, ResourceId};

use super::{UnpackError, Wrapping};

fn without(codec: &str) -> String {
    format!("this build has no {codec}; build it with the feature `codecs`, which is on by default")
}

#[derive(Default)]
pub(crate) struct Decoders;

impl Decoders {
    pub(crate) fn zstd(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize, String> {
        Err(without("zstd"))
    }

    pub(crate) fn snappy(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize, String> {
        Err(without("snappy"))
    }

    pub(crate) fn brotli(&mut self, _: &[u8], _: u64, _: &mut Vec<u8>) -> Result<(), String> {
        Err(without("brotli"))
    }
}

pub(crate) struct ZstdEncoder;

impl ZstdEncoder {
    pub(crate) fn new() -> ZstdEncoder {
        ZstdEncoder
    }

    pub(crate) fn append(&mut self, _: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
        Err(io::Error::other(without("zstd")))
    }
}

pub(crate) struct Inflater(Vec<u8>);

impl Inflater {
    pub(crate) fn new(_: Wrapping) -> Inflater {
        Inflater(Vec::new())
    }

    pub(crate) fn out(&self) -> &Vec<u8> {
        &self.0
    }

    pub(crate) fn out_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    pub(crate) fn take(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        Err(io::Error::other(without("gzip or zlib")))
    }
}

pub(crate) struct Gunzip;

impl Gunzip {
    pub(crate) fn new(_: ResourceId, _: &dyn Fetch) -> Result<Gunzip, UnpackError> {
        Err(UnpackError::Damaged(0, without("gzip")))
    }

    pub(crate) fn memory(&self) -> usize {
        0
    }

    pub(crate) fn unpacked<'a>(&'a self, _: &'a Path, fetch: &'a dyn Fetch) -> PartFetch<'a> {
        PartFetch { fetch, first: 0 }
    }
}

pub(crate) struct Unzstd;

impl Unzstd {
    pub(crate) fn new(_: ResourceId, _: &dyn Fetch) -> Result<Unzstd, UnpackError> {
        Err(UnpackError::Damaged(0, without("zstd")))
    }

    pub(crate) fn memory(&self) -> usize {
        0
    }

    pub(crate) fn unpacked<'a>(&'a self, _: &'a Path, fetch: &'a dyn Fetch) -> PartFetch<'a> {
        PartFetch { fetch, first: 0 }
    }
}

pub(crate) fn begin_gunzip(_: ResourceId, _: &dyn Fetch, _: usize) -> Result<Vec<u8>, UnpackError> {
    Err(UnpackError::Damaged(0, without("gzip")))
}

pub(crate) fn begin_unzstd(_: ResourceId, _: &dyn Fetch, _: usize) -> Result<Vec<u8>, UnpackError> {
    Err(UnpackError::Damaged(0, without("zstd")))
}

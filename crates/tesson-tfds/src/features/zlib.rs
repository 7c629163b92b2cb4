//! zlib, with which encoded arrays are compressed (spec/tfds.md §6.3). A build without the feature `codecs` has none
//! and says so.

#[cfg(not(feature = "compression"))]
const ABSENT: &str = "this build has no zlib; build it with the feature `codecs`, which is on by default";

/// Decompresses `bytes` and appends at most `most` of the result. Returns the number of bytes appended, and the
/// number of bytes consumed.
#[cfg(feature = "compression")]
pub(super) fn decompress(bytes: &[u8], most: u64, out: &mut Vec<u8>) -> Result<(usize, usize), String> {
    use std::io::Read;

    let mut decoder = flate2::read::ZlibDecoder::new(bytes);
    let n = decoder.by_ref().take(most).read_to_end(out).map_err(|e| e.to_string())?;
    Ok((n, decoder.total_in() as usize))
}

#[cfg(not(feature = "compression"))]
pub(super) fn decompress(_: &[u8], _: u64, _: &mut Vec<u8>) -> Result<(usize, usize), String> {
    Err(ABSENT.to_owned())
}

/// The compressed bytes.
#[cfg(feature = "compression")]
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Write;

    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|e| e.to_string())
}

#[cfg(not(feature = "compression"))]
pub(super) fn compress(_: &[u8]) -> Result<Vec<u8>, String> {
    Err(ABSENT.to_owned())
}

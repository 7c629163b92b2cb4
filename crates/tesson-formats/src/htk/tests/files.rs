//! Headers of files.

use crate::htk::fault::HtkFault;
use crate::htk::header::{ByteOrder, Header, HeaderRules};

/// A header, in the order of the platforms that HTK was written on unless `little`.
fn header(samples: u32, period: u32, size: u16, kind: u16, little: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    if little {
        bytes.extend([samples.to_le_bytes(), period.to_le_bytes()].concat());
        bytes.extend([size.to_le_bytes(), kind.to_le_bytes()].concat());
    } else {
        bytes.extend([samples.to_be_bytes(), period.to_be_bytes()].concat());
        bytes.extend([size.to_be_bytes(), kind.to_be_bytes()].concat());
    }
    bytes
}

fn parse(bytes: &[u8], rules: HeaderRules) -> Result<Header, HtkFault> {
    let padded = [bytes, &[0; 16]].concat();
    Header::parse(&padded, 10_000, &rules)
}

fn any() -> HeaderRules {
    HeaderRules::new(None, 0)
}

#[test]
fn the_period_shows_the_byte_order_unless_the_rest_is_impossible() {
    for little in [false, true] {
        let found = parse(&header(20, 100_000, 52, 6, little), any()).unwrap();
        assert_eq!((found.frames, found.kind.values, found.encoding.is_big_endian()), (20, 13, !little));
        // A period that reads the same both ways is taken for little-endian; the rest tells.
        let found = parse(&header(20, 0, 52, 6, little), any()).unwrap();
        assert_eq!(found.encoding.is_big_endian(), !little);
    }
    let big = header(20, 100_000, 52, 6, false);
    let forced = parse(&big, HeaderRules::new(Some(ByteOrder::Little), 0));
    assert!(matches!(forced, Err(HtkFault::Kind { .. })), "{forced:?}");
    // Neither order is possible: the error is that of the likelier one.
    let quantized = parse(&header(20, 100_000, 52, 6 | 0o40000, false), any());
    assert_eq!(quantized, Err(HtkFault::Kind { found: "MFCC_V".into() }));
}

#[test]
fn kinds_are_features_or_allowed() {
    let kind = |kind: u16, allowed: u16| {
        parse(&header(20, 100_000, 52, kind, false), HeaderRules::new(None, allowed))
    };
    for base in [6, 7, 9, 11, 12] {
        assert!(kind(base | 0o400, 0).is_ok(), "{base}");
    }
    for (base, name) in [(0, "WAVEFORM"), (2, "LPREFC"), (8, "MELSPEC"), (10, "DISCRETE"), (13, "kind 13")] {
        assert_eq!(kind(base, 0), Err(HtkFault::Kind { found: name.into() }));
        if let Some(bit) = HeaderRules::kind_bit(name) {
            let found = kind(base, bit).unwrap();
            assert_eq!(found.encoding.has_halves(), [0, 10].contains(&base), "{name}");
        }
    }
    assert!(kind(9 | 0o40000, HeaderRules::kind_bit("vq").unwrap()).is_ok());
}

#[test]
fn the_identity_of_a_file_is_its_kind_size_and_period() {
    let kind = |kind, size, period| parse(&header(20, period, size, kind, false), any()).unwrap().kind;
    assert_eq!(kind(6, 52, 100_000), kind(6 | 0o10000, 52, 100_000), "check bytes");
    assert_eq!(kind(6, 52, 100_000), kind(6 | 0o2000, 26, 100_000), "compression");
    assert_eq!(kind(9 | 0o100, 52, 100_000), kind(12 | 0o100, 52, 100_000), "both are called USER");
    let others = [
        kind(6, 52, 100_000),
        kind(7, 52, 100_000),
        kind(6 | 0o400, 52, 100_000),
        kind(6, 56, 100_000),
        kind(6, 52, 50_000),
    ];
    for (i, one) in others.iter().enumerate() {
        assert!(others[i + 1..].iter().all(|other| other != one), "{one}");
    }
    assert_eq!(kind(6 | 0o500, 52, 100_000).to_string(), "MFCC_E_D, 13 values, period 100000");
}

#[test]
fn both_vectors_of_a_compressed_file_count_as_four_frames() {
    let found = parse(&header(24, 100_000, 26, 6 | 0o2000, false), any()).unwrap();
    assert_eq!((found.frames, found.kind.values, found.encoding.data(13)), (20, 13, 12 + 8 * 13));
    let long = parse(&header(24, 100_000, 52, 12, false), any()).unwrap();
    assert_eq!((long.frames, long.encoding.data(13)), (24, 28));
}

#[test]
fn impossible_sizes_are_refused() {
    let size = |size, kind| parse(&header(20, 100_000, size, kind, false), any());
    assert_eq!(size(0, 6), Err(HtkFault::SampleSize { found: 0, value: 4 }));
    assert_eq!(size(9, 6), Err(HtkFault::SampleSize { found: 9, value: 4 }));
    assert_eq!(size(9, 6 | 0o2000), Err(HtkFault::SampleSize { found: 9, value: 2 }));
    let bytes = header(20, 100_000, 52, 12, false);
    assert_eq!(Header::parse(&bytes, 12, &any()), Err(HtkFault::ShortFile { found: 12, expected: 28 }));
    for n in 0..12 {
        let short = Header::parse(&bytes[..n], n as u64, &any());
        assert_eq!(short, Err(HtkFault::ShortFile { found: n as u64, expected: 12 }));
    }
}

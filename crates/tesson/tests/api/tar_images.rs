//! Images in tar archives: samples, keys, classes, several archives, and what is wrong with them.

use std::io::Write as _;

use tesson::{BatchKeys, Error, Minibatch, SampleValues, Samples, Source};

use crate::kit::{self, columns, dense, ppm, read_all, store_of, stream_of};

/// An image of one pixel.
fn image(value: u8) -> Vec<u8> {
    ppm(1, value)
}

/// The mark of headers in GNU's form, and of those in POSIX's.
const GNU: &[u8; 8] = b"ustar  \0";
const POSIX: &[u8; 8] = b"ustar\x0000";

/// A header; what does not fit into it is cut off.
fn header(name: &str, kind: u8, size: usize, mark: &[u8; 8]) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(mark);
    sealed(header)
}

/// A header with its checksum.
fn sealed(mut header: [u8; 512]) -> [u8; 512] {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

/// Headers, each with the data that follow it, and the end of an archive.
fn blocks(members: &[([u8; 512], &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (header, data) in members {
        archive.extend_from_slice(header);
        archive.extend_from_slice(data);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend_from_slice(&[0; 1024]);
    archive
}

/// An archive of members, by name; a name that is too long for its header stands in front of it, as GNU's programs write it.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, data) in members {
        if name.len() > 100 {
            let long = format!("{name}\0");
            archive.extend(blocks(&[(header("././@LongLink", b'L', long.len(), GNU), long.as_bytes())]));
            archive.truncate(archive.len() - 1024);
        }
        let kind = if name.ends_with('/') { b'5' } else { b'0' };
        archive.extend(blocks(&[(header(name, kind, data.len(), GNU), data)]));
        archive.truncate(archive.len() - 1024);
    }
    archive.extend_from_slice(&[0; 1024]);
    archive
}

/// Attributes as POSIX writes them: each line begins with its length.
fn attributes(of: &[(&str, &str)]) -> Vec<u8> {
    let line = |(name, value): &(&str, &str)| {
        let rest = format!(" {name}={value}\n");
        let digits = (1..).find(|n| (rest.len() + n).to_string().len() == *n).expect("some number fits");
        format!("{}{rest}", rest.len() + digits)
    };
    of.iter().map(line).collect::<String>().into_bytes()
}

fn open(archives: &[(&str, Vec<u8>)], options: &str) -> Result<Source, Error> {
    open_as(archives, options, r#""randomize": false"#)
}

fn open_as(archives: &[(&str, Vec<u8>)], options: &str, reader: &str) -> Result<Source, Error> {
    let names: Vec<String> = archives.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let json = format!(
        r#"{{"deserializers": [{{"type": "TarImageDeserializer", "file": [{}], {options} "input": {{
            "x": {{"transforms": [], "dtype": "uint8"}}, "y": {{"labelDim": 5}}}}}}], {reader}, "maxSweeps": 1}}"#,
        names.join(", ")
    );
    kit::open(&store_of(archives.iter().map(|(name, bytes)| (name, bytes))), &json)
}

/// A key, the first value of an image, and its class.
type Sample = (String, u8, i32);

fn samples(minibatch: &Minibatch) -> Vec<Sample> {
    assert!(matches!(minibatch.keys(), BatchKeys::Texts(_)), "keys are texts");
    let x = stream_of(minibatch, "x");
    assert!(matches!(x.samples(), Samples::Dense { values: SampleValues::U8(_) }), "8 bits");
    let firsts = dense(minibatch, "x").into_iter().step_by(x.info().shape.len()).map(|value| value as u8);
    let classes = columns(minibatch, "y");
    kit::keys(minibatch)
        .into_iter()
        .zip(firsts)
        .zip(classes)
        .map(|((key, first), class)| (key, first, class))
        .collect()
}

/// All sequences in order.
fn all(archives: &[(&str, Vec<u8>)], options: &str) -> Result<Vec<Sample>, Error> {
    Ok(read_all(&mut open(archives, options)?, 2, samples)?.concat())
}

#[test]
fn members_of_one_name_are_a_sample() {
    let long = format!("{}/{}", "d".repeat(90), "e".repeat(60));
    let (long_image, long_class) = (format!("{long}.PNM"), format!("{long}.cls"));
    let [first, second, third] = [1, 2, 3].map(image);
    let archives = [
        (
            "0.tar",
            tar(&[
                ("cat/", b""),
                ("cat/7.json", b"{}"),
                ("cat/7.ppm", &first),
                ("cat/7.cls", b" 4\n"),
                ("notes", b"no picture"),
                ("8.cls", b"1"),
            ]),
        ),
        (
            "1.tar",
            tar(&[("cat/7.cls", b"0"), ("cat/7.ppm", &second), (&long_image, &third), (&long_class, b"2")]),
        ),
    ];
    let found = all(&archives, "").unwrap();
    assert_eq!(found, [("cat/7".into(), 1, 4), ("cat/7".into(), 2, 0), (long, 3, 2)]);
}

#[test]
fn extensions_say_what_is_an_image_and_what_a_class() {
    let [left, right] = [1, 2].map(image);
    let archive = tar(&[("a.left.ppm", &left), ("a.right.ppm", &right), ("a.txt", b"3")]);
    let options = r#""imageExtension": "right.PPM", "labelExtension": "txt","#;
    assert_eq!(all(&[("a.tar", archive)], options).unwrap(), [("a".into(), 2, 3)]);
}

#[test]
fn an_image_of_one_extension_comes_before_those_of_several() {
    let [plain, mask] = [1, 2].map(image);
    for members in [[("7.ppm", &plain), ("7.mask.png", &mask)], [("7.mask.png", &mask), ("7.ppm", &plain)]] {
        let [first, second] = members.map(|(name, data)| (name, &data[..]));
        let archive = tar(&[first, second, ("7.cls", b"1")]);
        assert_eq!(all(&[("a.tar", archive.clone())], "").unwrap(), [("7".into(), 1, 1)]);
        let of_mask = r#""imageExtension": "mask.png","#;
        assert_eq!(all(&[("a.tar", archive)], of_mask).unwrap(), [("7".into(), 2, 1)]);
    }
    let alone = tar(&[("7.mask.png", &mask), ("7.cls", b"1")]);
    assert_eq!(all(&[("a.tar", alone)], "").unwrap(), [("7".into(), 2, 1)]);
}

#[test]
fn attributes_give_names_and_sizes() {
    let (long, image) = ("d".repeat(300), image(3));
    assert_eq!(image.len(), 14);
    let of_image = attributes(&[("mtime", "1.5"), ("path", &format!("{long}.ppm")), ("size", "14")]);
    let of_class = attributes(&[("path", &format!("{long}.cls"))]);
    let archive = blocks(&[
        (header("global", b'g', 0, POSIX), b""),
        (header("attributes", b'x', of_image.len(), POSIX), &of_image),
        // The size of the header counts for nothing beside that of the attributes.
        (header("d.ppm", b'0', 3, POSIX), &image),
        (header("link", b'2', 0, POSIX), b""),
        (header("attributes", b'x', of_class.len(), POSIX), &of_class),
        (header("d.cls", b'0', 1, POSIX), b"0"),
    ]);
    assert_eq!(all(&[("a.tar", archive)], "").unwrap(), [(long, 3, 0)]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes everything")
}

/// Archives of enough images for several blocks, whose bytes hardly compress.
fn larger() -> [Vec<u8>; 2] {
    let mut word = 1u32;
    let noise = std::iter::repeat_with(|| {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (word >> 24) as u8
    });
    let noise: Vec<u8> = noise.take(3 * 60 * 50).collect();
    let of = |numbers: std::ops::Range<usize>| {
        let members: Vec<(String, Vec<u8>)> = numbers
            .flat_map(|i| {
                let image = [&b"P6 60 50 255\n"[..], &[i as u8], &noise[1..]].concat();
                [(format!("{i}.ppm"), image), (format!("{i}.cls"), (i % 5).to_string().into_bytes())]
            })
            .collect();
        tar(&members.iter().map(|(name, data)| (&name[..], &data[..])).collect::<Vec<_>>())
    };
    [of(0..100), of(100..150)]
}

#[test]
fn compressed_archives_are_read_as_those_they_unpack_to() {
    let plain = larger();
    let two_members = [gzip(&plain[0][..100_000]), gzip(&plain[0][100_000..])].concat();
    let packed = [two_members, gzip(&plain[1])];
    for order in [r#""randomize": false"#, r#""randomize": true"#, r#""randomize": "global""#] {
        let read = |archives: &[Vec<u8>; 2], more: &str| {
            let [first, second] = archives.clone();
            let mut source =
                open_as(&[("0.tar", first), ("1.tar", second)], "", &format!("{order}{more}")).unwrap();
            read_all(&mut source, 7, samples).unwrap().concat()
        };
        let expected = read(&plain, r#", "threads": 1"#);
        assert_eq!(expected.len(), 150);
        for more in [r#", "threads": 1"#, r#", "threads": 3"#, r#", "threads": 2, "memoryLimit": "4MiB""#] {
            assert_eq!(read(&packed, more), expected, "{order}{more}");
        }
    }
}

#[test]
fn a_state_of_a_compressed_archive_is_restored() {
    let [_, plain] = larger();
    let archives = [("0.tar.gz", gzip(&plain))];
    let mut source = open(&archives, "").unwrap();
    for _ in 0..10 {
        source.next_minibatch(3).unwrap();
    }
    let mut again = open(&archives, "").unwrap();
    again.restore(source.state()).unwrap();
    let next = |source: &mut Source| samples(&source.next_minibatch(3).unwrap().expect("pictures are left"));
    assert_eq!(next(&mut again), next(&mut source));
}

#[test]
fn damaged_compression_is_told_with_its_byte() {
    let whole = gzip(&tar(&[("a.ppm", &image(1)), ("a.cls", b"1")]));
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    for (archive, what) in [
        (whole[..whole.len() / 2].to_vec(), "the file ends within compressed data"),
        (whole[..whole.len() - 3].to_vec(), "the file ends within a gzip header or trailer"),
        (flipped, "its checksum is another one"),
        ([&whole[..], b"xyz"].concat(), "expected a gzip header"),
        ([&whole[..3], &whole[..2]].concat(), "the file ends within a gzip header or trailer"),
    ] {
        let error = all(&[("a.tar.gz", archive)], "").expect_err(what);
        assert_eq!(error.code(), "tar-image.bad-gzip", "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    let twice = gzip(&gzip(&tar(&[("a.ppm", &image(1))])));
    let error = all(&[("a.tar.gz", twice)], "").expect_err("it is compressed twice");
    assert_eq!(error.code(), "tar-image.compressed", "{error}");
}

/// A few kilobytes that unpack to a large image, and to a large archive without any.
#[test]
fn what_unpacks_to_much_takes_no_memory_beyond_the_limit() {
    let large = vec![b'7'; 40 << 20];
    let archive = gzip(&tar(&[("a.ppm", &large), ("a.cls", b"1")]));
    assert!(archive.len() < 1 << 20);
    let error = open_as(&[("a.tar.gz", archive)], "", r#""memoryLimit": "8MiB""#)
        .and_then(|mut source| source.next_minibatch(1).map(drop))
        .expect_err("the picture is larger than an eighth of the limit");
    assert_eq!(error.code(), "data.sequence-beyond-memory", "{error}");
}

#[test]
fn sparse_files_are_skipped_unless_they_are_an_image_or_a_class() {
    let image = image(4);
    // 14 bytes at 1,000 of 1,014.
    let sparse = |name: &str| {
        let mut header = header(name, b'S', 14, GNU);
        header[386..397].copy_from_slice(format!("{:011o}", 1000).as_bytes());
        header[398..409].copy_from_slice(format!("{:011o}", 14).as_bytes());
        header[483..494].copy_from_slice(format!("{:011o}", 1014).as_bytes());
        sealed(header)
    };
    let right = [(header("a.ppm", b'0', 14, GNU), &image[..]), (header("a.cls", b'0', 1, GNU), b"2")];
    let archive = blocks(&[(sparse("a.npy"), &image), right[0], right[1]]);
    assert_eq!(all(&[("a.tar", archive)], "").unwrap(), [("a".into(), 4, 2)]);
    let of_posix = attributes(&[("GNU.sparse.major", "1"), ("GNU.sparse.name", "a.ppm")]);
    for wrong in [
        blocks(&[(sparse("a.ppm"), &image), right[1]]),
        blocks(&[
            (header("attributes", b'x', of_posix.len(), POSIX), &of_posix),
            (header("GNUSparseFile.7/a", b'0', 14, POSIX), &image),
            right[1],
        ]),
    ] {
        let error = all(&[("a.tar", wrong)], "").unwrap_err();
        assert_eq!(error.code(), "tar-image.sparse", "{error}");
        assert!(error.to_string().contains("sequence a: `a.ppm` is stored as a sparse file"), "{error}");
    }
}

/// Headers that declare what cannot be are refused at their byte, whatever they declare.
#[test]
fn hostile_headers_are_refused() {
    let image = image(1);
    let with = |at: usize, bytes: &[u8]| {
        let mut header = header("a.ppm", b'0', 14, GNU);
        header[at..at + bytes.len()].copy_from_slice(bytes);
        sealed(header)
    };
    let large = attributes(&[("size", "18446744073709551615")]);
    let repeated = vec![b'x'; 2 << 20];
    for (archive, code, place) in [
        (blocks(&[(with(124, &[0; 12]), &image)]), "tar-image.bad-header", "a.tar (byte 0): "),
        (blocks(&[(with(124, &[0xFF; 12]), &image)]), "tar-image.bad-header", "a.tar (byte 0): "),
        (
            blocks(&[(with(124, &[0x80, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]), &image)]),
            "tar-image.truncated",
            "a.tar (byte 0): ",
        ),
        (
            blocks(&[
                (header("x", b'x', large.len(), POSIX), &large),
                (header("a.ppm", b'0', 1, POSIX), b""),
            ]),
            "tar-image.bad-header",
            "a.tar (byte 1024): ",
        ),
        // What describes a member is read as a whole.
        (
            blocks(&[(header("x", b'L', repeated.len(), GNU), &repeated), (with(0, b"a"), &image)]),
            "tar-image.bad-header",
            "a.tar (byte 0): ",
        ),
        (
            blocks(&[(header("x", b'L', 1 << 16, GNU), &repeated[..1 << 16]), (with(0, b"a"), &image)]),
            "tar-image.no-pictures",
            "a.tar (byte 0): ",
        ),
        (
            blocks(&[(header("x", b'L', 1 << 17, GNU), &repeated[..1 << 17]), (with(0, b"a"), &image)]),
            "tar-image.too-large",
            "a.tar (byte 131584): ",
        ),
        // A name that a header without a mark describes would be lost.
        (
            blocks(&[(header("x", b'L', 5, &[0; 8]), b"a.ppm"), (with(0, b"b"), &image)]),
            "tar-image.bad-header",
            "a.tar (byte 0): ",
        ),
        (
            blocks(&[(header("x", b'x', 9, POSIX), b"9 path=a\0"), (with(0, b"b"), &image)]),
            "tar-image.bad-header",
            "a.tar (byte 1024): ",
        ),
    ] {
        let error = all(&[("a.tar", archive)], "").expect_err(code);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().starts_with(place), "{error}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_byte_and_key() {
    let image = image(1);
    let cut = tar(&[("a.ppm", &image), ("a.cls", b"1"), ("b.ppm", &[7; 600])])[..2600].to_vec();
    let mut damaged = tar(&[("a.ppm", &image), ("a.cls", b"1"), ("b.ppm", &image)]);
    damaged[2048] = b'x';
    for (archive, code, place) in [
        (tar(&[("a.ppm", &image)]), "tar-image.no-label", "a.tar (byte 0): stream `y`, sequence a: "),
        (tar(&[("a.ppm", &image), ("a.cls", b"cat")]), "tar-image.bad-label", "a.tar (byte 0): stream `y`"),
        (
            tar(&[("a.ppm", &image), ("a.cls", b"5")]),
            "tar-image.label-out-of-range",
            "a.tar (byte 1024): stream `y`",
        ),
        (
            tar(&[("a.ppm", &image), ("a.png", b"")]),
            "tar-image.several-pictures",
            "a.tar (byte 1024): sequence a: ",
        ),
        (tar(&[("a.txt", b"")]), "tar-image.no-pictures", "a.tar (byte 0): no member"),
        (cut, "tar-image.truncated", "a.tar (byte 2048): "),
        (damaged, "tar-image.bad-header", "a.tar (byte 2048): "),
        (b"\x1f\x8b".iter().copied().chain([0; 600]).collect(), "tar-image.bad-gzip", "a.tar (byte "),
        (b"BZh".iter().copied().chain([0; 600]).collect(), "tar-image.compressed", "a.tar (byte 0): "),
        (vec![7; 300], "tar-image.bad-header", "a.tar (byte 0): "),
    ] {
        let error = all(&[("a.tar", archive)], "").expect_err(code);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().starts_with(place), "{error}");
    }
}

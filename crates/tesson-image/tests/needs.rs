//! The memory of decoding is known before it begins: the declared needs are compared with what is allocated.

#![cfg(all(feature = "codecs", feature = "tiff", feature = "webp"))]
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Cursor;

use tesson_image::decode::{self, Depth, ImageError, Scale, Want};
use tesson_image::imdecode::{self, Color, ImdecodeOptions, imdecode};

/// The system's allocator, with a count of the bytes that each thread holds.
struct Counting;

thread_local! {
    /// Bytes that are allocated, and the most there were.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends counts no more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: the system's allocator does what it promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result of a call, and the most bytes that it held. It runs in a new thread, which keeps nothing of other
/// calls.
fn measured<T: Send>(call: impl FnOnce() -> T + Send) -> (T, u64) {
    std::thread::scope(|scope| {
        let measure = || {
            let before = NOW.get();
            PEAK.set(before);
            let made = call();
            (made, (PEAK.get() - before) as u64)
        };
        scope.spawn(measure).join().expect("no panic")
    })
}

/// Memory that does not depend on the image: tables, and what the system's streams buffer.
const CONSTANT: u64 = 600 << 10;

const SIZE: (usize, usize) = (600, 400);

fn values(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 % 256) as u8).collect()
}

fn jpeg((width, height): (usize, usize), change: impl FnOnce(&mut mozjpeg::Compress)) -> Vec<u8> {
    let mut made = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
    made.set_fastest_defaults();
    made.set_size(width, height);
    change(&mut made);
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&values(width * height * 3)).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

fn png(color: png::ColorType, depth: png::BitDepth, (width, height): (usize, usize)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(values(768));
    }
    let bits = color.samples() * (depth as usize);
    let rows = values((width * bits).div_ceil(8) * height);
    encoder.write_header().expect("a header").write_image_data(&rows).expect("rows");
    file
}

fn tiff<C: tiff::encoder::colortype::ColorType>(
    (width, height): (usize, usize),
    values: &[C::Inner],
) -> Vec<u8>
where
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut file = Vec::new();
    let mut encoder = tiff::encoder::TiffEncoder::new(Cursor::new(&mut file)).expect("memory");
    encoder.write_image::<C>(width as u32, height as u32, values).expect("memory");
    file
}

fn gif((width, height): (usize, usize), n: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder =
        gif::Encoder::new(&mut file, width as u16, height as u16, &[1, 2, 3, 4, 5, 6]).expect("a size");
    for _ in 0..n {
        let frame = gif::Frame { width: width as u16, height: height as u16, ..gif::Frame::default() };
        encoder.write_frame(&gif::Frame { buffer: vec![1; width * height].into(), ..frame }).expect("memory");
    }
    drop(encoder);
    file
}

/// A bitmap of runs, all of one colour.
fn bmp((width, height): (usize, usize), pixels: &[u8]) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0".to_vec();
    file.extend([62_u32, 40, width as u32, height as u32].map(u32::to_le_bytes).concat());
    file.extend([1_u16, 8].map(u16::to_le_bytes).concat());
    file.extend([1_u32, 0, 0, 0, 2, 0, 0, 0].map(u32::to_le_bytes).concat());
    file.extend(pixels);
    file
}

/// A small file of each kind and form, with a name.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let (width, height) = SIZE;
    let all = width * height;
    let wide = || (0..all * 4).map(|i| i as u16).collect::<Vec<_>>();
    let turned = {
        let exif: &[u8] = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let upright = jpeg(SIZE, |_| {});
        [&upright[..2], &[0xff, 0xe1], &(exif.len() as u16 + 2).to_be_bytes(), exif, &upright[2..]].concat()
    };
    let ppm = [format!("P6 {width} {height} 255\n").as_bytes(), &values(all * 3)].concat();
    let pgm = [format!("P5 {width} {height} 65535\n").as_bytes(), &values(all * 2)].concat();
    let webp = |name: &str| {
        std::fs::read(format!("{}/tests/webp/{name}.webp", env!("CARGO_MANIFEST_DIR"))).expect("a file")
    };
    vec![
        ("jpeg", jpeg(SIZE, |_| {})),
        ("jpeg, colours in full", jpeg(SIZE, |made| made.set_chroma_sampling_pixel_sizes((1, 1), (1, 1)))),
        ("jpeg, progressive", jpeg(SIZE, |made| made.set_progressive_mode())),
        ("jpeg, gray", jpeg(SIZE, |made| made.set_color_space(mozjpeg::ColorSpace::JCS_GRAYSCALE))),
        ("jpeg, turned", turned),
        ("png", png(png::ColorType::Rgb, png::BitDepth::Eight, SIZE)),
        ("png, palette", png(png::ColorType::Indexed, png::BitDepth::Eight, SIZE)),
        ("png, one bit", png(png::ColorType::Grayscale, png::BitDepth::One, SIZE)),
        ("png, 16 bits", png(png::ColorType::Rgba, png::BitDepth::Sixteen, SIZE)),
        ("gif", gif(SIZE, 3)),
        ("bmp", bmp(SIZE, &[0, 1])),
        ("ppm", ppm),
        ("pgm, 16 bits", pgm),
        ("tiff", tiff::<tiff::encoder::colortype::RGB8>(SIZE, &values(all * 3))),
        ("tiff, 16 bits", tiff::<tiff::encoder::colortype::RGBA16>(SIZE, &wide())),
        ("webp", webp("lossy")),
        ("webp, alpha", webp("lossy-alpha")),
        ("webp, lossless", webp("lossless")),
        ("webp, lossless, alpha", webp("lossless-alpha")),
        ("webp, animated", webp("animated")),
        ("webp, animated, alpha", webp("animated-alpha")),
    ]
}

fn options(color: Color) -> ImdecodeOptions {
    let mut options = ImdecodeOptions::new(color);
    (options.accept_gif, options.apply_orientation) = (true, true);
    options
}

#[test]
fn no_file_takes_more_than_its_header_tells_nor_much_less() {
    for (name, file) in files() {
        for color in [Color::Bgr, Color::Gray] {
            let (needs, first) = measured(|| imdecode::needs(&file, &options(color)).expect(name));
            assert!(first < CONSTANT, "{name}, {color:?}: {first} bytes for the header");
            let mut out = Vec::new();
            let (size, bytes) = measured(|| imdecode(&file, &options(color), &mut out).expect(name));
            assert_eq!((size, out.len()), (needs.size, size.values()), "{name}");
            assert!(bytes <= needs.bytes + CONSTANT, "{name}, {color:?}: {bytes} of {}", needs.bytes);
            assert!(needs.bytes < bytes * 5 / 2, "{name}, {color:?}: {bytes} of {}", needs.bytes);
        }
    }
}

#[test]
fn tensorflow_s_pixels_take_no_more_than_headers_tell() {
    let kinds = ["jpeg", "png", "gif"];
    for (name, file) in
        files().into_iter().filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)))
    {
        let channels = if name == "jpeg, gray" { None } else { Some(3) };
        for depth in [Depth::Eight, Depth::Sixteen] {
            let want = Want { channels, depth, limit: 1 << 30 };
            let needs = decode::needs(&file, want, Scale::Whole).expect(name);
            let mut out = Vec::new();
            let (shape, bytes) = measured(|| decode::decode(&file, want, &mut out).expect(name));
            assert_eq!(shape, needs.shape, "{name}");
            assert!(bytes <= needs.bytes + CONSTANT, "{name}, {depth:?}: {bytes} of {}", needs.bytes);
            assert!(needs.bytes < bytes * 5 / 2, "{name}, {depth:?}: {bytes} of {}", needs.bytes);
        }
    }
}

/// Files of at most 50 kB that declare 16,000 by 16,000 pixels, or about as many.
fn huge() -> Vec<(&'static str, Vec<u8>)> {
    const SIDE: usize = 16_000;
    let patched = |mut file: Vec<u8>, at: usize, sides: &[u8]| {
        file[at..at + sides.len()].copy_from_slice(sides);
        file.resize(50_000, 0);
        file
    };
    let jpeg = |progressive: bool| {
        let file = jpeg((16, 16), |made| {
            if progressive {
                made.set_progressive_mode();
            }
        });
        let frame = file.windows(3).position(|w| w[0] == 0xff && (0xc0..=0xc2).contains(&w[1]) && w[2] == 0);
        patched(file, frame.expect("a frame") + 5, &[0x3e, 0x80, 0x3e, 0x80])
    };
    let png = {
        let mut header = b"IHDR".to_vec();
        header.extend([SIDE as u32; 2].map(u32::to_be_bytes).concat());
        header.extend([8, 6, 0, 0, 0]);
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |contents: &[u8]| {
            file.extend((contents.len() as u32 - 4).to_be_bytes());
            file.extend(contents);
            file.extend(crc(contents).to_be_bytes());
        };
        chunk(&header);
        chunk(&[&b"IDAT\x78\x9c"[..], &[0; 49_000]].concat());
        file
    };
    let lossless = {
        let bits = (SIDE as u32 - 1) | (SIDE as u32 - 1) << 14;
        let contents =
            [&[0x2f][..], &bits.to_le_bytes(), &[0x88, 0x88, 0x08, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        riff(&[(b"VP8L", contents)])
    };
    let lossy = |side: usize| {
        let sides = [side as u16; 2].map(u16::to_le_bytes).concat();
        [&[0x10, 0, 0, 0x9d, 0x01, 0x2a][..], &sides, &[0; 40]].concat()
    };
    let canvas = |side: usize| {
        [&[0; 4][..], &[side as u32 - 1; 2].map(|n| n.to_le_bytes()[..3].to_vec()).concat()].concat()
    };
    let tiff = {
        let file = tiff::<tiff::encoder::colortype::RGBA8>((4, 4), &[9; 64]);
        tags(file, &[(256, SIDE as u32), (257, SIDE as u32), (278, SIDE as u32)])
    };
    vec![
        ("jpeg", jpeg(false)),
        ("jpeg, progressive", jpeg(true)),
        ("png", png),
        ("gif", patched(gif((4, 4), 1), 6, &[0x80, 0x3e, 0x80, 0x3e])),
        ("bmp", bmp((SIDE, SIDE), &[0, 1])),
        ("pgm", [format!("P4 {SIDE} 24\n").into_bytes(), vec![0; 49_000]].concat()),
        ("tiff", tiff),
        ("webp, lossless", lossless),
        ("webp, lossy", riff(&[(b"VP8 ", lossy(SIDE))])),
        ("webp, extended", riff(&[(b"VP8X", canvas(SIDE)), (b"VP8 ", lossy(SIDE))])),
    ]
}

fn riff(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WEBP".to_vec();
    for (name, contents) in chunks {
        file.extend(*name);
        file.extend((contents.len() as u32).to_le_bytes());
        file.extend(contents);
        file.resize(file.len().next_multiple_of(2), 0);
    }
    let size = (file.len() as u32 - 8).to_le_bytes();
    file[4..8].copy_from_slice(&size);
    file
}

/// A file of the encoder with other values of these tags, filled up to 50 kB.
fn tags(mut file: Vec<u8>, values: &[(u16, u32)]) -> Vec<u8> {
    let directory = u32::from_le_bytes(file[4..8].try_into().expect("four bytes")) as usize;
    let n = usize::from(u16::from_le_bytes([file[directory], file[directory + 1]]));
    for entry in (0..n).map(|i| directory + 2 + 12 * i) {
        let tag = u16::from_le_bytes([file[entry], file[entry + 1]]);
        if let Some((_, value)) = values.iter().find(|(of, _)| *of == tag) {
            file[entry + 2..entry + 4].copy_from_slice(&4_u16.to_le_bytes());
            file[entry + 8..entry + 12].copy_from_slice(&value.to_le_bytes());
        }
    }
    file.resize(50_000, 0);
    file
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn nothing_is_allocated_for_what_a_header_declares_before_it_is_known() {
    for (name, file) in huge() {
        let (needs, bytes) = measured(|| imdecode::needs(&file, &options(Color::Bgr)));
        assert!(bytes < CONSTANT, "{name}: {bytes} bytes for the header");
        let needs = needs.unwrap_or_else(|e| panic!("{name}: {e}"));
        let pixels = (needs.size.width * needs.size.height) as u64;
        assert!(needs.bytes >= 3 * pixels && pixels >= 16_000 * 24, "{name}: {needs:?}");
    }
}

#[test]
fn headers_within_files_declare_no_more_than_the_outer_one() {
    let sides = |side: u16| {
        [&[0x10, 0, 0, 0x9d, 0x01, 0x2a][..], &[side; 2].map(u16::to_le_bytes).concat(), &[0; 40]].concat()
    };
    let canvas = |flags: u8| vec![flags, 0, 0, 0, 9, 0, 0, 9, 0, 0];
    let frame = |inner: Vec<u8>| {
        let chunk = riff(&[(b"VP8 ", inner)]).split_off(12);
        [&[0; 6][..], &[9, 0, 0, 9, 0, 0, 0, 0, 0, 0], &chunk].concat()
    };
    let animation = |inner| riff(&[(b"VP8X", canvas(2)), (b"ANIM", vec![0; 6]), (b"ANMF", frame(inner))]);
    for file in [riff(&[(b"VP8X", canvas(0)), (b"VP8 ", sides(16_000))]), animation(sides(16_000))] {
        let (error, bytes) = measured(|| imdecode(&file, &options(Color::Bgr), &mut Vec::new()).unwrap_err());
        assert!(
            bytes < CONSTANT && error.to_string().contains("a frame of 16000 by 16000"),
            "{error}, {bytes}"
        );
    }
    assert!(imdecode::needs(&animation(sides(10)), &options(Color::Bgr)).is_ok());
    // Fields of a directory that are larger than the file, and tiles that are far larger than the image.
    let small = tiff::<tiff::encoder::colortype::RGBA8>((4, 4), &[9; 64]);
    let directory = u32::from_le_bytes(small[4..8].try_into().expect("four bytes")) as usize;
    let mut many = small.clone();
    many[directory + 2 + 4..directory + 2 + 8].copy_from_slice(&8_000_000_u32.to_le_bytes());
    let (error, bytes) = measured(|| imdecode(&many, &options(Color::Bgr), &mut Vec::new()).unwrap_err());
    assert!(bytes < CONSTANT && error.to_string().contains("8000000 values"), "{error}, {bytes}");
}

#[test]
fn an_image_without_pixels_is_refused_whatever_its_other_side() {
    for file in [&b"P6 4294967295 0 255\n"[..], b"P1 0 4000000000\n"] {
        let (error, bytes) = measured(|| imdecode(file, &options(Color::Bgr), &mut Vec::new()).unwrap_err());
        assert!(matches!(error, ImageError::NoPixels { .. }) && bytes < CONSTANT, "{error}, {bytes}");
    }
}

#[test]
fn a_profile_is_not_inflated() {
    let mut info = png::Info::with_size(2, 2);
    info.icc_profile = Some(vec![0; 40 << 20].into());
    let mut file = Vec::new();
    let encoder = png::Encoder::with_info(&mut file, info).expect("a header");
    encoder.write_header().expect("memory").write_image_data(&[1, 2, 3, 4]).expect("rows");
    let mut pixels = Vec::new();
    let (size, bytes) = measured(|| imdecode(&file, &options(Color::Gray), &mut pixels).expect("a picture"));
    assert_eq!((size.width, size.height, &pixels[..]), (2, 2, &[1, 2, 3, 4][..]));
    assert!(bytes < CONSTANT, "{bytes}");
}

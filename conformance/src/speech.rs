//! Features of speech as a corpus: archives in several forms, labels, matrices of Kaldi's, and recordings.

use std::fmt::Write as _;

/// Utterances in an archive.
const IN_ARCHIVE: usize = 12;

/// The list of the corpus.
pub const LIST: &str = "features.scp";

/// The storage of an archive's values.
#[derive(Clone, Copy)]
enum Form {
    Big,
    Little,
    /// 16-bit numbers with their scale.
    Compressed,
}

/// An archive of frames of two values.
fn archive(frames: &[[f32; 2]], form: Form) -> Vec<u8> {
    let is_little = matches!(form, Form::Little);
    let mut bytes = Vec::new();
    let mut put = |big: &[u8]| if is_little { bytes.extend(big.iter().rev()) } else { bytes.extend(big) };
    let (count, size, kind) = match form {
        Form::Compressed => (frames.len() as u32 + 4, 4u16, 9u16 | 0o2000),
        _ => (frames.len() as u32, 8, 9),
    };
    put(&count.to_be_bytes());
    put(&100_000u32.to_be_bytes());
    put(&size.to_be_bytes());
    put(&kind.to_be_bytes());
    if let Form::Compressed = form {
        [0.5f32, 2.0, 3.0, 0.0].iter().for_each(|x| put(&x.to_be_bytes()));
        frames.iter().flatten().for_each(|x| put(&(*x as i16).to_be_bytes()));
    } else {
        frames.iter().flatten().for_each(|x| put(&x.to_be_bytes()));
    }
    bytes
}

/// The corpus of these lengths as archives of each form, [`LIST`] that lists them, and `reversed.scp` that lists them from the
/// last to the first, with one more. Utterance `i` has the key `3 · i`.
pub(crate) fn files(lengths: &[u32]) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for (number, lengths) in lengths.chunks(IN_ARCHIVE).enumerate() {
        let (mut frames, name) = (Vec::new(), format!("{number}.htk"));
        for (i, &length) in (IN_ARCHIVE * number..).zip(lengths) {
            lines.push(format!(
                "{}={name}[{},{}]\n",
                3 * i,
                frames.len(),
                frames.len() + length as usize - 1
            ));
            frames.extend((0..length).map(|t| [(100 * i) as f32 + t as f32, -(t as f32)]));
        }
        files.push((name, archive(&frames, [Form::Big, Form::Compressed, Form::Little][number % 3])));
    }
    files.push((LIST.into(), lines.concat().into_bytes()));
    let others = lines.iter().rev().cloned().chain(["1=0.htk[0,0]\n".to_owned()]);
    files.push(("reversed.scp".into(), others.collect::<String>().into_bytes()));
    files.push(("labels.mlf".into(), labels(lengths, 3)));
    files.push(("labels.bin".into(), binary_labels(lengths, 3)));
    files.extend(matrices(lengths));
    files.extend(recordings(lengths));
    files
}

/// WAV files of 8 kHz with so many frames, of 200 samples every 80, and the list of them.
fn recordings(lengths: &[u32]) -> Vec<(String, Vec<u8>)> {
    let mut list = String::new();
    let mut files: Vec<_> = (0u32..)
        .zip(lengths)
        .map(|(i, frames)| {
            writeln!(list, "{} {i}.wav", 3 * i).expect("strings take everything");
            (format!("{i}.wav"), wav((0..120 + 80 * frames).map(|t| (i * 131 + t * (7 + i)) as i16)))
        })
        .collect();
    files.push(("recordings.scp".into(), list.into_bytes()));
    files
}

/// A WAV file of one channel, 16 bits and 8 kHz.
fn wav(samples: impl ExactSizeIterator<Item = i16>) -> Vec<u8> {
    let size = 2 * samples.len() as u32;
    let mut file = [&b"RIFF"[..], &(36 + size).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
    [1u16, 1].iter().for_each(|x| file.extend(x.to_le_bytes()));
    [8000u32, 16000].iter().for_each(|x| file.extend(x.to_le_bytes()));
    [2u16, 16].iter().for_each(|x| file.extend(x.to_le_bytes()));
    file.extend([&b"data"[..], &size.to_le_bytes()].concat());
    file.extend(samples.flat_map(i16::to_le_bytes));
    file
}

/// Archives of Kaldi's with the corpus, in turns of 32-bit numbers, compressed numbers and text, and a script file of them.
/// Utterance `i` has the key `3 · i`.
pub fn matrices(lengths: &[u32]) -> [(String, Vec<u8>); 3] {
    let mut archives = [Vec::new(), Vec::new()];
    let mut lines = [String::new(), String::new()];
    for (i, &length) in lengths.iter().enumerate() {
        let number = 2 * i / lengths.len();
        let (archive, lines) = (&mut archives[number], &mut lines[number]);
        archive.extend(format!("{} ", 3 * i).into_bytes());
        writeln!(lines, "{} {}.ark:{}", 3 * i, number + 1, archive.len()).expect("strings take everything");
        let sizes = [(length as i32).to_le_bytes(), 2i32.to_le_bytes()];
        let value = |k: u32| (97 * i as u32 + 5 * k) % 256;
        match i % 3 {
            0 => {
                archive.extend([b"\0BFM \x04", &sizes[0][..], b"\x04", &sizes[1]].concat());
                (0..2 * length).for_each(|k| archive.extend((value(k) as f32).to_le_bytes()));
            }
            1 => {
                archive.extend([b"\0BCM3 ", &(-1f32).to_le_bytes()[..], &2f32.to_le_bytes()].concat());
                archive.extend(sizes.concat());
                archive.extend((0..2 * length).map(|k| value(k) as u8));
            }
            _ => {
                let rows: Vec<String> =
                    (0..length).map(|t| format!("  {} -{}", value(2 * t), value(2 * t + 1))).collect();
                archive.extend(format!("[\n{} ]\n", rows.join("\n")).into_bytes());
            }
        }
    }
    let [first, second] = archives;
    let script = [lines[1].as_str(), &lines[0]].concat().into_bytes();
    [("1.ark".into(), first), ("2.ark".into(), second), ("matrices.scp".into(), script)]
}

/// The runs of the labels of an utterance: a class and its frames.
fn runs(i: usize, length: u32) -> Vec<(u16, u32)> {
    let class = (i % 10) as u16;
    if length == 1 { vec![(class, 1)] } else { vec![(class, 1), (9 - class, length - 1)] }
}

/// A master label file of the corpus; the key of utterance `i` is `step · i`.
pub fn labels(lengths: &[u32], step: usize) -> Vec<u8> {
    let mut text = "#!MLF!#\n".to_owned();
    for (i, &length) in lengths.iter().enumerate() {
        writeln!(text, "\"*/{}.lab\"", step * i).expect("strings take everything");
        let mut start = 0;
        for (class, frames) in runs(i, length) {
            let end = start + frames;
            writeln!(text, "{start}00000 {end}00000 s {class}").expect("strings take everything");
            start = end;
        }
        text.push_str(".\n");
    }
    text.into_bytes()
}

/// Labels in CNTK's binary form.
pub fn binary_labels(lengths: &[u32], step: usize) -> Vec<u8> {
    let mut bytes = b"MLF\x02\0".to_vec();
    for (i, &length) in lengths.iter().enumerate() {
        let (key, runs) = ((step * i).to_string(), runs(i, length));
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend((runs.len() as u16).to_le_bytes());
        for (class, frames) in runs {
            bytes.extend(class.to_le_bytes());
            bytes.extend((frames as u16).to_le_bytes());
        }
    }
    bytes
}

/// One archive of the whole corpus, and the list of it.
pub fn one_archive(lengths: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let (mut frames, mut list) = (Vec::new(), String::new());
    for (i, &length) in lengths.iter().enumerate() {
        writeln!(list, "{i}=all.htk[{},{}]", frames.len(), frames.len() + length as usize - 1)
            .expect("strings take everything");
        frames.extend((0..length).map(|t| [(100 * i) as f32 + t as f32, -(t as f32)]));
    }
    (archive(&frames, Form::Big), list.into_bytes())
}

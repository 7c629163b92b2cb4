//! Corpora by generator: the same kind and size give the same bytes.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A kind of corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 784 floats of about 7 characters a line, and a label.
    Dense,
    /// 784 small integers a line, four fifths of them 0, and a label.
    Mnist,
    /// Two bags of words a line, 4 to 16 and 2 to 10 of 95,589 words.
    Sparse,
    /// Sentences of 4 to 40 words, one a line, 50,000 words and 45 tags.
    Seq,
}

impl Kind {
    pub(crate) fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "dense" => Kind::Dense,
            "mnist" => Kind::Mnist,
            "sparse" => Kind::Sparse,
            "seq" => Kind::Seq,
            _ => return None,
        })
    }

    /// The `input` section that reads it.
    pub(crate) fn input(self) -> serde_json::Value {
        let sparse = |dim: u32| serde_json::json!({"dim": dim, "format": "sparse"});
        match self {
            Kind::Dense | Kind::Mnist => {
                serde_json::json!({"features": {"dim": 784, "format": "dense"}, "labels": sparse(10)})
            }
            Kind::Sparse => serde_json::json!({"src": sparse(95589), "tgt": sparse(95589)}),
            Kind::Seq => serde_json::json!({"word": sparse(50000), "tag": sparse(45)}),
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A word number: frequent words have small numbers.
    fn word(&mut self, dim: u64) -> u64 {
        ((dim as f64 * self.unit().powi(3)) as u64).min(dim - 1)
    }
}

/// Writes a corpus of at least `megabytes` million bytes.
pub(crate) fn write(kind: Kind, megabytes: u64, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut random = Random(kind as u64 + 1);
    let (mut done, mut sequence) = (0, 0u64);
    let mut text = String::new();
    while done < megabytes * 1_000_000 {
        text.clear();
        match kind {
            Kind::Dense | Kind::Mnist => image(kind, &mut random, &mut text),
            Kind::Sparse => bags(&mut random, &mut text),
            Kind::Seq => sentence(sequence, &mut random, &mut text),
        }
        out.write_all(text.as_bytes())?;
        done += text.len() as u64;
        sequence += 1;
    }
    out.flush()
}

fn image(kind: Kind, random: &mut Random, text: &mut String) {
    use std::fmt::Write as _;
    let _ = write!(text, "|labels {}:1 |features", random.below(10));
    for _ in 0..784 {
        let _ = match kind {
            Kind::Mnist if random.below(5) > 0 => write!(text, " 0"),
            Kind::Mnist => write!(text, " {}", 1 + random.below(255)),
            _ => write!(text, " {:.5}", (random.unit() - 0.5) * 4.0),
        };
    }
    text.push('\n');
}

fn bags(random: &mut Random, text: &mut String) {
    use std::fmt::Write as _;
    for (name, least, spread) in [("src", 4, 13), ("tgt", 2, 9)] {
        let mut words: Vec<u64> = (0..least + random.below(spread)).map(|_| random.word(95589)).collect();
        words.sort_unstable();
        words.dedup();
        let _ = write!(text, "|{name}");
        for word in words {
            let count = if random.below(10) > 0 { 1 } else { 2 + random.below(3) };
            let _ = write!(text, " {word}:{count}");
        }
        text.push(if name == "src" { ' ' } else { '\n' });
    }
}

fn sentence(number: u64, random: &mut Random, text: &mut String) {
    use std::fmt::Write as _;
    for _ in 0..4 + random.below(37) {
        let _ = writeln!(text, "{number} |word {}:1 |tag {}:1", random.word(50000), random.below(45));
    }
}

//! Braces in names of files: `shard-{000..012}.tar` and `{train,test}.ctf` stand for several names, as in shells.

/// Names that a pattern may stand for.
const MOST_NAMES: usize = 100_000;

/// Bytes that a pattern may have, and braces within braces.
const LONGEST: usize = 4096;
const DEEPEST: usize = 16;

/// The names that a pattern stands for, the last braces varying first. Braces with neither `,` nor `..` are part of the name.
pub(crate) fn expanded(pattern: &str) -> Result<Vec<String>, String> {
    if !pattern.contains('{') {
        Ok(vec![pattern.to_owned()])
    } else if pattern.len() > LONGEST {
        Err(format!("expected at most {LONGEST} bytes, found {}", pattern.len()))
    } else {
        expanded_at(pattern, 0)
    }
}

fn expanded_at(pattern: &str, depth: usize) -> Result<Vec<String>, String> {
    if depth > DEEPEST {
        return Err(format!("expected at most {DEEPEST} braces within each other"));
    }
    let (mut names, mut rest) = (vec![String::new()], pattern);
    while let Some((before, from)) = rest.split_once('{') {
        let Some((parts, after)) = parts(from) else {
            // An unclosed brace is part of the name.
            append(&mut names, &[format!("{before}{{")])?;
            rest = from;
            continue;
        };
        let choices = match parts[..] {
            [one] => match range(one)? {
                Some(range) => range,
                None => expanded_at(one, depth + 1)?.iter().map(|name| format!("{{{name}}}")).collect(),
            },
            _ => {
                let mut choices = Vec::new();
                for part in parts {
                    choices.extend(expanded_at(part, depth + 1)?);
                    check_number(choices.len() as u64)?;
                }
                choices
            }
        };
        append(&mut names, &[before.to_owned()])?;
        append(&mut names, &choices)?;
        rest = after;
    }
    append(&mut names, &[rest.to_owned()])?;
    Ok(names)
}

/// Each name with each of the choices after it.
fn append(names: &mut Vec<String>, choices: &[String]) -> Result<(), String> {
    check_number((names.len() * choices.len()) as u64)?;
    *names =
        names.iter().flat_map(|name| choices.iter().map(move |choice| format!("{name}{choice}"))).collect();
    Ok(())
}

/// Splits at the commas up to the closing brace, and returns the parts and the rest after the brace. `None` where none
/// closes.
fn parts(from: &str) -> Option<(Vec<&str>, &str)> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in from.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&from[begin..at]);
                begin = at + 1;
            }
            b'}' => {
                parts.push(&from[begin..at]);
                return Some((parts, &from[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// The numbers of `000..012`, or of `0..12..2` with a step; all have as many digits as the longer end if one of them begins with 0.
fn range(text: &str) -> Result<Option<Vec<String>>, String> {
    let ends: Vec<&str> = text.split("..").collect();
    let is_number = |end: &&str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    if !matches!(ends.len(), 2 | 3) || !ends.iter().all(is_number) {
        return Ok(None);
    }
    let number = |end: &str| end.parse::<u64>().map_err(|_| format!("`{end}` is too large a number"));
    let (first, last) = (number(ends[0])?, number(ends[1])?);
    let step = ends.get(2).map_or(Ok(1), |end| number(end))?.max(1);
    let n = first.abs_diff(last) / step;
    check_number(n.saturating_add(1))?;
    let is_padded = ends[..2].iter().any(|end| end.len() > 1 && end.starts_with('0'));
    let width = if is_padded { ends[0].len().max(ends[1].len()) } else { 0 };
    let at = |i: u64| if first <= last { first + i * step } else { first - i * step };
    Ok(Some((0..=n).map(|i| format!("{:0width$}", at(i))).collect()))
}

fn check_number(n: u64) -> Result<(), String> {
    if n > MOST_NAMES as u64 { Err(format!("it stands for more than {MOST_NAMES} names")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_names_as_in_shells() {
        for (pattern, names) in [
            ("s-{000..002}.tar", "s-000.tar s-001.tar s-002.tar"),
            ("{8..11}", "8 9 10 11"),
            ("{08..11}", "08 09 10 11"),
            ("{8..011}", "008 009 010 011"),
            ("{0..1}", "0 1"),
            ("{3..1}", "3 2 1"),
            ("{0..6..3}", "0 3 6"),
            ("{6..1..2}", "6 4 2"),
            ("{train,test}.ctf", "train.ctf test.ctf"),
            ("{a,b}{0..1}", "a0 a1 b0 b1"),
            ("{a,b{0..1},}x", "ax b0x b1x x"),
            ("{{0..1},7}", "0 1 7"),
            ("plain", "plain"),
            ("{plain}", "{plain}"),
            ("{a{0..1}}", "{a0} {a1}"),
            ("{a..c}", "{a..c}"),
            ("{1..2", "{1..2"),
            ("{{1..2}", "{1 {2"),
            ("1..2}", "1..2}"),
            ("{}", "{}"),
            ("é{ä,ö}", "éä éö"),
        ] {
            let expected: Vec<&str> = names.split(' ').collect();
            assert_eq!(
                expanded(pattern).as_deref(),
                Ok(&expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_stands_for_too_many_names_is_refused() {
        assert_eq!(expanded("{0..99999}").map(|names| names.len()), Ok(MOST_NAMES));
        for pattern in [
            "{0..100000}".to_owned(),
            "{0..18446744073709551615}".to_owned(),
            "{0..18446744073709551616}".to_owned(),
            "{0..999}{0..999}".to_owned(),
            "{0,1}".repeat(20),
            format!("{{{}}}", "{0..99999},".repeat(2)),
            format!("{}{}", "{0,".repeat(20), "}".repeat(20)),
            "{".repeat(5000),
        ] {
            assert!(expanded(&pattern).is_err(), "{pattern}");
        }
    }
}

//! Lines of script files.

use crate::htk::fault::HtkFault;
use crate::htk::scp::{LineRules, numeric_key};

type Parsed = Result<Option<(String, String, Option<(u32, u32)>)>, HtkFault>;

fn parsed(rules: &LineRules, line: &str) -> Parsed {
    let line = rules.parse(line.as_bytes())?;
    Ok(line.map(|line| (String::from_utf8_lossy(&line.key).into_owned(), line.path, line.range)))
}

fn plain() -> LineRules {
    LineRules::new("lists/train.scp", "", "")
}

fn listed(key: &str, path: &str, range: Option<(u32, u32)>) -> Parsed {
    Ok(Some((key.into(), path.into(), range)))
}

#[test]
fn a_line_is_a_key_a_path_and_a_range_of_frames() {
    for (line, key, path, range) in [
        ("x=a.htk[0,2]", "x", "a.htk", Some((0, 3))),
        ("x.mfc=a.htk[7,7]\r", "x", "a.htk", Some((7, 1))),
        ("d.e/q=a=b.htk[0,2]\rrest", "d", "a=b.htk", Some((0, 3))),
        ("x = a.htk [ +02 , 007 ]", "x ", " a.htk ", Some((2, 6))),
        ("*/a.b.c=/p/a[0,0]", "*/a.b", "/p/a", Some((0, 1))),
        (".q=a[1,2]", "", "a", Some((1, 2))),
        ("x=a.htk", "x", "a.htk", None),
        ("d/a.htk\r", "d/a", "d/a.htk", None),
        ("x=a.htk]", "x", "a.htk]", None),
        ("\u{feff}x=a[0,0]", "\u{feff}x", "a", Some((0, 1))),
    ] {
        assert_eq!(parsed(&plain(), line), listed(key, path, range), "{line:?}");
    }
    for blank in ["", "  ", "\t\r"] {
        assert_eq!(parsed(&plain(), blank), Ok(None), "{blank:?}");
    }
}

#[test]
fn three_dots_are_the_folder_of_the_list_and_a_prefix_replaces_them() {
    let rules = LineRules::new("lists/train.scp", "", "root");
    assert_eq!(parsed(&rules, "x=.../a[0,0]"), listed("x", "lists/a", Some((0, 1))));
    assert_eq!(parsed(&rules, ".../x=a[0,0]"), listed("lists/x", "root/a", Some((0, 1))));
    assert_eq!(parsed(&rules, "x=/a[0,0]"), listed("x", "/a", Some((0, 1))));
    assert_eq!(parsed(&LineRules::new("train.scp", "", ""), "x=.../a"), listed("x", "./a", None));
    assert_eq!(parsed(&LineRules::new("/train.scp", "", ""), "x=.../a"), listed("x", "/a", None));
    let rules = LineRules::new("lists/train.scp", "data\\set//", "root");
    assert_eq!(parsed(&rules, "x=a[0,0]"), listed("x", "root/data/set/a", Some((0, 1))));
    assert_eq!(parsed(&rules, "x=/a.../b[0,0]"), listed("x", "root/data/set//a.../b", Some((0, 1))));
    let rules = LineRules::new("train.scp", "/", "");
    assert_eq!(parsed(&rules, "x=a[0,0]"), listed("x", "a", Some((0, 1))), "a prefix of `/` alone is none");
}

#[test]
fn what_is_no_line_is_refused_with_what_was_found() {
    let bad = |found: &str| HtkFault::BadRange { found: found.into() };
    for (line, fault) in [
        ("a.htk[0,2]", HtkFault::NoName { found: "a.htk[0,2]".into() }),
        ("x=", HtkFault::NoFile { found: "x=".into() }),
        ("x=[0,2]", HtkFault::NoFile { found: "x=[0,2]".into() }),
        ("x=a[0,2", bad("[0,2")),
        ("x=a[2]", bad("[2]")),
        ("x=a[]", bad("[]")),
        ("x=a[x,2]", bad("[x,2]")),
        ("x=a[,2]", bad("[,2]")),
        ("x=a[0,]", bad("[0,]")),
        ("x=a[0x1,2]", bad("[0x1,2]")),
        ("x=a[-1,2]", bad("[-1,2]")),
        ("x=a[0,4294967296]", bad("[0,4294967296]")),
        ("x=a[0,4294967295]", bad("[0,4294967295]")),
        ("x=a[5.9,6,99]", bad("[5.9,6,99]")),
        ("x=a[5,3]", HtkFault::RangeBackward { first: 5, last: 3 }),
        ("x=a[0,2] ", HtkFault::TextAfterRange { found: " ".into() }),
    ] {
        assert_eq!(parsed(&plain(), line), Err(fault), "{line:?}");
    }
    let not_utf8 = plain().parse(b"x=\xff[0,2]");
    assert_eq!(not_utf8, Err(HtkFault::NotUtf8 { found: "\\xff".into() }));
}

#[test]
fn numeric_keys_are_all_digits() {
    let keys =
        ["7", "+007", "99999999999999999999", "7-a", "", "+", "-1"].map(|key| numeric_key(key.as_bytes()));
    assert_eq!(keys, [Some(7), Some(7), Some(u64::MAX), None, None, None, None]);
}

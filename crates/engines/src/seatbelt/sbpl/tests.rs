use super::*;
use proptest::prelude::*;
use std::os::unix::ffi::OsStrExt;

/// A reader of the language, written from its rules and not from the writer: one string, and what follows it.
pub(crate) fn read_string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\\' => value.push(match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                // Digits and `x` begin a number in some readers; the writer must not use them.
                '0'..='9' | 'x' | 'X' => return None,
                other => other,
            }),
            c => value.push(c),
        }
    }
}

/// What a pattern without its anchors and its tail stands for, if all of it is literal or a letter in two spellings.
fn read_pattern(pattern: &str) -> Option<String> {
    let mut value = String::new();
    let mut rest = pattern.strip_prefix('^')?.strip_suffix("(/.*)?$")?.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => value.push(rest.next()?),
            '[' => {
                value.push(rest.next()?);
                rest.next()?;
                (rest.next()? == ']').then_some(())?;
            }
            '(' => {
                let (lower, after) = rest.as_str().split_once('|')?;
                value.push_str(lower);
                rest = after.split_once(')')?.1.chars();
            }
            '^' | '$' | '.' | '|' | '?' | '*' | '+' | ')' | ']' | '{' | '}' => return None,
            c => value.push(c),
        }
    }
    Some(value)
}

proptest! {
    #[test]
    fn a_path_never_leaves_its_string(path in "/(\\PC|[\"\\\\()\n\t\r;# ]){0,40}", rest in "[)\"(a-z ]{0,5}") {
        let written = format!("{}{rest}", quoted(Path::new(&path)).unwrap());
        prop_assert_eq!(read_string(&written), Some((path, rest.as_str())));
    }

    #[test]
    fn a_name_never_leaves_its_pattern(
        directory in "/(\\PC|[\"\\\\()\n\\[\\].*+?^$|{}]){0,20}",
        name in "([a-zA-Z.]|\\PC|[\"\\\\()\n\\[\\]*+?^$|{}]){1,20}",
    ) {
        let written = any_case(Path::new(&directory), &name).unwrap();
        let written = written.strip_prefix("(regex ").unwrap();
        let (pattern, rest) = read_string(written).unwrap();
        prop_assert_eq!(rest, ")");
        let expected: String = name.chars().flat_map(|c| {
            let (lower, upper): (String, String) = (c.to_lowercase().collect(), c.to_uppercase().collect());
            if lower == upper { c.to_string() } else { lower }.chars().collect::<Vec<_>>()
        }).collect();
        prop_assert_eq!(read_pattern(&pattern), Some(format!("{directory}/{expected}")));
    }

    #[test]
    fn what_cannot_be_written_is_an_error(before in "[a-z]{0,5}", control in "[\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]") {
        let name = before + &control;
        let path = Path::new("/").join(&name);
        prop_assert!(quoted(&path).is_err());
        prop_assert!(any_case(Path::new("/x"), &name).is_err());
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error() {
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
    assert_eq!(quoted(path).unwrap_err().to_string(), "`/a\u{fffd}` has bytes that a profile cannot name");
}

#[test]
fn names_are_found_in_every_spelling() {
    assert_eq!(any_case(Path::new("/r(1)"), ".Git"), Ok(r#"(regex "^/r\\(1\\)/\\.[gG][iI][tT](/.*)?$")"#.to_owned()));
    assert_eq!(
        any_case_anywhere(Path::new("/r"), ".env"),
        Ok(r#"(regex "^/r/(.*/)?\\.[eE][nN][vV](/.*)?$")"#.to_owned())
    );
    assert_eq!(any_case(Path::new("/r"), "é"), Ok(r#"(regex "^/r/(é|É)(/.*)?$")"#.to_owned()));
}

use super::*;
use proptest::prelude::*;

fn said(path: &str) -> Result<String, Unspeakable> {
    option("read-only", OsStr::new(path)).map(|text| text.into_string().expect("text"))
}

#[test]
fn a_path_is_said_as_it_is() {
    for path in ["/a", "/a b/-c", "/a/(b)", "/a/b  c", "/a/caf\u{e9}", "/-rf", "/a=b:c@d#e+f"] {
        assert_eq!(said(path), Ok(format!("--read-only={path}")));
    }
}

#[test]
fn what_would_be_a_pattern_a_list_a_macro_or_a_line_is_refused() {
    for path in [
        "/a*",
        "/a?",
        "/[a]",
        "/a,b",
        "/a;b",
        "/a\"b",
        "/a'b",
        "/a\\b",
        "/a\nb",
        "/a\tb",
        "/${HOME}/a",
        "/~",
        "/a ",
        "a",
        "",
        "/a/../b",
        "/{a}",
        "/a\u{7f}",
    ] {
        assert!(said(path).is_err(), "{path:?}");
    }
}

proptest! {
    #[test]
    fn nothing_is_changed_on_the_way(bytes: Vec<u8>) {
        let mut path = b"/".to_vec();
        path.extend_from_slice(&bytes);
        if let Ok(text) = option("x", OsStr::from_bytes(&path)) {
            prop_assert_eq!(text.as_bytes().strip_prefix(b"--x="), Some(path.as_slice()));
        }
    }
}

use super::*;
use proptest::prelude::*;

/// Reads a literal as the other side does; see the specification of the text format.
fn read(literal: &str) -> Vec<u8> {
    let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("quotes");
    let mut bytes = inner.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        assert_ne!(byte, b'"', "the literal ends too early");
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next().expect("something is escaped") {
            plain @ (b'"' | b'\\') => out.push(plain),
            first => {
                let digits = [first, bytes.next().expect("a digit"), bytes.next().expect("a digit")];
                let text = std::str::from_utf8(&digits).expect("digits");
                out.push(u8::from_str_radix(text, 8).expect("octal digits"));
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn every_string_is_read_as_it_was(bytes: Vec<u8>) {
        let literal = Quoted(&bytes).to_string();
        prop_assert!(literal.is_ascii() && !literal.contains('\n'));
        prop_assert_eq!(read(&literal), bytes);
    }
}

#[test]
fn nothing_in_a_string_ends_it() {
    let mut text = Text::new();
    text.string("cwd", "a\"b\\c\nd} mount { dst: \"/x\" }\u{e9}\u{7f}9");
    let expected = "cwd: \"a\\\"b\\\\c\\012d} mount { dst: \\\"/x\\\" }\\303\\251\\1779\"\n";
    assert_eq!(text.finish(), expected);
}

//! Text of an attacker, made safe for a terminal and for eyes: nothing moves the cursor, changes colours, hides, or turns
//! the direction of writing round ("Trojan Source", CVE-2021-42574).

use std::fmt::Write;

/// A name on one line: also line breaks and tabs are shown as what they are.
pub fn visible_name(name: &[u8]) -> String {
    visible(name, |c| c == '\\')
}

/// A line of a file: tabs stay, everything else that is not plain text is shown as what it is.
pub fn visible_line(line: &[u8]) -> String {
    let mut text = String::new();
    for (index, part) in line.split(|byte| *byte == b'\t').enumerate() {
        if index > 0 {
            text.push('\t');
        }
        text.push_str(&visible(part, |_| false));
    }
    text
}

fn visible(bytes: &[u8], also: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' && also(c) {
                text.push_str("\\\\");
            } else if is_plain(c) {
                text.push(c);
            } else {
                text.extend(c.escape_default());
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Characters that take up space, stay in their place and look like something.
pub fn is_plain(c: char) -> bool {
    let unseen = matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !unseen
}

#[cfg(test)]
mod tests {
    use super::{visible_line, visible_name};
    use proptest::prelude::*;

    #[test]
    fn nothing_speaks_to_the_terminal() {
        assert_eq!(visible_name(b"a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(visible_name(b"back\\slash\t"), "back\\\\slash\\t");
        assert_eq!(visible_name(b"\xff\xc2"), "\\xff\\xc2");
        assert_eq!(visible_line("a\u{202e}b\tü\r".as_bytes()), "a\\u{202e}b\tü\\r");
        assert_eq!(visible_line("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(visible_line("\u{200b}\u{e0041}".as_bytes()), "\\u{200b}\\u{e0041}");
    }

    proptest! {
        #[test]
        fn two_names_are_never_shown_as_one(a in any::<Vec<u8>>(), b in any::<Vec<u8>>()) {
            prop_assert_eq!(a == b, visible_name(&a) == visible_name(&b));
        }

        #[test]
        fn no_control_character_comes_through(bytes in any::<Vec<u8>>()) {
            prop_assert!(!visible_name(&bytes).chars().any(char::is_control));
            prop_assert!(!visible_line(&bytes).chars().any(|c| c.is_control() && c != '\t'));
        }
    }
}

//! The many spellings of one name: HFS+ ignores some characters, NTFS trailing dots and spaces and what follows a colon, FAT
//! has short names, and both fold case (CVE-2014-9390, CVE-2019-1352).

/// The name as the least careful file system would read it.
pub(super) fn plain(component: &[u8]) -> String {
    let text = String::from_utf8_lossy(component);
    // By way of capital letters: some small ones share one, such as `s` and the long `s`.
    let seen = text.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_uppercase);
    let seen: String = seen.flat_map(char::to_lowercase).collect();
    let seen = seen.split(':').next().unwrap_or_default();
    let seen = seen.trim_end_matches(['.', ' ']);
    match seen {
        // The short names that Windows gives to `.git`, `.gitmodules` and `.gitattributes`.
        "git~1" | "git~2" => ".git".to_owned(),
        "gitmod~1" | "gi7eba~1" => ".gitmodules".to_owned(),
        "gitatt~1" | "gi7d29~1" => ".gitattributes".to_owned(),
        // A name of dots and spaces alone is none of those looked for.
        _ => seen.to_owned(),
    }
}

/// Code points that HFS+ leaves out when it compares names.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

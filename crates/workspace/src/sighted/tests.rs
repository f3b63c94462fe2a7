use super::{Sighted, Sightings};
use crate::relative::Relative;
use std::fs;
use std::path::Path;

const THERE: Sighted = Sighted::There { directory: Some(7) };

fn path(text: &str) -> Relative {
    Relative::new(Path::new(text)).unwrap()
}

fn sightings(entries: &[(&str, Sighted)]) -> Sightings {
    Sightings(entries.iter().map(|(text, sighted)| (path(text), *sighted)).collect())
}

#[test]
fn in_what_was_not_there_nothing_was() {
    let seen = sightings(&[("new", Sighted::Nothing), ("maybe", Sighted::Unsure), ("old", THERE)]);
    for (text, expected) in [
        ("new", Some(Sighted::Nothing)),
        ("new/a/b", Some(Sighted::Nothing)),
        ("maybe", Some(Sighted::Unsure)),
        ("maybe/a", Some(Sighted::Nothing)),
        ("old", Some(THERE)),
        ("old/a", None),
        ("newer", None),
    ] {
        assert_eq!(seen.of(&path(text)), expected, "{text}");
    }
}

#[test]
fn a_note_is_read_as_it_was_written_and_half_a_note_says_nothing() {
    let place = std::env::temp_dir().join(format!("polder-sighted-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    assert_eq!(Sightings::read(&place).unwrap(), Some(Sightings::none()));
    let seen = sightings(&[("a", THERE), ("b/c", Sighted::Unsure), ("d", Sighted::Nothing)]);
    seen.write(&place).unwrap();
    assert_eq!(Sightings::read(&place).unwrap(), Some(seen));
    let text = fs::read_to_string(place.join(super::FILE)).unwrap();
    fs::write(place.join(super::FILE), &text[..text.len() / 2]).unwrap();
    assert_eq!(Sightings::read(&place).unwrap(), None);
    fs::remove_dir_all(place).unwrap();
}

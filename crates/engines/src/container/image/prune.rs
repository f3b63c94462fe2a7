//! Images of content that is gone: every change of a recipe or of a file makes another image, and nobody else removes them.

use super::super::api::{Client, Deadline, ImageName, ListedImage};
use super::tag::{hex, repository};
use super::told::Told;
use sha2::{Digest, Sha256};
use std::path::Path;

/// How many images of one sandbox stay: the one in use, and a few to go back to.
const KEPT: usize = 3;
/// Whose an image is. One label: a daemon was seen to find nothing by two.
const OWNER: &str = "polder.image-of";

/// The label of an image that is built for a sandbox of a repository: its name and its value.
pub(super) fn label(root: &Path, sandbox: Option<&str>) -> (String, String) {
    // A digest: the name can hold what a filter of a daemon would read as something else.
    let sandbox = hex(&Sha256::digest(sandbox.unwrap_or_default())[..8]);
    (OWNER.to_owned(), format!("{}-{sandbox}", repository(root)))
}

/// Takes their names from all but the newest images of a sandbox, and so removes them. One that a container uses stays.
pub(super) fn prune(client: &Client, root: &Path, sandbox: Option<&str>, current: &ImageName, told: &mut Told<'_>) {
    let (name, value) = label(root, sandbox);
    let listed = match client.list_images(&[format!("{name}={value}")], Deadline::quick()) {
        Ok(listed) => listed.into_iter().map(|image| dated(client, image)).collect(),
        Err(error) => return told.warn(format!("images of earlier builds could not be listed: {error}")),
    };
    for name in old(listed, &format!("localhost/polder/{}:", repository(root)), &current.to_string()) {
        match name.parse().map(|name| client.remove_image(&name, Deadline::quick())) {
            Ok(Err(error)) if !error.is_conflict() => {
                told.warn(format!("`{name}`, an image of an earlier build, could not be removed: {error}"));
            }
            // Gone, in use, or a name that is none of ours.
            Ok(Ok(()) | Err(_)) | Err(_) => {}
        }
    }
}

/// An image with the moment in which it was made. A list has whole seconds only, and several small images are built in one.
fn dated(client: &Client, image: ListedImage) -> (Made, ListedImage) {
    let facts = image.id.parse().ok().and_then(|id| client.inspect_image(&id, Deadline::quick()).ok());
    // One that went meanwhile is as old as its second: nothing is removed that is not there.
    let fraction = facts.map_or_else(String::new, |facts| fraction(&facts.created));
    (Made { seconds: image.created_seconds, fraction }, image)
}

/// When an image was made; the later one is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    seconds: i64,
    /// The digits behind the point: they compare as they are, since a daemon leaves out zeros at the end only.
    fraction: String,
}

/// The digits of a time of RFC 3339 behind its point.
fn fraction(time: &str) -> String {
    let (_, behind) = time.split_once('.').unwrap_or_default();
    behind.chars().take_while(char::is_ascii_digit).collect()
}

/// The names that are given up. A label proves nothing, since any recipe can write one; a name below the repository's own
/// prefix is polder's.
fn old(mut listed: Vec<(Made, ListedImage)>, prefix: &str, current: &str) -> Vec<String> {
    listed.sort_by(|(a, _), (b, _)| b.cmp(a));
    let names = listed.into_iter().flat_map(|(_, image)| image.names);
    let own = names.filter(|name| name.starts_with(prefix) && name != current);
    own.skip(KEPT - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay_and_so_does_what_is_not_ours() {
        let image = |number: i64, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let made = Made { seconds: number, fraction: String::new() };
            (made, ListedImage { id: format!("sha256:{number}"), created_seconds: number, names })
        };
        let listed = vec![
            image(1, &["p/r:one", "people/image:1"]),
            image(5, &["p/r:five"]),
            image(2, &[]),
            image(3, &["p/r:three"]),
            image(9, &["p/rest:other"]),
            image(0, &["p/r:current"]),
            image(4, &["p/r:four"]),
        ];
        assert_eq!(old(listed, "p/r:", "p/r:current"), ["p/r:three", "p/r:one"]);
    }

    #[test]
    fn of_two_images_of_one_second_the_later_one_is_newer() {
        let made = |time| Made { seconds: 7, fraction: fraction(time) };
        let times = ["…:07Z", "…:07.0456Z", "…:07.3+02:00", "…:07.31Z", "…:07.9Z"].map(made);
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    }

    #[test]
    fn every_sandbox_has_a_label_of_its_own() {
        let of = |sandbox| label(Path::new("/work"), sandbox).1;
        assert_ne!(of(Some("a")), of(Some("b")));
        assert_eq!(of(Some("a")), of(Some("a")));
        assert!(of(Some("a=,b\n")).chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    }
}

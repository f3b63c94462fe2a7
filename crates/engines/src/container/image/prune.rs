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
    let old = match client.list_images(&[format!("{name}={value}")], Deadline::quick()) {
        Ok(listed) => old(listed, &format!("localhost/polder/{}:", repository(root)), &current.to_string()),
        Err(error) => return told.warn(format!("images of earlier builds could not be listed: {error}")),
    };
    for name in old {
        match name.parse().map(|name| client.remove_image(&name, Deadline::quick())) {
            Ok(Err(error)) if !error.is_conflict() => {
                told.warn(format!("`{name}`, an image of an earlier build, could not be removed: {error}"));
            }
            // Gone, in use, or a name that is none of ours.
            Ok(Ok(()) | Err(_)) | Err(_) => {}
        }
    }
}

/// The names that are given up. A label proves nothing, since any recipe can write one; a name below the repository's own
/// prefix is polder's.
fn old(mut listed: Vec<ListedImage>, prefix: &str, current: &str) -> Vec<String> {
    listed.sort_by(|a, b| (b.created_seconds, &b.id).cmp(&(a.created_seconds, &a.id)));
    let names = listed.into_iter().flat_map(|image| image.names);
    let own = names.filter(|name| name.starts_with(prefix) && name != current);
    own.skip(KEPT - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay_and_so_does_what_is_not_ours() {
        let image = |number: i64, names: &[&str]| ListedImage {
            id: format!("sha256:{number}"),
            created_seconds: number,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
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
    fn every_sandbox_has_a_label_of_its_own() {
        let of = |sandbox| label(Path::new("/work"), sandbox).1;
        assert_ne!(of(Some("a")), of(Some("b")));
        assert_eq!(of(Some("a")), of(Some("a")));
        assert!(of(Some("a=,b\n")).chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    }
}

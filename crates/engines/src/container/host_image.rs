//! An image of nothing, for containers that have the host's own programs.

use super::api::{ApiError, Bases, BuildNetwork, BuildOptions, Client, Deadline, ImageName};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Its name: one that no registry has.
pub(super) const NAME: &str = "localhost/polder-empty:1";

/// The recipe, which is a label and nothing else: an image must say something.
const RECIPE: &str = "FROM scratch\nLABEL polder.image=empty\n";

/// Makes the image if the daemon does not have it.
pub(super) fn make(client: &Client) -> Result<(), ApiError> {
    let name: ImageName = NAME.parse().expect("invariant: a literal name");
    match client.inspect_image(&name, Deadline::quick()) {
        Err(error) if error.is_absent() => {}
        Ok(_) => return Ok(()),
        Err(other) => return Err(other),
    }
    let options = BuildOptions {
        tag: name,
        recipe: "Dockerfile".to_owned(),
        network: BuildNetwork::None,
        bases: Bases::Missing,
        labels: BTreeMap::new(),
    };
    client.build_image(&options, &mut archive().as_slice(), Deadline::quick(), &mut |_| ControlFlow::Continue(()))
}

/// An archive with the recipe alone, in the form of ustar: see tar(5).
fn archive() -> Vec<u8> {
    let mut head = [0u8; 512];
    let mut put = |at: usize, text: &[u8]| head[at..at + text.len()].copy_from_slice(text);
    put(0, b"Dockerfile");
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", RECIPE.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = head.to_vec();
    archive.extend_from_slice(RECIPE.as_bytes());
    archive.resize(512 * 2, 0);
    // Two empty blocks are the end.
    archive.resize(512 * 4, 0);
    archive
}

//! Where an image has its home: what it sets with `ENV`, else what its own table of users says of the user that it names.
//!
//! Daemons look the user up when they start a container. Ours is somebody else, and its table of users is ours; so what the
//! image says is read before, from a container that is never started. Root's home is `/root` in every distribution, and
//! nothing is asked for it: few images name anybody else, and a question takes as long as a start.

use super::api::{Client, Deadline, ImageFacts, ObjectName};
use super::kind::Kind;
use super::life::{Turn, create, said};
use super::owner;
use polder_engine::LaunchError;
use serde_json::json;

const TABLE: &str = "/etc/passwd";
const ROOTS_HOME: &str = "/root";
/// How many symbolic links are followed to the table of users.
const LINKS_MAX: usize = 4;
/// A header of an archive, and where it says how much follows, what it is, and where a link leads.
const HEADER_BYTES: usize = 512;

/// The home of an image that sets none; nothing where it sets one, or names a user whom it does not know.
pub(super) fn home(client: &Client, kind: Kind, facts: &ImageFacts, uid: u32) -> Result<Option<String>, LaunchError> {
    if facts.env.iter().any(|entry| entry.starts_with("HOME=")) {
        return Ok(None);
    }
    let user = facts.user.split(':').next().unwrap_or_default();
    if matches!(user, "" | "root" | "0") {
        return Ok(Some(ROOTS_HOME.to_owned()));
    }
    let request = json!({
        "Image": facts.id,
        // Never started; one daemon wants to know all the same what would be.
        "Entrypoint": ["/"],
        "Cmd": [],
        "Labels": owner::labels(uid),
        "HostConfig": { "NetworkMode": "none" },
    });
    let turn = Turn::take(client, kind)?;
    let id = create(client, kind, &request)?;
    drop(turn);
    let table = table(client, &id);
    let removed = client.remove_container(&id, Deadline::quick());
    let table = table?;
    removed.map_err(|error| said("remove the container that was looked into", error))?;
    Ok(table.and_then(|table| home_of(&table, user)))
}

/// The image's table of users, if it has one.
fn table(client: &Client, id: &ObjectName) -> Result<Option<String>, LaunchError> {
    let mut path = TABLE.to_owned();
    for _ in 0..LINKS_MAX {
        let archive = match client.container_archive(id, &path, Deadline::quick()) {
            Ok(archive) => archive,
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(said(&format!("read `{TABLE}` of the image"), error)),
        };
        match first(&archive) {
            Some(Entry::File(content)) => return Ok(Some(String::from_utf8_lossy(content).into_owned())),
            Some(Entry::Link(to)) if to.starts_with('/') => path = to,
            Some(Entry::Link(to)) => path = format!("{}/{to}", path.rsplit_once('/').map_or("", |(above, _)| above)),
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// What an archive begins with.
#[derive(Debug, PartialEq, Eq)]
enum Entry<'a> {
    File(&'a [u8]),
    Link(String),
}

fn first(archive: &[u8]) -> Option<Entry<'_>> {
    let (header, rest) = archive.split_at_checked(HEADER_BYTES)?;
    let text = |range: std::ops::Range<usize>| {
        let field = header.get(range)?;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        std::str::from_utf8(field.get(..end)?).ok()
    };
    let size = usize::from_str_radix(text(124..136)?.trim(), 8).ok()?;
    match header.get(156)? {
        b'0' | 0 => rest.get(..size).map(Entry::File),
        b'2' => text(157..257).map(|to| Entry::Link(to.to_owned())),
        // A longer name, or anything else: nobody keeps a table of users so.
        _ => None,
    }
}

/// The home of a user, by name or by number.
fn home_of(table: &str, user: &str) -> Option<String> {
    let entries = table.lines().map(|line| line.split(':').collect::<Vec<_>>()).filter(|fields| fields.len() >= 7);
    let is_it = |fields: &Vec<&str>| fields[0] == user || (fields[2] == user && user.parse::<u32>().is_ok());
    entries.into_iter().find(is_it).map(|fields| fields[5].to_owned()).filter(|home| home.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let table = "root:x:0:0:root:/root:/bin/sh\nbroken:x\nnode:x:1000:1000::/home/node:/bin/sh\nodd:x:7:7::here:\n";
        assert_eq!(home_of(table, "node").as_deref(), Some("/home/node"));
        assert_eq!(home_of(table, "1000").as_deref(), Some("/home/node"));
        assert_eq!(home_of(table, "x"), None, "a password is no number");
        assert_eq!((home_of(table, "odd"), home_of(table, "12")), (None, None));
    }

    #[test]
    fn an_archive_holds_a_file_or_a_link_and_is_not_believed() {
        let mut archive = vec![0; HEADER_BYTES];
        archive[124..128].copy_from_slice(b"0005");
        archive[156] = b'0';
        assert_eq!(first(&archive), None, "less than it says");
        archive.extend_from_slice(b"hello and more");
        assert_eq!(first(&archive), Some(Entry::File(b"hello")));
        archive[156] = b'2';
        archive[157..163].copy_from_slice(b"../etc");
        assert_eq!(first(&archive), Some(Entry::Link("../etc".to_owned())));
        archive[124..128].copy_from_slice(b"9999");
        assert_eq!((first(&archive), first(b"short")), (None, None));
    }
}

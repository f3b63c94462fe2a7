//! The gitlinks of an index: paths at which git enters another repository by itself.
//!
//! The format is gitformat-index(5). Only modes and names are read, because an index can be large.
//! A part that cannot be read ends the list: git refuses such an index.

/// The mode of an entry that stands for a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// The same as git writes it into an index.
pub const GITLINK_MODE: [u8; 4] = GITLINK.to_be_bytes();
/// Ten fields of four bytes before the object id: times, device, inode, mode, ids and size.
const FIELDS_BYTES: usize = 40;
const MODE_AT: usize = 24;
const EXTENDED: u16 = 0x4000;
/// The lengths of object ids. An index does not say which it has, so it is read with each: a path
/// too many is looked at and not found.
const ID_BYTES: [usize; 2] = [20, 32];

/// The paths of all gitlinks.
pub fn gitlinks(index: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for id_bytes in ID_BYTES {
        let _ = read(index, id_bytes, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn read(index: &[u8], id_bytes: usize, found: &mut Vec<Vec<u8>>) -> Option<()> {
    let number = |at: usize| {
        let bytes = index.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let (mut at, mut name) = (12usize, Vec::new());
    for _ in 0..count {
        let is_gitlink = number(at + MODE_AT)? & 0o170_000 == GITLINK;
        let flags_at = at + FIELDS_BYTES + id_bytes;
        let flags = u16::from_be_bytes([*index.get(flags_at)?, *index.get(flags_at + 1)?]);
        let mut name_at = flags_at + if version >= 3 && flags & EXTENDED != 0 { 4 } else { 2 };
        if version == 4 {
            // The name shares its beginning with the one before.
            let (dropped, after) = varint(index, name_at)?;
            name.truncate(name.len().checked_sub(dropped)?);
            name_at = after;
        } else {
            name.clear();
        }
        let rest = index.get(name_at..)?;
        // `0xfff` stands for a name of that length or more.
        let length = match flags & 0x0fff {
            short if version < 4 && short < 0x0fff => usize::from(short),
            _ => rest.iter().position(|byte| *byte == 0)?,
        };
        if is_gitlink || version == 4 {
            name.extend(rest.get(..length)?);
        }
        if is_gitlink {
            found.push(name.clone());
        }
        let end = name_at + length;
        at = if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    Some(())
}

/// The offset encoding of packs: seven bits a byte, and one is added for each further byte.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::gitlinks;

    fn entry(mode: u32, name: &str) -> Vec<u8> {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.extend([0; 12 + 20]);
        entry.extend((name.len() as u16).to_be_bytes());
        entry.extend(name.as_bytes());
        entry.resize((entry.len() + 8) / 8 * 8, 0);
        entry
    }

    #[test]
    fn gitlinks_are_found_among_files_of_any_mode() {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x04".to_vec();
        let entries = [(0o100_644, "a"), (0, "odd"), (0o160_000, "lib/sub"), (0o160_000, "z")];
        index.extend(entries.into_iter().flat_map(|(mode, name)| entry(mode, name)));
        let found = gitlinks(&index);
        assert!(found.contains(&b"lib/sub".to_vec()) && found.contains(&b"z".to_vec()), "{found:?}");
        index.truncate(index.len() - 20);
        assert!(gitlinks(&index).contains(&b"lib/sub".to_vec()), "what can be read counts");
        assert_eq!(gitlinks(b"DIRC"), Vec::<Vec<u8>>::new());
    }
}

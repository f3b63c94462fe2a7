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
const NAME_LENGTH: u16 = 0x0fff;
/// The lengths of object ids. An index does not say which it has, so it is read with each: a path
/// too many is looked at and not found.
const ID_BYTES: [usize; 2] = [20, 32];

/// The paths of all gitlinks.
pub fn gitlinks(index: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for id_bytes in ID_BYTES {
        let mut take = |entry: IndexEntry<'_>| {
            if entry.mode & 0o170_000 == GITLINK {
                found.push(entry.name.to_vec());
            }
        };
        let _ = read(index, id_bytes, &mut take);
    }
    found.sort();
    found.dedup();
    found
}

/// One path of an index, without what `stat` said of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// Kind and permission.
    pub mode: u32,
    /// The object id.
    pub id: &'a [u8],
    /// Flags with the stage, and extended flags. The length of the name is not among them.
    pub flags: (u16, u16),
    /// The path.
    pub name: &'a [u8],
}

/// Calls `take` for every entry. Says whether all of the index is in it: an index that shares entries
/// with another file, or that cannot be read, is not.
pub fn index_entries(index: &[u8], id_bytes: usize, take: &mut dyn FnMut(IndexEntry<'_>)) -> bool {
    let Some(end) = read(index, id_bytes, take) else { return false };
    // What follows is extensions of a name and a length each, and a checksum.
    let mut at = end;
    while at + id_bytes + 8 <= index.len() {
        if &index[at..at + 4] == b"link" {
            return false;
        }
        let length = u32::from_be_bytes([index[at + 4], index[at + 5], index[at + 6], index[at + 7]]);
        at = at.saturating_add(8).saturating_add(length as usize);
    }
    at + id_bytes == index.len()
}

/// Reads entries and gives the place behind the last one.
fn read(index: &[u8], id_bytes: usize, take: &mut dyn FnMut(IndexEntry<'_>)) -> Option<usize> {
    let number = |at: usize| {
        let bytes = index.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let short = |at: usize| Some(u16::from_be_bytes([*index.get(at)?, *index.get(at.checked_add(1)?)?]));
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let (mut at, mut name) = (12usize, Vec::new());
    for _ in 0..count {
        let mode = number(at + MODE_AT)?;
        let id_at = at + FIELDS_BYTES;
        let flags_at = id_at + id_bytes;
        let flags = short(flags_at)?;
        let is_extended = version >= 3 && flags & EXTENDED != 0;
        let extended = if is_extended { short(flags_at + 2)? } else { 0 };
        let mut name_at = flags_at + if is_extended { 4 } else { 2 };
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
        let length = match flags & NAME_LENGTH {
            short if version < 4 && short < NAME_LENGTH => usize::from(short),
            _ => rest.iter().position(|byte| *byte == 0)?,
        };
        name.extend(rest.get(..length)?);
        let id = index.get(id_at..flags_at)?;
        take(IndexEntry { mode, id, flags: (flags & !NAME_LENGTH, extended), name: &name });
        let end = name_at + length;
        at = if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    Some(at)
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
    use super::{gitlinks, index_entries};

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
    #[test]
    fn entries_are_whole_unless_they_are_shared() {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x02".to_vec();
        index.extend(entry(0o100_644, "a"));
        index.extend(entry(0o100_755, "b/c"));
        let count = |index: &[u8]| {
            let mut seen = Vec::new();
            let whole = index_entries(index, 20, &mut |entry| seen.push((entry.mode, entry.name.to_vec())));
            (whole, seen.len())
        };
        let with = |more: &[u8]| [&index[..], more, &[0; 20]].concat();
        assert_eq!(count(&with(b"")), (true, 2));
        assert_eq!(count(&with(b"TREE\0\0\0\x02xx")), (true, 2));
        assert_eq!(count(&with(b"link\0\0\0\x02xx")), (false, 2));
        assert!(!count(&index).0 && !count(b"DIRC").0);
    }
}

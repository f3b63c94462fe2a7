//! The gitlinks of an index: paths at which git enters another repository by itself.
//!
//! The format is gitformat-index(5). Only modes and names are read, because an index can be large.
//! A part that cannot be read ends the list: git refuses such an index.

use std::io::{self, BufRead};

/// The mode of an entry that stands for a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// Ten fields of four bytes before the object id: times, device, inode, mode, ids and size.
const FIELDS_BYTES: usize = 40;
const MODE_AT: usize = 24;
const EXTENDED: u16 = 0x4000;
/// The lengths of object ids. An index does not say which it has, so it is read with each: a path
/// too many is looked at and not found.
pub const ID_BYTES: [usize; 2] = [20, 32];
const ID_BYTES_MAX: usize = 32;

/// The paths of all gitlinks, for object ids of one length.
pub fn gitlinks(index: impl BufRead, id_bytes: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    // The list ends where the index does, or where it cannot be read.
    let _ = read(index, id_bytes.min(ID_BYTES_MAX), &mut found);
    found
}

fn read(mut index: impl BufRead, id_bytes: usize, found: &mut Vec<Vec<u8>>) -> io::Result<()> {
    let mut head = [0; 12];
    index.read_exact(&mut head)?;
    if head[..4] != *b"DIRC" {
        return Ok(());
    }
    let (version, count) = (number(&head, 4), number(&head, 8));
    let (mut name, mut start) = (Vec::new(), [0; FIELDS_BYTES + ID_BYTES_MAX + 2]);
    let start = &mut start[..FIELDS_BYTES + id_bytes + 2];
    for _ in 0..count {
        index.read_exact(start)?;
        let is_gitlink = number(start, MODE_AT) & 0o170_000 == GITLINK;
        let flags = u16::from_be_bytes([start[FIELDS_BYTES + id_bytes], start[FIELDS_BYTES + id_bytes + 1]]);
        let mut entry_bytes = start.len();
        if version >= 3 && flags & EXTENDED != 0 {
            skip(&mut index, 2)?;
            entry_bytes += 2;
        }
        if version == 4 {
            // The name shares its beginning with the one before, and is not padded.
            let dropped = varint(&mut index)?;
            name.truncate(name.len().saturating_sub(dropped));
            index.read_until(0, &mut name)?;
            name.pop();
        } else {
            name.clear();
            let short = usize::from(flags & 0x0fff);
            // `0xfff` stands for a name of that length or more.
            let name_bytes = match short {
                0x0fff => {
                    index.read_until(0, &mut name)?;
                    name.pop();
                    name.len()
                }
                short if is_gitlink => {
                    name.resize(short, 0);
                    index.read_exact(&mut name)?;
                    short
                }
                short => {
                    skip(&mut index, short)?;
                    short
                }
            };
            // One to eight NUL bytes, of which a long name has lost its first.
            let padding = 8 - (entry_bytes + name_bytes) % 8;
            skip(&mut index, padding - usize::from(short == 0x0fff))?;
        }
        if is_gitlink {
            found.push(name.clone());
        }
    }
    Ok(())
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn skip(index: &mut impl BufRead, mut bytes: usize) -> io::Result<()> {
    while bytes > 0 {
        let there = index.fill_buf()?.len().min(bytes);
        if there == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        index.consume(there);
        bytes -= there;
    }
    Ok(())
}

/// The offset encoding of packs: seven bits a byte, and one is added for each further byte.
fn varint(index: &mut impl BufRead) -> io::Result<usize> {
    let mut next = || {
        let mut byte = [0];
        index.read_exact(&mut byte).map(|()| byte[0])
    };
    let mut byte = next()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        value = value.saturating_add(1).saturating_mul(128).saturating_add(usize::from(byte & 0x7f));
    }
    Ok(value)
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
        let found = gitlinks(index.as_slice(), 20);
        assert_eq!(found, [b"lib/sub".to_vec(), b"z".to_vec()]);
        index.truncate(index.len() - 20);
        assert!(gitlinks(index.as_slice(), 20).contains(&b"lib/sub".to_vec()), "what can be read counts");
        assert_eq!(gitlinks(&b"DIRC"[..], 20), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn gitlinks_after_long_names_are_found() {
        let long = "n".repeat(5000);
        for length in 4995..5003 {
            let mut index = b"DIRC\0\0\0\x02\0\0\0\x02".to_vec();
            let mut first = entry(0o100_644, &long[..length.min(5000)]);
            // The length does not fit in twelve bits.
            first[60..62].copy_from_slice(&0x0fff_u16.to_be_bytes());
            index.extend(first);
            index.extend(entry(0o160_000, "z"));
            assert_eq!(gitlinks(index.as_slice(), 20), [b"z".to_vec()], "{length}");
        }
    }
}

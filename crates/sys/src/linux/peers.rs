//! Whom a call wants to reach: addresses and questions for names, in words. Reads the caller's memory, decides nothing.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::notify::read_memory;
use super::text::Text;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest question that is looked at: a header, a name of 255 bytes and its type.
const QUESTION_BYTES: usize = 12 + 255 + 4;

/// `ADDRESS:PORT` of a socket address that lies outside of the machine; `None` for the loopback and what is no address.
pub(super) fn outside(family: i32, bytes: &[u8]) -> Option<Text> {
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let address = match family {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?)).to_canonical(),
        _ => return None,
    };
    if address.is_loopback() || address.is_unspecified() {
        return None;
    }
    let mut text = Text::new();
    match address {
        IpAddr::V4(address) => {
            for (index, part) in address.octets().into_iter().enumerate() {
                if index > 0 {
                    text.push(b".")?;
                }
                number(&mut text, u32::from(part), 10)?;
            }
        }
        IpAddr::V6(address) => {
            text.push(b"[")?;
            for (index, part) in address.segments().into_iter().enumerate() {
                if index > 0 {
                    text.push(b":")?;
                }
                number(&mut text, u32::from(part), 16)?;
            }
            text.push(b"]")?;
        }
    }
    text.push(b":")?;
    number(&mut text, u32::from(port), 10)?;
    Some(text)
}

fn number(text: &mut Text, number: u32, base: u32) -> Option<()> {
    let mut digits = [0u8; 10];
    let (mut rest, mut start) = (number, digits.len());
    loop {
        start -= 1;
        digits[start] = b"0123456789abcdef"[(rest % base) as usize];
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    text.push(&digits[start..])
}

/// The name that a message in the caller's memory asks for, if it is such a question.
pub(super) fn question(pid: u32, data: u64, length: u64) -> Option<Text> {
    let mut bytes = [0u8; QUESTION_BYTES];
    let length = (length as usize).min(QUESTION_BYTES);
    read_memory(pid, data, &mut bytes[..length]).ok()?;
    asked_name(&bytes[..length])
}

/// The same for the first of many messages.
pub(super) fn first_question(pid: u32, messages: u64) -> Option<Text> {
    let mut header = [0u8; size_of::<libc::msghdr>()];
    read_memory(pid, messages, &mut header).ok()?;
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().expect("invariant: eight bytes"));
    if word(std::mem::offset_of!(libc::msghdr, msg_iovlen)) == 0 {
        return None;
    }
    let mut part = [0u8; size_of::<libc::iovec>()];
    read_memory(pid, word(std::mem::offset_of!(libc::msghdr, msg_iov)), &mut part).ok()?;
    let word = |at: usize| u64::from_ne_bytes(part[at..at + 8].try_into().expect("invariant: eight bytes"));
    question(pid, word(0), word(8))
}

/// The name in a question for an address: one question, and labels of the usual letters.
fn asked_name(bytes: &[u8]) -> Option<Text> {
    let (header, mut rest) = bytes.split_at_checked(12)?;
    // No answer, an ordinary query, and exactly one question.
    if header[2] & 0xf8 != 0 || header[4..6] != [0, 1] {
        return None;
    }
    let mut name = Text::new();
    loop {
        let (length, after) = rest.split_first()?;
        if *length == 0 {
            break;
        }
        let (label, after) = after.split_at_checked(usize::from(*length))?;
        let usual = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if *length > 63 || !label.iter().all(usual) {
            return None;
        }
        if !name.bytes().is_empty() {
            name.push(b".")?;
        }
        name.push(label)?;
        rest = after;
    }
    (!name.bytes().is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;

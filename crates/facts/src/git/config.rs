//! A configuration file of git: a strict reader, and a writer that takes over single keys.
//!
//! The grammar is that of git-config(1), "CONFIGURATION FILE". The text can come from a command:
//! what this reader does not understand as git would is an error, and nothing is taken over.

use std::collections::BTreeMap;
use std::ops::Range;

/// A text that is not a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The line, counted from one.
    pub line: usize,
}

/// The name of a setting. Section and name are in small letters, as git compares them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigKey {
    /// The section.
    pub section: String,
    /// The part in quotes.
    pub subsection: Option<String>,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subsection {
            Some(subsection) => write!(f, "{}.{subsection}.{}", self.section, self.name),
            None => write!(f, "{}.{}", self.section, self.name),
        }
    }
}

/// The value of a setting; none for a name without `=`, which means true.
type Setting = Option<String>;

/// A configuration that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    entries: Vec<Entry>,
    headers: Vec<Header>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    key: ConfigKey,
    /// The name as it was written.
    spelling: String,
    value: Setting,
    header: usize,
    /// From its first letter to the end of its last line.
    span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Header {
    section: String,
    subsection: Option<String>,
    span: Range<usize>,
}

impl ConfigText {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, ConfigFault> {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut reader = Reader { text, at: start };
        let (mut entries, mut headers) = (Vec::new(), Vec::<Header>::new());
        loop {
            reader.skip(|c| c.is_ascii_whitespace());
            let begin = reader.at;
            match reader.peek() {
                None => return Ok(Self { entries, headers }),
                Some('#' | ';') => reader.skip(|c| c != '\n'),
                Some('[') => {
                    let (section, subsection) = reader.header().ok_or_else(|| reader.fault())?;
                    headers.push(Header { section, subsection, span: begin..reader.at });
                }
                Some(c) if c.is_ascii_alphabetic() => {
                    let header = headers.last().ok_or_else(|| reader.fault())?;
                    let spelling = reader.word(|c| c.is_ascii_alphanumeric() || c == '-');
                    let value = reader.value().ok_or_else(|| reader.fault())?;
                    let key = ConfigKey {
                        section: header.section.clone(),
                        subsection: header.subsection.clone(),
                        name: spelling.to_ascii_lowercase(),
                    };
                    let header = headers.len() - 1;
                    entries.push(Entry { key, spelling, value, header, span: begin..reader.at });
                }
                Some(_) => return Err(reader.fault()),
            }
        }
    }

    /// Every key with its values, in their order.
    pub fn values(&self) -> BTreeMap<ConfigKey, Vec<Setting>> {
        let mut values: BTreeMap<ConfigKey, Vec<Setting>> = BTreeMap::new();
        for entry in &self.entries {
            values.entry(entry.key.clone()).or_default().push(entry.value.clone());
        }
        values
    }

    /// Every setting in the order of the text.
    pub fn settings(&self) -> impl Iterator<Item = (&ConfigKey, Option<&str>)> {
        self.entries.iter().map(|entry| (&entry.key, entry.value.as_deref()))
    }

    fn spelling(&self, key: &ConfigKey) -> String {
        let found = self.entries.iter().find(|entry| entry.key == *key);
        found.map_or_else(|| key.name.clone(), |entry| entry.spelling.clone())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.next();
        }
    }

    fn word(&mut self, part: impl Fn(char) -> bool) -> String {
        let begin = self.at;
        self.skip(part);
        self.text[begin..self.at].to_owned()
    }

    fn fault(&self) -> ConfigFault {
        ConfigFault { line: 1 + self.text[..self.at].matches('\n').count() }
    }

    /// `[section]`, `[section "subsection"]`, or the old `[section.subsection]` in small letters.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.').to_ascii_lowercase();
        if name.is_empty() {
            return None;
        }
        if self.peek() == Some(']') {
            self.next();
            return Some(match name.split_once('.') {
                Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
                None => (name, None),
            });
        }
        self.skip(|c| c == ' ' || c == '\t');
        if self.next()? != '"' || name.contains('.') {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\\' => subsection.push(self.next().filter(|c| *c != '\n' && *c != '\0')?),
                '\n' | '\0' => return None,
                other => subsection.push(other),
            }
        }
        (self.next()? == ']').then_some((name, Some(subsection)))
    }

    /// From behind the name to the end of the line.
    fn value(&mut self) -> Option<Setting> {
        self.skip(|c| c == ' ' || c == '\t');
        match self.peek() {
            None | Some('\n') => return Some(None),
            Some('\r') if self.text[self.at..].starts_with("\r\n") => return Some(None),
            Some('#' | ';') => {
                self.skip(|c| c != '\n');
                return Some(None);
            }
            Some('=') => self.next(),
            Some(_) => return None,
        };
        self.skip(|c| c == ' ' || c == '\t');
        let (mut value, mut kept, mut quoted) = (String::new(), 0, false);
        loop {
            match self.peek() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => break,
                Some('\r') if !quoted && self.text[self.at..].starts_with("\r\n") => break,
                Some('#' | ';') if !quoted => {
                    self.skip(|c| c != '\n');
                    break;
                }
                Some('"') => {
                    quoted = !quoted;
                    // Blanks before a quote belong to the value.
                    kept = value.len();
                    self.next();
                }
                Some('\\') => {
                    self.next();
                    match self.next()? {
                        '\n' => continue,
                        '\r' if self.peek() == Some('\n') => {
                            self.next();
                            continue;
                        }
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        same @ ('\\' | '"') => value.push(same),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some('\0') => return None,
                Some(other) => {
                    value.push(other);
                    self.next();
                    if quoted || !(other == ' ' || other == '\t') {
                        kept = value.len();
                    }
                }
            }
        }
        value.truncate(kept);
        Some(Some(value))
    }
}

/// The harmless changes of a private copy, taken over into the host's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMerge {
    /// The new text of the host's file; none if nothing is to be written.
    pub text: Option<String>,
    /// Keys that were changed and are not taken over, with the reason.
    pub held: Vec<(ConfigKey, &'static str)>,
}

/// Why a key that was changed on both sides is not taken over.
const CHANGED_MEANWHILE: &str = "the host changed it meanwhile";

/// Sections of the repository itself. An emptied file would take its format away.
const NEVER_REMOVED: [&str; 2] = ["core", "extensions"];
const REMOVED: &str = "it says what kind of repository this is";

/// Says why a value of a key is not taken over, if it is not.
pub(super) type KeyJudge<'a> = dyn Fn(&ConfigKey, Option<&str>) -> Result<(), &'static str> + 'a;

/// Takes over what changed from `base` to `copy` into `host`, key by key, as far as `judge` has no
/// objection to a value. A value that was there before is no change.
pub fn merge_configs(
    base: &str,
    host: &str,
    copy: &str,
    judge: &KeyJudge<'_>,
    removable: &dyn Fn(&ConfigKey) -> Result<(), &'static str>,
) -> Result<ConfigMerge, ConfigFault> {
    let copied = ConfigText::parse(copy)?;
    let (before, after) = (ConfigText::parse(base)?.values(), copied.values());
    let read = ConfigText::parse(host)?;
    let now = read.values();
    let mut keys: Vec<&ConfigKey> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let none = Vec::new();
    let (mut taken, mut held) = (BTreeMap::new(), Vec::new());
    for key in keys {
        let of = |values: &'_ BTreeMap<ConfigKey, Vec<Setting>>| values.get(key).cloned().unwrap_or_default();
        let (before, after, now) = (of(&before), after.get(key).unwrap_or(&none), of(&now));
        if before == *after || now == *after {
            continue;
        }
        let judged = after.iter().filter(|value| !before.contains(value));
        let mut judged = judged.map(|value| judge(key, value.as_deref()));
        let gone = after.is_empty() && NEVER_REMOVED.contains(&key.section.as_str());
        let verdict = judged.find(Result::is_err).unwrap_or(Ok(())).and_then(|()| removable(key));
        let verdict = if gone { verdict.and(Err(REMOVED)) } else { verdict };
        match verdict {
            Err(why) => held.push((key.clone(), why)),
            Ok(()) if now != before => held.push((key.clone(), CHANGED_MEANWHILE)),
            Ok(()) => drop(taken.insert(key.clone(), (copied.spelling(key), after.clone()))),
        }
    }
    let text = if taken.is_empty() { None } else { Some(write(host, &read, &taken)?) };
    Ok(ConfigMerge { text, held })
}

type Taken = BTreeMap<ConfigKey, (String, Vec<Setting>)>;

/// The text with the values of these keys in place of those that it has.
fn write(text: &str, read: &ConfigText, taken: &Taken) -> Result<String, ConfigFault> {
    let mut out = without(text, read, taken);
    let mut sections: Vec<&ConfigKey> = taken.keys().collect();
    sections.dedup_by(|later, earlier| is_same_section(later, earlier));
    for section in sections {
        let mut added = String::new();
        for (_, (spelling, values)) in taken.iter().filter(|(key, _)| is_same_section(key, section)) {
            push_values(&mut added, spelling, values);
        }
        if added.is_empty() {
            continue;
        }
        // At the end of the last part of the section, or of the file.
        let headers = ConfigText::parse(&out)?.headers;
        let of_section = |header: &Header| is_of(header, section);
        let place = headers.iter().rposition(of_section);
        let place = place.map(|last| headers.get(last + 1).map_or(out.len(), |next| next.span.start));
        match place {
            Some(at) => {
                let rest = out.split_off(line_start(&out, at));
                end_line(&mut out);
                out.push_str(&added);
                out.push_str(&rest);
            }
            None => {
                end_line(&mut out);
                out.push_str(&header_text(section));
                out.push_str(&added);
            }
        }
    }
    // The text is what git will obey, so it is read once more.
    let mut expected = read.values();
    for (key, (_, values)) in taken {
        match values.is_empty() {
            true => drop(expected.remove(key)),
            false => drop(expected.insert(key.clone(), values.clone())),
        }
    }
    match ConfigText::parse(&out)?.values() == expected {
        true => Ok(out),
        false => Err(ConfigFault { line: 0 }),
    }
}

fn is_same_section(one: &ConfigKey, other: &ConfigKey) -> bool {
    one.section == other.section && one.subsection == other.subsection
}

fn is_of(header: &Header, key: &ConfigKey) -> bool {
    header.section == key.section && header.subsection == key.subsection
}

/// The text without these keys, and without sections that are empty then.
fn without(text: &str, read: &ConfigText, taken: &Taken) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (number, header) in read.headers.iter().enumerate() {
        let end = read.headers.get(number + 1).map_or(text.len(), |next| next.span.start);
        out.push_str(&text[at..header.span.start]);
        at = end;
        let (mut body, mut from) = (String::new(), header.span.end);
        let cut = |entry: &&Entry| entry.header == number && taken.contains_key(&entry.key);
        for entry in read.entries.iter().filter(cut) {
            let begin = line_start(text, entry.span.start).max(from);
            body.push_str(&text[from..begin]);
            from = line_end(text, entry.span.end).min(end);
        }
        let emptied = from != header.span.end;
        body.push_str(&text[from..end]);
        let is_added_to = taken.iter().any(|(key, (_, values))| is_of(header, key) && !values.is_empty());
        if !(emptied && body.trim().is_empty() && !is_added_to) {
            out.push_str(&text[header.span.clone()]);
            if !body.starts_with(['\n', ' ', '\t', '\r']) && !body.is_empty() {
                out.push('\n');
            }
            out.push_str(&body);
        }
    }
    out.push_str(&text[at..]);
    out
}

fn line_start(text: &str, at: usize) -> usize {
    let begin = text[..at].rfind('\n').map_or(0, |found| found + 1);
    // A key can stand behind its header on one line.
    if text[begin..at].trim().is_empty() { begin } else { at }
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

fn header_text(key: &ConfigKey) -> String {
    match &key.subsection {
        None => format!("[{}]\n", key.section),
        Some(subsection) => {
            let escaped = subsection.replace('\\', "\\\\").replace('"', "\\\"");
            format!("[{} \"{escaped}\"]\n", key.section)
        }
    }
}

fn push_values(out: &mut String, spelling: &str, values: &[Setting]) {
    end_line(out);
    for value in values {
        match value {
            None => out.push_str(&format!("\t{spelling}\n")),
            Some(value) => {
                let escaped =
                    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
                let quote = value.starts_with(' ') || value.ends_with(' ') || value.contains([';', '#']);
                let quote = if quote { "\"" } else { "" };
                out.push_str(&format!("\t{spelling} = {quote}{escaped}{quote}\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests;

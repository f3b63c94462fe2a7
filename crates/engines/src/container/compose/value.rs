//! What stands behind the keys of a compose file: words, times, sizes, places.

use std::time::Duration;

/// The words of a command that is written as one text, as a shell would split it, without doing anything else.
pub(super) fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => {
                word.get_or_insert_default().push(characters.next().ok_or("it ends with a `\\`")?);
            }
            ('\\', Some('"')) => {
                let next = characters.next().ok_or("it ends with a `\\`")?;
                let word = word.get_or_insert_default();
                if !matches!(next, '"' | '\\') {
                    word.push('\\');
                }
                word.push(next);
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quotation mark is open at its end");
    }
    words.extend(word);
    Ok(words)
}

/// A time such as `1m30s` or `500ms`.
pub(super) fn time(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "it is not a time such as `1m30s` or `500ms`";
    let mut rest = text;
    let mut whole = Duration::ZERO;
    if rest.is_empty() {
        return Err(FORM);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or(FORM)?;
        let (number, after) = rest.split_at(digits);
        let number: u32 = number.parse().map_err(|_| FORM)?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let unit = match unit {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return Err(FORM),
        };
        whole = unit.checked_mul(number).and_then(|part| whole.checked_add(part)).ok_or(FORM)?;
        rest = next;
    }
    Ok(whole)
}

/// A size such as `512m`; units are powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, &'static str> {
    const FORM: &str = "it is not a size such as `512m`";
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        _ => return Err(FORM),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or(FORM)
}

/// A text with `$$` read as `$`. A variable is refused before anybody looks at what it holds.
pub(super) fn literal(text: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c == '$' && characters.next() != Some('$') {
            return Err("it holds a variable, and no variable of the caller's is put in; write `$$` for a `$`");
        }
        out.push(c);
    }
    if out.contains('\0') { Err("it holds a zero byte") } else { Ok(out) }
}

/// A place inside of a service, where something can lie.
pub(super) fn place(text: &str) -> Result<String, &'static str> {
    let parts: Vec<&str> = text.split('/').skip(1).filter(|part| !part.is_empty()).collect();
    if !text.starts_with('/') {
        return Err("it is not an absolute path");
    }
    if parts.is_empty() || parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err("it must be a directory below `/`, without `.` and `..`");
    }
    if matches!(parts.first(), Some(&("proc" | "sys" | "dev" | ".polder"))) {
        return Err("nothing can be laid there");
    }
    if text.contains([':', ',', '\\']) || text.chars().any(char::is_control) {
        return Err("it holds a `:`, a `,` or something like it");
    }
    Ok(format!("/{}", parts.join("/")))
}

/// A user of an image, `NAME` or `NUMBER`, and perhaps a group after a colon. Whoever it is has no capability.
pub(super) fn user(text: &str) -> Result<String, &'static str> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() <= 2 && parts.iter().all(|part| is_name(part)) {
        Ok(text.to_owned())
    } else {
        Err("it is not `USER` or `USER:GROUP`")
    }
}

/// Whether this can be the name of a service or a volume: it becomes a name on the loopback and a part of a request.
pub(super) fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

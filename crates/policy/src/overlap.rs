//! Whether two patterns can mean the same path. In doubt they can: the question is always asked to refuse something.

use crate::model::PathPattern;
use polder_facts::HostPath;

/// Whether some path, or something below it, is meant by both.
pub(crate) fn patterns(a: &PathPattern, b: &PathPattern, root: &HostPath) -> bool {
    let (a, b) = (components(a, root), components(b, root));
    for (a, b) in a.iter().zip(&b) {
        if a == "**" || b == "**" {
            return true;
        }
        if !names(a, b) {
            return false;
        }
    }
    // One ends where the other goes on: it is the directory in which the other lies.
    true
}

/// Whether `inner` is meant by `outer`, or lies below a path that is.
pub(crate) fn is_within(inner: &PathPattern, outer: &PathPattern, root: &HostPath) -> bool {
    let recursive = outer.0.split('/').any(|component| component == "**");
    let shorter = components(outer, root).len() <= components(inner, root).len();
    (shorter || recursive) && patterns(inner, outer, root)
}

/// Whether a name is matched by a pattern in which `*` stands for any letters.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(tail)
}

fn components(pattern: &PathPattern, root: &HostPath) -> Vec<String> {
    let whole = if pattern.0.starts_with('/') { pattern.0.clone() } else { format!("{root}/{}", pattern.0) };
    whole.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect()
}

fn names(a: &str, b: &str) -> bool {
    let special = |name: &str| name.contains(['?', '[', '{', '\\']);
    let wild = |name: &str| name.contains('*');
    match (wild(a), wild(b)) {
        _ if special(a) || special(b) => true,
        (false, false) => a == b,
        (true, false) => glob(a, b),
        (false, true) => glob(b, a),
        (true, true) => true,
    }
}

#[cfg(test)]
mod tests;

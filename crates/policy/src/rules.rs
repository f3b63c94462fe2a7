//! The rules for single values: names, paths, patterns, peers. Each is a parser; the error is what is wrong.

use crate::model::{CachePath, EnvPattern, PathPattern};
use polder_facts::{GuestPath, HostPath};
use std::path::{Component, Path, PathBuf};

/// `[a-zA-Z0-9][a-zA-Z0-9._-]*`: safe as a file name and in a label.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let rest_ok = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if rest_ok && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a name: letters, digits, `.`, `_` and `-`, beginning with a letter or digit"))
    }
}

/// `~` and `~/…` become the home directory; another user's home is nobody's business.
fn expand_home(text: &str, home: &Path) -> Result<PathBuf, String> {
    match text.strip_prefix('~') {
        None => Ok(PathBuf::from(text)),
        Some("") => Ok(home.to_owned()),
        Some(rest) => match rest.strip_prefix('/') {
            Some(below) => Ok(home.join(below.trim_start_matches('/'))),
            None => Err(format!("`{text}`: only `~` and `~/…` are expanded")),
        },
    }
}

/// `..` as a component; a name such as `a..b` is legal.
fn climbs(text: &str) -> bool {
    Path::new(text).components().any(|component| component == Component::ParentDir)
}

/// A path on the host; a relative one stands on `base`.
pub(crate) fn host_path(text: &str, base: &Path, home: &Path) -> Result<HostPath, String> {
    if text.is_empty() {
        return Err("the path is empty".to_owned());
    }
    // Before `~` is expanded, so that the message names what was written.
    if climbs(text) {
        return Err(format!("`{text}` must not contain `..`"));
    }
    HostPath::new(base.join(expand_home(text, home)?)).map_err(|error| format!("`{text}` {error}"))
}

/// A path inside the sandbox.
pub(crate) fn guest_path(text: &str) -> Result<GuestPath, String> {
    GuestPath::new(text).map_err(|error| format!("`{text}` {error}"))
}

/// Where a cache appears inside: an absolute path, or one below the home directory there.
pub(crate) fn cache_path(text: &str) -> Result<CachePath, String> {
    let Some(rest) = text.strip_prefix('~') else {
        let kept = "; what lies in the workspace is there again at the next run without a cache";
        let hint = if Path::new(text).is_relative() && !climbs(text) { kept } else { "" };
        return guest_path(text).map(CachePath::At).map_err(|error| format!("{error}{hint}"));
    };
    let Some(below) = rest.strip_prefix('/').map(|below| below.trim_matches('/')).filter(|below| !below.is_empty())
    else {
        return Err(format!("`{text}`: only `~/…`, a directory below the home directory, is expanded"));
    };
    // The rules of a path inside hold for this one, wherever the home directory is.
    guest_path(&format!("/{below}")).map_err(|_| format!("`{text}` must not contain `..` or a NUL byte"))?;
    Ok(CachePath::InHome(Path::new(below).components().collect()))
}

/// The same path inside the sandbox.
pub(crate) fn same_inside(host: &HostPath) -> Result<GuestPath, String> {
    GuestPath::new(host.as_path()).map_err(|error| format!("`{host}` {error}"))
}

/// A path or glob for `protect` and `deny_read`.
pub(crate) fn path_pattern(text: &str, home: &Path) -> Result<PathPattern, String> {
    if text.trim().is_empty() || text.contains('\0') {
        return Err("the path is empty or has a NUL byte".to_owned());
    }
    if climbs(text) {
        return Err(format!("`{text}` must not contain `..`"));
    }
    let expanded = expand_home(text, home)?;
    let expanded = expanded.to_str().ok_or_else(|| format!("`{text}`: the home directory is not UTF-8"))?;
    let trimmed = expanded.trim_start_matches("./");
    let trimmed = if trimmed == "/" { trimmed } else { trimmed.trim_end_matches('/') };
    if matches!(trimmed, "" | "." | "/") {
        return Err(format!("`{text}` is everything; use `read_only` or leave the path out"));
    }
    Ok(PathPattern(trimmed.to_owned()))
}

/// The name of a variable.
pub(crate) fn env_name(text: &str) -> Result<String, String> {
    let head_ok = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if head_ok && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not the name of a variable"))
    }
}

/// A pattern for names of variables.
pub(crate) fn env_pattern(text: &str) -> Result<EnvPattern, String> {
    let glob = text.strip_prefix('!').unwrap_or(text);
    // A `*` stands for letters, so a pattern is a name once every `*` is one.
    env_name(&glob.replace('*', "_")).map_err(|_| format!("`{text}` is not a pattern for names of variables"))?;
    Ok(EnvPattern { glob: glob.to_owned(), negated: glob.len() < text.len() })
}

/// `HOST[:PORT]`, where the host may begin with `*.`; the broker computes the canonical form.
pub(crate) fn peer(text: &str) -> Result<String, String> {
    let fault = || format!("`{text}` is not HOST[:PORT], as in `example.org`, `*.example.org` or `example.org:443`");
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, rest)) => (address, Some(rest.strip_prefix(':').ok_or_else(fault)?)),
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if port.is_some_and(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
        return Err(fault());
    }
    let address_ok = host.parse::<std::net::IpAddr>().is_ok();
    let labels = host.strip_prefix("*.").unwrap_or(host);
    // Names beyond ASCII are legal and become punycode later; what separates or hides is not.
    let letter_ok = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name_ok = labels.len() <= 253
        && labels.strip_suffix('.').unwrap_or(labels).split('.').all(|l| !l.is_empty() && l.chars().all(letter_ok));
    if address_ok || name_ok { Ok(text.to_owned()) } else { Err(fault()) }
}

/// `KIND:PLACE`. The value is not repeated: someone may have written the secret itself.
pub(crate) fn secret_source(text: &str) -> Result<String, String> {
    let kind_ok = |kind: &str| !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    match text.split_once(':') {
        Some((kind, place)) if kind_ok(kind) && !place.is_empty() => Ok(text.to_owned()),
        _ => Err("`source` must say where the secret is, as in `env:GITHUB_TOKEN`, never the secret".to_owned()),
    }
}

#[cfg(test)]
mod tests;

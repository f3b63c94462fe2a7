//! What somebody asks about: a path inside, or a peer.

use crate::exit::Failure;
use std::fmt;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

/// A path inside, or a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Absolute, without `.` and `..`.
    Path(PathBuf),
    /// A host, and a port if one was named.
    Peer { host: String, port: Option<u16> },
}

impl Target {
    /// Understands a word. What is relative lies below `workdir`, and `~` is the home directory inside. A name that is
    /// spelt like a host's is the file of that name, where there is one.
    pub(super) fn of(
        word: &str,
        workdir: &Path,
        home: Option<&Path>,
        is_file: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, Failure> {
        if let Some(peer) = peer(word) {
            return Ok(peer);
        }
        if let Some(host) = host(word).filter(|_| !is_file(&workdir.join(word))) {
            return Ok(Self::Peer { host: host.to_owned(), port: None });
        }
        let path = match (word.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => workdir.join(word),
        };
        let mut plain = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::Normal(name) => plain.push(name),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => {
                    // What it leads to depends on links that only the command would follow.
                    return Err(Failure::new(format!("`{word}` holds `..`; name the path that it leads to")));
                }
            }
        }
        Ok(Self::Path(plain))
    }
}

/// `HOST:PORT`, `[ADDRESS]:PORT`, `SCHEME://HOST[:PORT]/…`.
fn peer(word: &str) -> Option<Target> {
    if let Some((scheme, rest)) = word.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next()?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let port = SCHEMES.iter().find(|(name, _)| *name == scheme).map(|(_, port)| *port);
        let plain = || Target::Peer { host: unbracketed(authority).to_owned(), port };
        return (!authority.is_empty()).then(|| peer(authority).unwrap_or_else(plain));
    }
    let (host, port) = word.rsplit_once(':').filter(|_| !word.contains('/'))?;
    // An address of IPv6 without brackets has no port.
    let port = port.parse().ok().filter(|_| host.starts_with('[') || !host.contains(':'))?;
    let host = unbracketed(host);
    (!host.is_empty()).then(|| Target::Peer { host: host.to_owned(), port: Some(port) })
}

fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Ports that a scheme stands for.
const SCHEMES: [(&str, u16); 4] = [("http", 80), ("https", 443), ("ssh", 22), ("git", 9418)];

/// Endings that names of hosts have and names of files have not; `.rs`, `.sh`, `.py` and `.md` are both.
const DOMAINS: [&str; 28] = [
    "com", "org", "net", "edu", "gov", "io", "dev", "ai", "app", "cloud", "co", "info", "de", "fr", "uk", "eu", "nl",
    "ch", "at", "jp", "cn", "us", "ca", "example", "test", "internal", "local", "invalid",
];

/// A name or an address of a host without a port.
fn host(word: &str) -> Option<&str> {
    let bare = unbracketed(word);
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_name = bare.split('.').all(is_label)
        && bare.rsplit_once('.').is_some_and(|(_, last)| DOMAINS.contains(&last.to_ascii_lowercase().as_str()));
    (bare == "localhost" || is_name || bare.parse::<IpAddr>().is_ok()).then_some(bare)
}

/// Whether a peer is on the loopback, which every sandbox has.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Peer { host, port: Some(port) } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Peer { host, port: Some(port) } => write!(f, "{host}:{port}"),
            Self::Peer { host, port: None } => host.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_path_or_a_peer() {
        let of = |word: &str| {
            let is_file = |path: &Path| path == Path::new("/workspace/there.com");
            Target::of(word, Path::new("/workspace"), Some(Path::new("/home/u")), &is_file)
                .map(|target| target.to_string())
        };
        for (word, meant) in [
            ("src/x", "/workspace/src/x"),
            ("./x", "/workspace/x"),
            ("/opt//x/", "/opt/x"),
            ("~/.ssh/id", "/home/u/.ssh/id"),
            ("~", "/home/u"),
            ("example.com:443", "example.com:443"),
            ("[::1]:80", "[::1]:80"),
            ("github.com", "github.com"),
            ("there.com", "/workspace/there.com"),
            ("https://u:p@github.com/a/b", "github.com:443"),
            ("https://github.com:8443", "github.com:8443"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("localhost", "localhost"),
            ("main.rs", "/workspace/main.rs"),
            ("Makefile", "/workspace/Makefile"),
            ("a:b", "/workspace/a:b"),
            ("/opt/a:80", "/opt/a:80"),
        ] {
            assert_eq!(of(word).unwrap_or_else(|_| panic!("{word}")), meant, "{word}");
        }
        assert!(of("a/../b").is_err() && of("/..").is_err());
        assert!(is_loopback("127.3.0.1") && is_loopback("::1") && is_loopback("localhost") && !is_loopback("10.0.0.1"));
    }
}

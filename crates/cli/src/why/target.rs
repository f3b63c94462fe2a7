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
    /// A host and a port.
    Peer { host: String, port: u16 },
}

impl Target {
    /// Understands a word. What is relative lies below `workdir`, and `~` is the home directory inside.
    pub(super) fn of(word: &str, workdir: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        if let Some(peer) = peer(word) {
            return Ok(peer);
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

/// `HOST:PORT`, `[ADDRESS]:PORT`.
fn peer(word: &str) -> Option<Target> {
    let (host, port) = word.rsplit_once(':').filter(|_| !word.contains('/'))?;
    let port = port.parse().ok()?;
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then(|| Target::Peer { host: host.to_owned(), port })
}

/// Whether a peer is on the loopback, which every sandbox has.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Peer { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Peer { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_path_or_a_peer() {
        let of = |word: &str| {
            Target::of(word, Path::new("/workspace"), Some(Path::new("/home/u"))).map(|target| target.to_string())
        };
        for (word, meant) in [
            ("src/x", "/workspace/src/x"),
            ("./x", "/workspace/x"),
            ("/opt//x/", "/opt/x"),
            ("~/.ssh/id", "/home/u/.ssh/id"),
            ("~", "/home/u"),
            ("example.com:443", "example.com:443"),
            ("[::1]:80", "[::1]:80"),
            ("a:b", "/workspace/a:b"),
            ("/opt/a:80", "/opt/a:80"),
        ] {
            assert_eq!(of(word).unwrap_or_else(|_| panic!("{word}")), meant, "{word}");
        }
        assert!(of("a/../b").is_err() && of("/..").is_err());
        assert!(is_loopback("127.3.0.1") && is_loopback("::1") && is_loopback("localhost") && !is_loopback("10.0.0.1"));
    }
}

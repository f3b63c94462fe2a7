//! Which paths hold what nobody should give away lightly, and which ones programs ask for in passing. Pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// People export their tokens in what a shell reads when it starts.
const RC: &str = "a shell reads it when it starts, and it may hold tokens";

/// Below the home directory, with what is there.
const IN_HOME: &[(&str, &str)] = &[
    (".ssh", "it holds keys"),
    (".gnupg", "it holds keys"),
    (".password-store", "it holds passwords"),
    (".local/share/keyrings", "it holds passwords"),
    (".aws", "it holds credentials"),
    (".azure", "it holds credentials"),
    (".config/gcloud", "it holds credentials"),
    (".config/gh", "it holds tokens"),
    (".kube", "it holds credentials"),
    (".docker", "it may hold tokens"),
    (".netrc", "it holds passwords"),
    (".git-credentials", "it holds passwords"),
    (".npmrc", "it may hold tokens"),
    (".pypirc", "it may hold tokens"),
    (".cargo/credentials", "it holds tokens"),
    (".cargo/credentials.toml", "it holds tokens"),
    (".profile", RC),
    (".bash_profile", RC),
    (".bash_login", RC),
    (".bashrc", RC),
    (".bash_aliases", RC),
    (".bash_logout", RC),
    (".zshenv", RC),
    (".zprofile", RC),
    (".zshrc", RC),
    (".zlogin", RC),
    (".zlogout", RC),
    (".kshrc", RC),
    (".cshrc", RC),
    (".tcshrc", RC),
    (".config/fish", RC),
    (".mozilla", "it holds a browser's sessions"),
    (".config/google-chrome", "it holds a browser's sessions"),
    (".config/chromium", "it holds a browser's sessions"),
    (".config/BraveSoftware", "it holds a browser's sessions"),
    (".config/microsoft-edge", "it holds a browser's sessions"),
    (".config/vivaldi", "it holds a browser's sessions"),
    (".thunderbird", "it holds mail"),
    ("snap/firefox", "it holds a browser's sessions"),
    (".var/app", "it holds what programs keep for their user"),
    (".local/share/kwalletd", "it holds passwords"),
    (".config/op", "it holds passwords"),
    (".pgpass", "it holds passwords"),
    (".my.cnf", "it may hold passwords"),
    (".config/hub", "it holds tokens"),
    (".config/rclone", "it holds tokens"),
    (".gem/credentials", "it holds tokens"),
    (".m2/settings.xml", "it may hold passwords"),
    (".gradle/gradle.properties", "it may hold passwords"),
    (".terraform.d", "it holds tokens"),
    (".vault-token", "it holds tokens"),
    (".claude", "it holds tokens"),
    (".claude.json", "it holds tokens"),
    (".codex", "it holds tokens"),
    (".config/github-copilot", "it holds tokens"),
    (".gemini", "it holds tokens"),
    (".cursor", "it may hold tokens"),
    (".config/opencode", "it may hold tokens"),
    (".local/share/opencode", "it holds tokens"),
    (".config/git/credentials", "it holds passwords"),
    (".config/containers/auth.json", "it holds tokens"),
    (".dockercfg", "it may hold tokens"),
    (".config/sops", "it holds keys"),
    (".config/age", "it holds keys"),
    (".config/doctl", "it holds tokens"),
    (".config/hcloud", "it holds tokens"),
    (".fly", "it holds tokens"),
    (".oci", "it holds keys"),
    (".s3cfg", "it holds credentials"),
    (".boto", "it holds credentials"),
    (".databrickscfg", "it holds tokens"),
    (".composer/auth.json", "it holds tokens"),
    (".config/composer/auth.json", "it holds tokens"),
    (".nuget/NuGet", "it may hold tokens"),
    (".yarnrc.yml", "it may hold tokens"),
    (".config/Code", "it holds a program's sessions"),
    (".config/Slack", "it holds a program's sessions"),
    (".config/discord", "it holds a program's sessions"),
    (".config/Signal", "it holds a program's sessions"),
    (".config/Bitwarden", "it holds passwords"),
    (".config/Bitwarden CLI", "it holds passwords"),
    (".config/solana", "it holds keys"),
    (".bitcoin", "it holds keys"),
    (".ethereum", "it holds keys"),
    (".Xauthority", "it leads to the user's screen"),
    (".ICEauthority", "it leads to the user's session"),
    (".viminfo", "it holds what was typed"),
    (".local/share/atuin", "it holds what was typed"),
    (".local/share/fish/fish_history", "it holds what was typed"),
    (".lesshst", "it holds what was typed"),
];

/// Names that speak for themselves, wherever they are.
const NAMED: &[(&str, &str)] = &[
    ("id_rsa", "it is named like a key"),
    ("id_dsa", "it is named like a key"),
    ("id_ecdsa", "it is named like a key"),
    ("id_ed25519", "it is named like a key"),
    (".env", "files of this name hold secrets"),
    (".netrc", "it holds passwords"),
    (".npmrc", "it may hold tokens"),
    (".pypirc", "it may hold tokens"),
    (".git-credentials", "it holds passwords"),
];

/// Directories that are what they are in every home, wherever that is: services have theirs in many places.
const IN_EVERY_HOME: &[(&str, &str)] = &[
    (".ssh", "it holds keys"),
    (".gnupg", "it holds keys"),
    (".password-store", "it holds passwords"),
    (".aws", "it holds credentials"),
    (".kube", "it holds credentials"),
];

/// Endings of names that speak for themselves.
const ENDINGS: &[(&str, &str)] = &[
    (".pem", "it is named like a key"),
    (".key", "it is named like a key"),
    (".p12", "it is named like a key"),
    (".pfx", "it is named like a key"),
    (".jks", "it is named like a key"),
    (".kdbx", "it holds passwords"),
    ("_history", "it holds what was typed"),
];

/// Elsewhere on the machine.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/etc/shadow", "it holds passwords"),
    ("/etc/gshadow", "it holds passwords"),
    ("/etc/shadow-", "it holds passwords"),
    ("/etc/gshadow-", "it holds passwords"),
    ("/etc/security/opasswd", "it holds passwords"),
    ("/etc/krb5.keytab", "it holds keys"),
    ("/etc/wireguard", "it holds keys"),
    ("/etc/NetworkManager/system-connections", "it holds passwords"),
    ("/etc/kubernetes", "it holds keys"),
    ("/etc/rancher", "it holds keys"),
    ("/etc/sudoers", "it says who becomes root"),
    ("/etc/sudoers.d", "it says who becomes root"),
    ("/etc/ssh", "it holds the machine's keys"),
    ("/etc/ssl/private", "it holds keys"),
    ("/run/docker.sock", "whoever reaches it is root on this machine"),
    ("/var/run/docker.sock", "whoever reaches it is root on this machine"),
    ("/run/containerd", "whoever reaches it is root on this machine"),
    ("/run/podman", "whoever reaches it starts containers as its owner"),
    ("/run/dbus", "it leads to the services of this machine"),
    ("/run/user", "it leads to the services of a user"),
];

/// What somebody should think of before granting a path: of what is in it, or of what it is in.
pub fn risk(path: &Path, home: &Path) -> Option<&'static str> {
    let near = |place: &Path| path.starts_with(place) || place.starts_with(path);
    let homes = [home.to_owned(), PathBuf::from("/root")].into_iter().chain(home_around(path)).collect::<Vec<_>>();
    let own = IN_HOME.iter().find(|(name, _)| homes.iter().any(|home| near(&home.join(name))));
    let other = || ELSEWHERE.iter().find(|(place, _)| near(Path::new(place)));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let named = || NAMED.iter().find(|(whole, _)| name == *whole || name.strip_prefix(whole).is_some_and(is_variant));
    let ending = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let around = || IN_EVERY_HOME.iter().find(|(name, _)| path.components().any(|part| part.as_os_str() == *name));
    own.or_else(around).or_else(other).or_else(named).or_else(ending).map(|(_, why)| *why)
}

/// Everything that is sensitive by itself, for whoever walks through a tree from above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitive {
    places: BTreeSet<PathBuf>,
}

impl Sensitive {
    /// What there is in these homes and elsewhere on the machine.
    pub fn in_homes<'a>(homes: impl IntoIterator<Item = &'a Path>) -> Self {
        let own = homes.into_iter().flat_map(|home| IN_HOME.iter().map(|(name, _)| home.join(name)));
        let other = ELSEWHERE.iter().map(|(place, _)| PathBuf::from(place));
        Self { places: own.chain(other).collect() }
    }

    /// All of them that have a place.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(PathBuf::as_path)
    }

    /// These as well.
    #[must_use]
    pub fn and(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.places.extend(places);
        self
    }

    /// Whether this very path is one. What lies in it was not reached.
    pub fn begin_at(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.places.contains(path)
            || NAMED.iter().any(|(whole, _)| name == *whole || name.strip_prefix(whole).is_some_and(is_variant))
            || ENDINGS.iter().any(|(ending, _)| name.ends_with(ending))
            || IN_EVERY_HOME.iter().any(|(whole, _)| name == *whole)
    }
}

/// The home directory that a path is in, whoever it belongs to: root can read them all.
fn home_around(path: &Path) -> Option<PathBuf> {
    let below = |homes: &str| Some(Path::new(homes).join(path.strip_prefix(homes).ok()?.components().next()?));
    below("/home").or_else(|| below("/Users"))
}

/// Whether what follows a name makes it one of the same kind: `.env.local`, and not `.envrc`.
fn is_variant(rest: &str) -> bool {
    rest.starts_with('.') && rest != ".pub"
}

/// What programs look for in passing and do without: not having it is nobody's violation.
const PROBED: &[&str] = &[
    "/etc/ld.so.preload",
    "/etc/inputrc",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/default",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/networks",
    "/etc/environment",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bash_completion.d",
    "/etc/terminfo",
    "/etc/selinux",
    "/etc/machine-id",
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",
    "/etc/timezone",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/mtab",
    "/etc/shells",
    "/etc/nscd.conf",
    "/etc/krb5.conf",
    "/etc/ldap/ldap.conf",
    "/etc/pip.conf",
    "/etc/xdg",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/perl",
    "/etc/vim",
    "/etc/wgetrc",
    "/etc/skel",
    "/etc/sysctl.d",
    "/etc/apt",
    "/etc/dpkg",
    "/etc/init.d",
    "/etc/security",
    "/etc/pam.d",
    "/run/nscd",
    "/var/run/nscd",
    "/run/systemd",
    "/var/cache/nscd",
    "/var/lib/sss",
    "/var/db/nscd",
];

/// Where every Java keeps its counters, and looks for those of others.
const PROBED_BEGINNING: &str = "/tmp/hsperfdata_";

/// Whether reading this path is a thing that programs try in passing.
pub fn is_probing(path: &Path) -> bool {
    PROBED.iter().any(|place| path.starts_with(place))
        || path.to_str().is_some_and(|path| path.starts_with(PROBED_BEGINNING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_path_is_found_on_the_way_to_it() {
        let home = Path::new("/home/ann");
        let secrets = Sensitive::in_homes([home]);
        for path in
            ["/home/ann/.ssh/id", "/home/ann/.config/gh/hosts.yml", "/srv/x/.env", "/etc/ssl/private/a", "/a/b.pem"]
        {
            let path = Path::new(path);
            assert!(risk(path, home).is_some() && path.ancestors().any(|part| secrets.begin_at(part)), "{path:?}");
        }
        for path in ["/home/ann/data", "/home/ann/.config", "/srv/x/.envrc", "/etc/ssl"] {
            assert!(!Path::new(path).ancestors().any(|part| secrets.begin_at(part)), "{path}");
        }
    }

    #[test]
    fn what_a_shell_reads_is_thought_of_and_what_is_tried_in_passing_is_not() {
        let home = Path::new("/home/ann");
        for path in ["/home/ann/.profile", "/home/bob/.zshrc", "/root/.bashrc", "/home/ann/.config/fish/config.fish"] {
            assert!(risk(Path::new(path), home).is_some(), "{path}");
        }
        for path in ["/tmp/hsperfdata_ann/7", "/tmp/hsperfdata_ann", "/etc/ldap/ldap.conf"] {
            assert!(is_probing(Path::new(path)), "{path}");
        }
        for path in ["/tmp/hsperf", "/etc/ldap", "/srv/tmp/hsperfdata_ann"] {
            assert!(!is_probing(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_holds_keys_is_told_also_from_above_and_below() {
        let home = Path::new("/home/ann");
        for path in ["/home/ann/.ssh/id_ed25519", "/home/ann/.ssh", "/home/ann", "/etc/shadow", "/etc/shadow-", "/run"]
        {
            assert!(risk(Path::new(path), home).is_some(), "{path}");
        }
        for path in
            ["/srv/x/id_rsa", "/srv/x/.env.local", "/srv/tls.key", "/home/ann/.bash_history", "/home/ann/.codex/a"]
        {
            assert!(risk(Path::new(path), home).is_some(), "{path}");
        }
        for path in ["/srv/x/id_rsa.pub", "/srv/x/.envrc", "/srv/keys", "/home/ann/history"] {
            assert_eq!(risk(Path::new(path), home), None, "{path}");
        }
        for path in ["/home/ann/.sshx", "/opt/tool", "/home/ann/data", "/srv"] {
            assert_eq!(risk(Path::new(path), home), None, "{path}");
        }
        assert_eq!(risk(Path::new("/root/data"), home), None);
        assert!(risk(Path::new("/root/.ssh"), home).is_some(), "root's keys are keys");
        for path in
            ["/home/bob", "/home/bob/.ssh/config", "/home/bob/.config/gh", "/var/lib/robot/.ssh/own", "/data/u/.aws"]
        {
            assert!(risk(Path::new(path), Path::new("/root")).is_some(), "so are everybody's: {path}");
        }
        assert_eq!(risk(Path::new("/home/bob/data"), Path::new("/root")), None);
    }
}

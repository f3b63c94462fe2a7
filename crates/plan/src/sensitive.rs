//! Which paths hold what nobody should give away lightly, and which ones programs ask for in passing. Pure.

use std::path::Path;

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
    (".mozilla", "it holds a browser's sessions"),
    (".config/google-chrome", "it holds a browser's sessions"),
    (".config/chromium", "it holds a browser's sessions"),
    (".bash_history", "it holds what was typed"),
    (".zsh_history", "it holds what was typed"),
    (".python_history", "it holds what was typed"),
];

/// Elsewhere on the machine.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/etc/shadow", "it holds passwords"),
    ("/etc/gshadow", "it holds passwords"),
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
    let homes = [home, Path::new("/root")];
    let own = IN_HOME.iter().find(|(name, _)| homes.iter().any(|home| near(&home.join(name))));
    let other = || ELSEWHERE.iter().find(|(place, _)| near(Path::new(place)));
    own.or_else(other).map(|(_, why)| *why)
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

/// Whether reading this path is a thing that programs try in passing.
pub fn is_probing(path: &Path) -> bool {
    PROBED.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_keys_is_told_also_from_above_and_below() {
        let home = Path::new("/home/ann");
        for path in ["/home/ann/.ssh/id_ed25519", "/home/ann/.ssh", "/home/ann", "/etc/shadow", "/run"] {
            assert!(risk(Path::new(path), home).is_some(), "{path}");
        }
        for path in ["/home/ann/.sshx", "/opt/tool", "/home/ann/data", "/srv"] {
            assert_eq!(risk(Path::new(path), home), None, "{path}");
        }
        assert_eq!(risk(Path::new("/root/data"), home), None);
        assert!(risk(Path::new("/root/.ssh"), home).is_some(), "root's keys are keys");
    }
}

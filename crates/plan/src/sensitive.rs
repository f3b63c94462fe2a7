//! Which paths hold what nobody should give away lightly, and which ones programs ask for in passing. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The one list, as data: where, path, kind, and which tool documents it.
const LIST: &str = include_str!("sensitive.txt");

/// What a user is told, by the word for it in the list.
const KINDS: &[(&str, &str)] = &[
    ("keys", "it holds keys"),
    ("may-keys", "it may hold keys"),
    ("host-keys", "it holds the machine's keys"),
    ("named-key", "it is named like a key"),
    ("passwords", "it holds passwords"),
    ("may-passwords", "it may hold passwords"),
    ("credentials", "it holds credentials"),
    ("may-credentials", "it may hold credentials"),
    ("tokens", "it holds tokens"),
    ("may-tokens", "it may hold tokens"),
    ("env", "files of this name hold secrets"),
    // Users export their tokens in it.
    ("shell", "a shell reads it when it starts, and it may hold tokens"),
    ("typed", "it holds what was typed"),
    ("sessions", "it holds a browser's sessions"),
    ("program", "it holds a program's sessions"),
    ("kept", "it holds what programs keep for their user"),
    ("mail", "it holds mail"),
    ("screen", "it leads to the user's screen"),
    ("session", "it leads to the user's session"),
    ("sudo", "it says who becomes root"),
    ("root-files", "it holds the files of other containers or machines"),
    ("root-socket", "a process that reaches it is root on this machine"),
    ("podman-socket", "a process that reaches it starts containers as its owner"),
    ("services", "it leads to the services of this machine"),
    ("user-services", "it leads to the services of a user"),
];

/// A path and what a user is told about it.
type SensitiveRow = (&'static str, &'static str);

/// The list by where its rows look.
struct SensitiveList {
    /// Below the home directory.
    in_home: PlaceIndex,
    /// Directories that are what they are in every home, wherever that is.
    every_home: Vec<SensitiveRow>,
    /// Elsewhere on the machine.
    elsewhere: PlaceIndex,
    /// Names that speak for themselves, wherever they are.
    named: Vec<SensitiveRow>,
    /// Endings of such names.
    endings: Vec<SensitiveRow>,
}

/// Places by path, each with its row: whole trees are looked through, one path after the other.
struct PlaceIndex(BTreeMap<PathBuf, (usize, &'static str)>);

impl PlaceIndex {
    fn add(&mut self, path: PathBuf, why: &'static str) {
        let row = self.0.len();
        self.0.entry(path).or_insert((row, why));
    }

    /// What the first row says that holds this path, or that it holds.
    fn near(&self, path: &Path) -> Option<(usize, &'static str)> {
        let above = path.ancestors().filter_map(|above| self.0.get(above));
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.0.range::<Path, _>(from).take_while(|(place, _)| place.starts_with(path));
        above.chain(below.map(|(_, row)| row)).min().copied()
    }
}

static SENSITIVE: LazyLock<SensitiveList> = LazyLock::new(|| {
    let mut list = SensitiveList {
        in_home: PlaceIndex(BTreeMap::new()),
        every_home: Vec::new(),
        elsewhere: PlaceIndex(BTreeMap::new()),
        named: Vec::new(),
        endings: Vec::new(),
    };
    for (place, path, kind) in rows() {
        // A test finds an unknown word; at run time it is no reason to forget the row.
        let why = KINDS.iter().find(|(word, _)| *word == kind).map_or("it may hold secrets", |(_, why)| *why);
        match place {
            "every" => list.every_home.push((path, why)),
            "root" => list.elsewhere.add(PathBuf::from(path), why),
            "name" => list.named.push((path, why)),
            "end" => list.endings.push((path, why)),
            _ => {
                list.in_home.add(PathBuf::from(path), why);
                // The same directories as macOS spells them.
                let below = path.strip_prefix(".config/").or_else(|| path.strip_prefix(".local/share/"));
                if let Some(below) = below {
                    list.in_home.add(Path::new("Library/Application Support").join(below), why);
                }
            }
        }
    }
    list
});

/// Where, path and kind of every row.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        Some((cells.next()?, cells.next()?, cells.next()?))
    })
}

impl SensitiveList {
    fn named(&self, name: &str) -> Option<&'static str> {
        let whole = |(whole, _): &&SensitiveRow| name == *whole || name.strip_prefix(whole).is_some_and(is_variant);
        let named = self.named.iter().find(whole);
        let ending = || self.endings.iter().find(|(ending, _)| name.ends_with(ending));
        named.or_else(ending).map(|(_, why)| *why)
    }
}

/// What somebody should think of before granting a path: of what is in it, or of what it is in.
pub fn risk(path: &Path, home: &Path) -> Option<&'static str> {
    let list = &*SENSITIVE;
    let homes = [home.to_owned(), PathBuf::from("/root")].into_iter().chain(home_around(path));
    let in_home = |home: PathBuf| match path.strip_prefix(&home) {
        Ok(below) => list.in_home.near(below),
        Err(_) if home.starts_with(path) => list.in_home.near(Path::new("")),
        Err(_) => None,
    };
    let own = homes.filter_map(in_home).min().map(|(_, why)| why);
    let around = || list.every_home.iter().find(|(name, _)| path.components().any(|part| part.as_os_str() == *name));
    let other = || list.elsewhere.near(path).map(|(_, why)| why);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    own.or_else(|| around().map(|(_, why)| *why)).or_else(other).or_else(|| list.named(name))
}

/// Kinds that no run needs from the host: a process that has them acts as the user, or as root on this machine.
const NEVER_OFFERED: &[&str] = &["keys", "host-keys", "shell", "sudo", "root-socket", "root-files"];

/// Whether a path is nothing that a message should offer to grant. A user who means it can still say so.
pub fn is_never_offered(path: &Path, home: &Path) -> bool {
    let of_kind = |why: &str| KINDS.iter().any(|(word, told)| *told == why && NEVER_OFFERED.contains(word));
    risk(path, home).is_some_and(of_kind)
}

/// Everything that is sensitive by itself, for whoever walks through a tree from above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitive {
    places: BTreeSet<PathBuf>,
}

impl Sensitive {
    /// What there is in these homes and elsewhere on the machine.
    pub fn in_homes<'a>(homes: impl IntoIterator<Item = &'a Path>) -> Self {
        let own = homes.into_iter().flat_map(|home| SENSITIVE.in_home.0.keys().map(|name| home.join(name)));
        let other = SENSITIVE.elsewhere.0.keys().cloned();
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
            || SENSITIVE.named(&name).is_some()
            || SENSITIVE.every_home.iter().any(|(whole, _)| name == *whole)
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

    /// Files that users have and that no run should be given in passing, as the tools' documentation
    /// names them.
    const WELL_KNOWN: &str = "
        .passage/identities .local/share/password-store/x.gpg .config/kube/config .config/hcp/creds-cache.json
        .config/turso/settings.json .dbt/profiles.yml .usqlpass .config/cursor/auth.json .kimi/credentials
        .plandex-home-v2/auth.json .openclaw/openclaw.json .config/vastai/vast_api_key .local/state/zsh/history
        .ipython/profile_default/history.sqlite .config/zen/x/logins.json .local/share/Daedalus/x .chia/x .zuliprc
        .config/onedrive/refresh_token .config/dfx/identity/default/identity.pem .newrelic/credentials.json
        .ssh/id_rsa .ssh/id_ed25519 .ssh/config .ssh/known_hosts .gnupg/private-keys-v1.d/x.key .gnupg/secring.gpg
        .config/age/keys.txt .config/sops/age/keys.txt .minisign/minisign.key .putty/sshhostkeys .pki/nssdb/key4.db
        .password-store/x.gpg .local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl
        Library/Keychains/login.keychain-db .config/op/config .config/1Password/1password.sqlite
        .config/Bitwarden/data.json .config/rbw/config.json .config/keepassxc/keepassxc.ini .lastpass/key
        .local/share/gopass/stores/root/x.gpg passwords.kdbx .netrc .authinfo .authinfo.gpg
        .aws/credentials .aws/config .aws/sso/cache/x.json .saml2aws .boto .s3cfg .passwd-s3fs .mc/config.json
        .azure/accessTokens.json .azure/msal_token_cache.json .config/gcloud/credentials.db
        .config/gcloud/application_default_credentials.json .gsutil/credstore2 .config/doctl/config.yaml
        .config/hcloud/cli.toml .config/linode-cli .config/scw/config.yaml .config/exoscale/exoscale.toml .oci/config
        .oci/oci_api_key.pem .bluemix/config.json .aliyun/config.json .tccli/default.credential
        .config/yandex-cloud/config.yaml .config/openstack/clouds.yaml .fly/config.yml .config/netlify/config.json
        .local/share/com.vercel.cli/auth.json .local/share/heroku/x .railway/config.json .wrangler/config/default.toml
        .cloudflared/cert.pem .config/configstore/firebase-tools.json .supabase/access-token .databrickscfg
        .snowsql/config .snowflake/connections.toml .config/rclone/rclone.conf .b2_account_info .ngrok2/ngrok.yml
        .config/ngrok/ngrok.yml .pulumi/credentials.json .terraform.d/credentials.tfrc.json .terraformrc .vault-token
        .consul-token .doppler/.doppler.yaml .infisical/infisical-config.json .tsh/keys/x .okta/okta.yaml
        .docker/config.json .dockercfg .config/containers/auth.json .kube/config .kube/cache/x
        .config/helm/registry/config.json .config/helm/repositories.yaml .config/argocd/config .minikube/ca.key
        .lima/_config/user .vagrant.d/insecure_private_key .vault_pass.txt .chef/user.pem .cf/config.json
        .git-credentials .config/git/credentials .gitcookies .config/gh/hosts.yml .config/hub .config/glab-cli/config.yml
        .python-gitlab.cfg .config/tea/config.yml .config/github-copilot/hosts.json .subversion/auth/svn.simple/x
        .p4tickets .circleci/cli.yml .travis/config.yml .sentryclirc .config/snyk .jira.d/config.yml .arcrc
        .npmrc .yarnrc.yml .config/pnpm/rc .bunfig.toml .pypirc .config/pip/pip.conf .pip/pip.conf
        .config/pypoetry/auth.toml .local/share/uv/credentials/credentials.toml .condarc .cargo/credentials
        .cargo/credentials.toml .gem/credentials .local/share/gem/credentials .bundle/config .composer/auth.json
        .config/composer/auth.json .nuget/NuGet/NuGet.Config .m2/settings.xml .m2/settings-security.xml
        .gradle/gradle.properties .sbt/.credentials .ivy2/.credentials .lein/credentials.clj.gpg .hex/hex.config
        .pub-cache/credentials.json .conan2/credentials.json .pause .cabal/config .Renviron .config/cachix/cachix.dhall
        .config/nix/nix.conf .jfrog/jfrog-cli.conf.v6 .claude/.credentials.json .claude.json .codex/auth.json
        .gemini/oauth_creds.json .qwen/oauth_creds.json .cursor/mcp.json .local/share/opencode/auth.json
        .config/goose/secrets.yaml .aider.conf.yml .continue/config.json .codeium/config.json .amazonq/x .copilot/config.json
        .huggingface/token .cache/huggingface/token .kaggle/kaggle.json .config/io.datasette.llm/keys.json .modal.toml
        .ollama/id_ed25519 .pgpass .pg_service.conf .postgresql/postgresql.key .my.cnf .mylogin.cnf .mongorc.js
        .cassandra/cqlshrc .odbc.ini .psql_history .mysql_history .sqlite_history .rediscli_history .dbshell
        .local/share/DBeaverData/workspace6/x .influxdbv2/configs .bash_history .zsh_history .python_history
        .node_repl_history .local/share/fish/fish_history .local/share/atuin/history.db .lesshst .viminfo
        .local/state/nvim/shada/main.shada .profile .bashrc .zshrc .config/fish/config.fish .wgetrc .curlrc
        .mozilla/firefox/x/logins.json .config/google-chrome/Default/Cookies .config/chromium/Default/x
        .config/BraveSoftware/x .config/microsoft-edge/x .config/vivaldi/x .config/opera/x .librewolf/x
        Library/Safari/History.db .thunderbird/x/key4.db .mutt/muttrc .muttrc .msmtprc .fetchmailrc .mbsyncrc
        .offlineimaprc Maildir/new/x .config/evolution/x .config/Slack/Cookies .config/discord/x .config/Signal/config.json
        .local/share/TelegramDesktop/tdata/x .purple/accounts.xml .weechat/sec.conf .irssi/config
        .config/Code/User/globalStorage/state.vscdb .config/filezilla/sitemanager.xml .vnc/passwd .smbcredentials
        .config/syncthing/key.pem .config/openvpn/x.ovpn .config/protonvpn/x .bitcoin/wallet.dat .electrum/wallets/x
        .ethereum/keystore/x .config/solana/id.json .monero/x .lnd/admin.macaroon .Xauthority .ICEauthority
        .google_authenticator .k5login project/.env project/.env.local project/.htpasswd project/terraform.tfstate
        project/prod.tfvars project/service-account.json project/config/master.key";

    /// Files that ordinary work reads.
    const ORDINARY: &str = "
        .cargo/registry/index/x .cargo/bin/cargo .cargo/config.toml .rustup/settings.toml .npm/_cacache/x .gitconfig
        .config/git/ignore .config/git/config .cache/pip/x .cache/uv/x .cache/go-build/x .m2/repository/x
        .gradle/caches/x .gradle/wrapper/x .nvm/versions/x .local/bin/x .local/lib/python3.11/x go/pkg/mod/x .ivy2/cache/x
        .deno/bin/deno .bun/bin/bun .pyenv/version .rbenv/version .hex/packages/x .pub-cache/hosted/x .julia/packages/x
        .nuget/packages/x .composer/cache/x .gem/ruby/x .vimrc .config/htop/htoprc .config/nvim/init.lua .tmux.conf
        .cache/huggingface/hub/x .local/share/applications/x Documents/x src/main.rs data/keys.txt .editorconfig
        .cabal/packages/x .stack/config.yaml .opam/config .conda/pkgs/x .terminfo/x .local/share/mime/x";

    #[test]
    fn every_row_of_the_list_has_its_words() {
        let mut seen = BTreeSet::new();
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [place, path, kind, what] = cells.as_slice() else { panic!("{line}") };
            assert!(["home", "every", "root", "name", "end"].contains(place), "{line}");
            assert!(KINDS.iter().any(|(word, _)| word == kind) && !what.is_empty(), "{line}");
            assert_eq!(*place == "root", path.starts_with('/'), "{line}");
            assert!(seen.insert((*place, *path)), "twice: {line}");
        }
        assert!(seen.len() > 300, "{}", seen.len());
    }

    #[test]
    fn well_known_secret_files_are_sensitive() {
        let home = Path::new("/home/ann");
        let secrets = Sensitive::in_homes([home]);
        let names: Vec<_> = WELL_KNOWN.split_whitespace().collect();
        assert!(names.len() >= 200, "{}", names.len());
        let missed = names.iter().filter(|name| {
            let path = home.join(name);
            risk(&path, home).is_none() || !path.ancestors().any(|part| secrets.begin_at(part))
        });
        assert_eq!(missed.collect::<Vec<_>>(), [&""; 0]);
        // Of another user, and of root.
        for home in ["/home/bob", "/root", "/Users/bob"] {
            assert!(names.iter().all(|name| risk(&Path::new(home).join(name), Path::new("/home/ann")).is_some()));
        }
    }

    #[test]
    fn ordinary_files_are_not_sensitive() {
        let home = Path::new("/home/ann");
        let secrets = Sensitive::in_homes([home]);
        let told = ORDINARY.split_whitespace().filter(|name| {
            let path = home.join(name);
            risk(&path, home).is_some() || path.ancestors().any(|part| secrets.begin_at(part))
        });
        assert_eq!(told.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn macos_spelling_of_xdg_directory_is_sensitive() {
        let home = Path::new("/Users/ann");
        for path in ["Library/Application Support/gcloud/x", "Library/Application Support/Slack/Cookies"] {
            assert!(risk(&home.join(path), home).is_some(), "{path}");
        }
    }

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

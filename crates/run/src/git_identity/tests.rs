use super::*;
use std::fs;

/// A home and a repository, removed at the end.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("polder-git-identity.{}.{name}", std::process::id()));
        fs::create_dir_all(dir.join("home")).expect("a directory");
        fs::create_dir_all(dir.join("work/repo/.git")).expect("a directory");
        Self(dir)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    fn found(&self, environment: &[(&str, &str)], own: OwnConfig) -> String {
        let start = self.0.join("work/repo");
        let tree = polder_sys::facts::tree(&start, &start, &[], &[]).expect("a tree");
        let mut environment: BTreeMap<OsString, OsString> =
            environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        // The machine's own file is not this test's.
        environment.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        let GitIdentity { name, email, .. } = identity(&environment, &self.0.join("home"), &tree, own);
        format!("{} <{}>", name.unwrap_or_default(), email.unwrap_or_default())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const INSIDE: OwnConfig = OwnConfig::ReadInside;

#[test]
fn identity_files_count_in_the_order_of_git() {
    let scene = Scene::new("order");
    assert_eq!(scene.found(&[], INSIDE), " <>");
    scene.write("home/.config/git/config", "[user]\n name = Xdg\n email = xdg@example.org\n[core]\n editor = evil\n");
    assert_eq!(scene.found(&[], INSIDE), "Xdg <xdg@example.org>");
    scene.write("home/.gitconfig", "[USER]\n\tName = \"Jane Doe\" # me\n");
    assert_eq!(scene.found(&[], INSIDE), "Jane Doe <xdg@example.org>");
    scene.write("other", "[user]\n name = Other\n");
    let other = scene.0.join("other").display().to_string();
    assert_eq!(scene.found(&[("GIT_CONFIG_GLOBAL", &other)], INSIDE), "Other <>");
}

#[test]
fn identity_includes_count_where_their_condition_holds() {
    let scene = Scene::new("include");
    let work = scene.0.join("work").display().to_string();
    scene.write("work/repo/.git/HEAD", "ref: refs/heads/topic/a\n");
    scene.write("work/repo/.git/config", "[remote \"o\"]\n url = git@host.example:team/x.git\n");
    scene.write("home/sub/job", "[user]\n email = job@example.org\n");
    for (condition, holds) in [
        (format!("gitdir:{work}/"), true),
        (format!("gitdir/i:{}/", work.to_uppercase()), true),
        ("gitdir:repo/".to_owned(), true),
        ("gitdir:/nowhere/".to_owned(), false),
        ("onbranch:topic/".to_owned(), true),
        ("onbranch:main".to_owned(), false),
        ("hasconfig:remote.*.url:git@host.example:team/**".to_owned(), true),
        ("hasconfig:remote.*.url:https://**".to_owned(), false),
        ("unknown:x".to_owned(), false),
    ] {
        let text =
            format!("[user]\n name = Me\n email = me@example.org\n[includeIf \"{condition}\"]\n path = sub/job\n");
        scene.write("home/.gitconfig", &text);
        let email = if holds { "job" } else { "me" };
        assert_eq!(scene.found(&[], INSIDE), format!("Me <{email}@example.org>"), "{condition}");
    }
    // The last word counts, and a circle ends.
    scene.write("home/.gitconfig", "[include] path = ~/.gitconfig\n path = ~/sub/job\n[user]\n name = Last\n");
    assert_eq!(scene.found(&[], INSIDE), "Last <job@example.org>");
}

#[test]
fn identity_of_a_hostile_repository_is_two_plain_values() {
    let scene = Scene::new("hostile");
    scene.write("home/.gitconfig", "[user]\n name = Me\n email = me@example.org\n");
    scene.write("home/secret", "[user]\n name = from the home\n");
    let secret = scene.0.join("home/secret").display().to_string();
    let text = format!("[user]\n name = \"a\\nb\"\n email = {}\n[include]\n path = {secret}\n", "x".repeat(300));
    scene.write("work/repo/.git/config", &text);
    assert_eq!(scene.found(&[], OwnConfig::Replaced), "Me <me@example.org>");
    scene.write("work/repo/.git/config", "[user]\n name = Here\n");
    assert_eq!(scene.found(&[], OwnConfig::Replaced), "Here <me@example.org>");
    // Git inside reads this one itself.
    assert_eq!(scene.found(&[], INSIDE), "Me <me@example.org>");
    scene.write("home/.gitconfig", "[user\n");
    assert_eq!(scene.found(&[], INSIDE), " <>");
}

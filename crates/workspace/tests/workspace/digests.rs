//! The digest of a review: what it covers, and that an apply with it takes nothing else.

use crate::scene::{Scene, run};
use polder_workspace::{ApplyError, Choice, Relative, ReviewDigest, Unwatched, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn digest(scene: &Scene) -> ReviewDigest {
    scene.workspace().review().unwrap().digest().unwrap().clone()
}

fn only(digest: ReviewDigest) -> Choice {
    Choice { digest: Some(digest), ..Choice::everything() }
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.host("kept", "old\n");
    scene.layer("kept", "new\n");
    scene.layer("dir/added", "added\n");
    scene
}

#[test]
fn digest_of_an_unchanged_workspace_stays() {
    let scene = scene();
    let first = digest(&scene);
    assert_eq!(digest(&scene), first);
    // Another time of the same content is no change.
    scene.layer("kept", "new\n");
    assert_eq!(digest(&scene), first);
}

#[test]
fn digest_covers_everything_that_is_applied() {
    type Change = fn(&Scene, &Path);
    let changes: [(&str, Change); 8] = [
        ("content of the same length", |scene, _| scene.layer("kept", "nEw\n")),
        ("a new file", |scene, _| scene.layer("more", "")),
        ("a file that is gone", |_, upper| fs::remove_file(upper.join("dir/added")).unwrap()),
        ("permission bits", |_, upper| run("chmod", &["755", upper.join("kept").to_str().unwrap()])),
        ("bits of a directory", |_, upper| run("chmod", &["700", upper.join("dir").to_str().unwrap()])),
        ("another kind", |_, upper| {
            fs::remove_file(upper.join("kept")).unwrap();
            std::os::unix::fs::symlink("dir/added", upper.join("kept")).unwrap();
        }),
        ("a held file", |scene, _| scene.layer(".envrc", "x\n")),
        ("a conflict", |scene, _| scene.host("dir/added", "the host's\n")),
    ];
    for (what, change) in changes {
        let scene = scene();
        let first = digest(&scene);
        change(&scene, &scene.workspace().layers().upper);
        assert_ne!(digest(&scene), first, "{what}");
        let before = scene.tree();
        let refused = scene.workspace().apply(&only(first.clone()), &mut Unwatched);
        assert!(
            matches!(refused, Err(ApplyError::Changed { ref wanted, .. }) if *wanted == first),
            "{what}: {refused:?}"
        );
        assert_eq!(scene.tree(), before, "{what}");
        scene.workspace().apply(&only(digest(&scene)), &mut Unwatched).unwrap();
    }
}

#[test]
fn digest_tells_a_sparse_file_by_its_data() {
    let scene = scene();
    let vast = |scene: &Scene, at: u64| {
        let file = fs::File::create(scene.workspace().layers().upper.join("vast")).unwrap();
        file.set_len(1 << 40).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"x", at).unwrap();
    };
    vast(&scene, 1 << 39);
    let first = digest(&scene);
    vast(&scene, (1 << 39) + 1);
    assert_ne!(digest(&scene), first);
    vast(&scene, 1 << 39);
    assert_eq!(digest(&scene), first);
}

/// Rewrites a file of the layer at the first step of a name, as a process that polder did not start can.
struct Rewriting {
    at: &'static str,
    file: PathBuf,
}

impl Watch for Rewriting {
    fn step(&mut self, what: &'static str) -> io::Result<()> {
        if what == self.at && self.file.exists() {
            let modified = fs::metadata(&self.file)?.modified()?;
            fs::write(&self.file, "evil\n")?;
            fs::File::options().write(true).open(&self.file)?.set_modified(modified)?;
            self.file = PathBuf::new();
        }
        Ok(())
    }
}

#[test]
fn rewrite_between_review_and_copy_is_not_applied() {
    for at in ["write the journal", "make a directory aside", "write a file aside"] {
        let scene = scene();
        let before = scene.tree();
        let mut watch = Rewriting { at, file: scene.workspace().layers().upper.join("dir/added") };
        let refused = scene.workspace().apply(&only(digest(&scene)), &mut watch);
        let Err(ApplyError::NotApplied { source, .. }) = refused else { panic!("{at}: {refused:?}") };
        assert!(source.to_string().contains("`dir/added` changed while it was applied"), "{at}: {source}");
        assert_eq!(scene.tree(), before, "{at}");
    }
    // The control: without a digest the rewrite is in the tree.
    let scene = scene();
    let mut watch = Rewriting { at: "write the journal", file: scene.workspace().layers().upper.join("dir/added") };
    scene.workspace().apply(&Choice::everything(), &mut watch).unwrap();
    assert_eq!(fs::read_to_string(scene.root().join("dir/added")).unwrap(), "evil\n");
}

/// Fails at the first step of a name and on the way back: an apply that was killed, to be resumed.
struct Killed(&'static str, bool);

impl Watch for Killed {
    fn step(&mut self, what: &'static str) -> io::Result<()> {
        self.1 |= what == self.0;
        if self.1 { Err(io::Error::other("killed")) } else { Ok(()) }
    }
}

#[test]
fn rewrite_before_a_resume_is_not_applied() {
    let scene = scene();
    let before = scene.tree();
    let killed = scene.workspace().apply(&only(digest(&scene)), &mut Killed("write a file aside", false));
    assert!(killed.is_err());
    if scene.workspace().is_interrupted() {
        scene.layer("dir/added", "evil\n");
        let _ = scene.workspace().resume(&mut Unwatched);
    }
    assert_eq!(scene.tree(), before);
}

#[test]
fn digest_is_of_the_whole_review_whatever_is_chosen() {
    let scene = scene();
    let whole = digest(&scene);
    scene.layer("elsewhere", "unseen\n");
    let hunks = BTreeMap::from([(Relative::new(Path::new("kept")).unwrap(), BTreeSet::from([1]))]);
    for choice in
        [Choice { paths: vec!["kept".into()], ..only(whole.clone()) }, Choice { hunks, ..only(whole.clone()) }]
    {
        let refused = scene.workspace().apply(&choice, &mut Unwatched);
        assert!(matches!(refused, Err(ApplyError::Changed { .. })), "{refused:?}");
    }
    let choice = Choice { paths: vec!["kept".into()], ..only(digest(&scene)) };
    scene.workspace().apply(&choice, &mut Unwatched).unwrap();
    assert_eq!(fs::read_to_string(scene.root().join("kept")).unwrap(), "new\n");
    assert!(!scene.root().join("elsewhere").exists());
}

#[test]
fn digest_of_the_last_diff_is_forgotten_by_an_apply() {
    let scene = scene();
    let workspace = scene.workspace();
    assert_eq!(workspace.last_digest().unwrap(), None);
    let seen = digest(&scene);
    workspace.remember_digest(&seen).unwrap();
    assert_eq!(scene.workspace().last_digest().unwrap(), Some(seen));
    scene.apply(&Choice::everything());
    assert_eq!(scene.workspace().last_digest().unwrap(), None);
}

#[test]
fn digest_is_64_hexadecimal_letters() {
    for wrong in ["", "abc", &"g".repeat(64), &"0".repeat(63), &"0".repeat(65)] {
        assert!(wrong.parse::<ReviewDigest>().is_err(), "{wrong}");
    }
    assert_eq!("AB".repeat(32).parse::<ReviewDigest>().unwrap().to_string(), "ab".repeat(32));
}

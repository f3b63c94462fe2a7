//! Which files count as written, and what stays of many spans.

use super::*;

/// A directory that goes with the test. Each test is its own process.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("polder-write-log-{}-{}", std::process::id(), now_ns()));
        fs::create_dir(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn span(tree: &Path, kind: WrittenTree, begin_ns: u128, end_ns: Option<u128>) -> WriteSpan {
    let inode = fs::metadata(tree).map_or(0, |found| found.ino());
    WriteSpan { tree: tree.to_owned(), inode, kind, begin_ns, end_ns }
}

#[test]
fn file_changed_in_span_counts_as_written_but_at_top() {
    let place = Scratch::new();
    let tree = fs::canonicalize(place.0.as_path()).expect("a path");
    fs::create_dir(tree.join("sub")).expect("a directory");
    for name in ["sub/polder.yaml", "polder.yaml", "other.yaml"] {
        fs::write(tree.join(name), "").expect("a file");
    }
    let now = now_ns();
    let during = span(&tree, WrittenTree::Workspace, 1, Some(now));
    let is_written = |name: &str, span: &WriteSpan| {
        let found = ObeyedFile::at(&tree.join(name));
        found.iter().any(|file| file.is_written_in(span))
    };
    assert!(is_written("sub/polder.yaml", &during));
    assert!(is_written("other.yaml", &during));
    assert!(!is_written("polder.yaml", &during), "held by the run itself");
    assert!(is_written("polder.yaml", &WriteSpan { kind: WrittenTree::Bind, ..during.clone() }));
    assert!(is_written("sub/polder.yaml", &WriteSpan { end_ns: None, ..during.clone() }), "a run at work");
    let moved = WriteSpan { tree: "/elsewhere".into(), ..during.clone() };
    assert!(is_written("sub/polder.yaml", &moved), "the tree was moved");
    assert!(!is_written("sub/polder.yaml", &WriteSpan { inode: 0, ..moved.clone() }), "another tree");
    assert!(!is_written("sub/polder.yaml", &WriteSpan { end_ns: Some(2), ..during.clone() }), "before");
    let later = now + 60_000_000_000;
    assert!(!is_written("sub/polder.yaml", &WriteSpan { begin_ns: later, end_ns: None, ..during.clone() }), "after");
    fs::hard_link(tree.join("polder.yaml"), tree.join("link")).expect("a link");
    assert!(
        is_written("polder.yaml", &WriteSpan { inode: 0, end_ns: None, ..moved }),
        "another hard link may lie anywhere"
    );
}

#[test]
fn spans_beyond_the_bound_are_joined_and_none_is_lost() {
    let place = Scratch::new();
    let (kept, tree) = (place.0.as_path(), place.0.as_path().join("tree"));
    fs::create_dir(&tree).expect("a directory");
    let gone = WriteSpan { tree: "/nowhere".into(), inode: 7, ..span(&tree, WrittenTree::Bind, 1, Some(2)) };
    add_spans(kept, &[gone]).expect("added");
    let mut all = Vec::new();
    for number in 0..4000_u128 {
        let begin = number * 100 + if number > 2000 { 1_000_000 } else { 0 };
        let one = span(&tree, WrittenTree::Workspace, begin, Some(begin + 10));
        all.push(begin);
        add_spans(kept, &[one]).expect("added");
    }
    let left = read_spans(kept).expect("spans");
    assert!(left.len() < 4000 && fs::metadata(kept.join(FILE)).expect("a file").len() < 128 * 1024);
    for begin in all {
        let holds = |span: &WriteSpan| span.begin_ns <= begin && span.end_ns.is_some_and(|end| end >= begin + 10);
        assert!(left.iter().any(holds), "{begin}");
    }
    let between = 2001 * 100 + 500_000;
    let holds = |span: &WriteSpan| span.begin_ns <= between && span.end_ns.is_some_and(|end| end >= between);
    assert!(!left.iter().any(holds), "a long gap stays");
    assert!(left.iter().all(|span| span.tree == tree), "a tree that is gone is dropped");
}

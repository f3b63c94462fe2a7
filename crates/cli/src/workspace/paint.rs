//! Changes as people read them: a unified diff in which nothing but polder speaks to the terminal.

use super::shown;
use crate::render::paint::{Paint, Tone};
use polder_workspace::{Change, GitChange, Hunk, Item, Line, NodeKind, Text, What, visible_line, visible_name};

/// One change, from its heading to its last line.
pub(crate) fn item(item: &Item, text: &Text, paint: Paint) -> String {
    let mut lines = vec![paint.wrap(Tone::Heading, &heading(&item.change))];
    lines.extend(notes(item).into_iter().map(|note| paint.wrap(Tone::Doubtful, &format!("  {note}"))));
    match text {
        Text::Hunks(hunks) => {
            let path = shown(&item.change.path);
            let name = |side: &str, there: bool| if there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
            lines.push(paint.wrap(Tone::Heading, &format!("--- {}", name("a", item.change.before.is_some()))));
            lines.push(paint.wrap(Tone::Heading, &format!("+++ {}", name("b", item.change.after.is_some()))));
            lines.extend(hunks.iter().enumerate().map(|(index, hunk)| self::hunk(hunk, index + 1, paint)));
        }
        Text::Binary => lines.push("  binary".to_owned()),
        Text::TooLarge => lines.push("  too large to be shown".to_owned()),
        Text::Hidden => lines.push("  the command could not see it, so its content is not shown".to_owned()),
        Text::None => {}
    }
    lines.join("\n")
}

/// What happened to a path, in one line.
pub(crate) fn heading(change: &Change) -> String {
    let path = shown(&change.path);
    let kind = |node: &Option<polder_workspace::Node>| node.as_ref().map_or("nothing", |node| node.kind.name());
    let target = |node: &Option<polder_workspace::Node>| match node.as_ref().map(|node| &node.kind) {
        Some(NodeKind::Symlink(target)) => format!(" -> {}", visible_name(target.as_encoded_bytes())),
        _ => String::new(),
    };
    let told = match &change.what {
        What::Added => format!("added {} {path}{}", kind(&change.after), target(&change.after)),
        What::Deleted => format!("deleted {} {path}{}", kind(&change.before), target(&change.before)),
        What::Modified => format!("modified {path}"),
        What::Mode => format!("mode {path}"),
        What::Type => {
            format!("type {path}: {} to {}{}", kind(&change.before), kind(&change.after), target(&change.after))
        }
        What::Target => format!("target {path}:{} to{}", target(&change.before), target(&change.after)),
        What::Renamed { from } => format!("renamed {} to {path}", shown(from)),
    };
    match change.modes() {
        Some((old, new)) => format!("{told} ({old:04o} to {new:04o})"),
        None => told,
    }
}

/// What stands against a change.
pub(crate) fn notes(item: &Item) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(item.refused.as_ref().map(|why| format!("never applied: {why}")));
    notes.extend(item.conflict.as_ref().map(|why| format!("conflict: {why}")));
    notes.extend(item.held.as_ref().map(|why| format!("held back: {why}")));
    notes.extend(item.note.map(|note| format!("note: {note}")));
    notes.extend(item.stripped.map(|bits| format!("without the bits {bits:04o}, which would give others' rights")));
    notes
}

/// Whether commits are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    Shown,
    Counted,
}

/// Letters of an object id that are enough to tell one commit from another.
const SHORT_ID: usize = 7;

/// Git's state in one repository: what moves, what stands against it, and the commits.
pub(crate) fn git(change: &GitChange, commits: Commits, paint: Paint) -> String {
    let mut lines = vec![paint.wrap(Tone::Heading, &format!("git {}: {}", repository(change), change.summary()))];
    lines.extend(git_notes(change).into_iter().map(|note| paint.wrap(Tone::Doubtful, &format!("  {note}"))));
    if commits == Commits::Shown {
        for moved in &change.refs {
            lines.extend(moved.commits.iter().map(|commit| {
                let id = commit.id.get(..SHORT_ID).unwrap_or(&commit.id);
                let author = visible_name(commit.author.as_bytes());
                format!("  {id} {author}: {}", visible_name(commit.subject.as_bytes()))
            }));
            let more = moved.count - moved.commits.len();
            lines.extend((more > 0).then(|| format!("  and {more} older commits")));
        }
    }
    lines.join("\n")
}

/// The git dir, as it can be shown.
pub(crate) fn repository(change: &GitChange) -> String {
    match change.repository.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => visible_name(change.repository.as_os_str().as_encoded_bytes()),
    }
}

/// What stands against git's state, or is left out of it.
fn git_notes(change: &GitChange) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(change.refused.as_ref().map(|why| format!("never applied: {why}")));
    notes.extend(change.conflict.as_ref().map(|why| format!("conflict: {why}")));
    notes.extend(change.held.as_ref().map(|why| format!("held back: {why}")));
    notes.extend(
        change
            .contained
            .iter()
            .map(|one| format!("held back: the commits or the index contain `{}`: {}", shown(&one.path), one.why)),
    );
    notes.extend(change.held_keys.iter().map(|(key, why)| format!("left out: the key `{key}`: {why}")));
    notes
}

/// One hunk, with its number.
pub(crate) fn hunk(hunk: &Hunk, number: usize, paint: Paint) -> String {
    // Lines are counted from 1, except where there is none.
    let range = |range: &std::ops::Range<usize>| {
        let start = if range.is_empty() { range.start } else { range.start + 1 };
        format!("{start},{}", range.len())
    };
    let mut text = paint.wrap(Tone::Place, &format!("@@ -{} +{} @@ hunk {number}", range(&hunk.old), range(&hunk.new)));
    for line in &hunk.lines {
        let (sign, bytes, tone) = match line {
            Line::Same(bytes) => (' ', bytes, None),
            Line::Removed(bytes) => ('-', bytes, Some(Tone::Bad)),
            Line::Added(bytes) => ('+', bytes, Some(Tone::Good)),
        };
        let body = format!("{sign}{}", visible_line(bytes.strip_suffix(b"\n").unwrap_or(bytes)));
        text.push('\n');
        text.push_str(&tone.map_or(body.clone(), |tone| paint.wrap(tone, &body)));
        if !bytes.ends_with(b"\n") {
            text.push_str("\n\\ No newline at end of file");
        }
    }
    text
}

/// Lines that came and went.
pub(crate) fn counted(text: &Text) -> Option<(usize, usize)> {
    let Text::Hunks(hunks) = text else { return None };
    let count =
        |wanted: fn(&Line) -> bool| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| wanted(line)).count();
    Some((count(|line| matches!(line, Line::Added(_))), count(|line| matches!(line, Line::Removed(_)))))
}

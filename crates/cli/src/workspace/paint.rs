//! Changes as people read them: a unified diff in which nothing but polder speaks to the terminal.

use super::shown;
use crate::render::paint::{Paint, Tone};
use polder_workspace::{Change, Hunk, Item, Line, NodeKind, Text, What, visible_line, visible_name};

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
    notes.extend(item.held.map(|why| format!("held back: {why}")));
    notes.extend(item.note.map(|note| format!("note: {note}")));
    notes.extend(item.stripped.map(|bits| format!("without the bits {bits:04o}, which would give others' rights")));
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

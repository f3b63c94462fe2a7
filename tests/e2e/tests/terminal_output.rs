//! What polder prints on a terminal and nowhere else: colours, a pager, a rendered manual.
#![forbid(unsafe_code)]

use polder_e2e::{Place, on_a_terminal};

fn terminal(place: &Place, script: &str) {
    let said = on_a_terminal(place, script);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn steps_on_a_terminal_have_colours() {
    let place = Place::new();
    place.write("work/polder.yaml", "steps:\n  good: {exec: 'true'}\n  bad: {exec: 'false'}\n");
    terminal(
        &place,
        r#"
t = Terminal([POLDER, 'steps'])
assert t.end() == 1, t.seen
for word in ('good \x1b[32mpassed\x1b[0m', 'bad \x1b[31mfailed\x1b[0m', 'good  \x1b[32mpassed\x1b[0m  '):
    assert word in t.seen, (word, t.seen)
os.environ['NO_COLOR'] = '1'
t = Terminal([POLDER, 'steps'])
assert t.end() == 1 and 'bad failed' in t.seen and '\x1b[3' not in t.seen, t.seen
"#,
    );
    let piped = place.says(&["steps"]);
    assert!(piped.err.contains("bad failed") && !piped.err.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn long_listing_goes_through_the_pager_on_a_terminal() {
    let place = Place::new();
    terminal(
        &place,
        r#"
os.environ['PAGER'] = 'sed s/^/PAGED:/'
def shown(*words):
    t = Terminal([POLDER, *words])
    return t.end(), t.seen
for words in (['doctor'], ['config', 'show'], ['audit', 'show']):
    code, seen = shown(*words)
    assert code == 0 and ('PAGED:' in seen or words[0] == 'audit'), (words, code, seen)
for words in (['config', 'show', '--no-pager'], ['config', 'show', '--json'], ['config', 'check']):
    code, seen = shown(*words)
    assert code == 0 and 'PAGED:' not in seen, (words, code, seen)
for none in ('', 'cat'):
    os.environ['PAGER'] = none
    code, seen = shown('config', 'show')
    assert code == 0 and 'engine' in seen, seen
# A user who quits has seen enough.
os.environ['PAGER'] = 'head -n 1'
code, seen = shown('config', 'show')
assert code == 0 and len(seen.splitlines()) == 1, (code, seen)
# A pager that is not there must not swallow the listing in silence.
os.environ['PAGER'] = '/nonexistent/pager'
code, seen = shown('config', 'show')
assert code == 125 and '--no-pager' in seen, (code, seen)
"#,
    );
    let piped = place.polder(&["config", "show"]).env("PAGER", "sed s/^/PAGED:/").output().expect("polder");
    let text = String::from_utf8_lossy(&piped.stdout).into_owned();
    assert!(piped.status.success() && text.contains("engine") && !text.contains("PAGED:"), "{text}");
}

#[test]
fn pager_gets_nothing_that_speaks_to_a_terminal() {
    let place = Place::new();
    let run = place.says(&["run", "--workspace", "demo", "--", "sh", "-c", r"printf 'a\033[2Jb\n' > file"]);
    assert_eq!(run.code, 0, "{run:?}");
    terminal(
        &place,
        r#"
os.environ.update(PAGER='cat -v', NO_COLOR='1')
t = Terminal([POLDER, 'workspace', 'diff', 'demo'])
assert t.end() == 0 and 'file' in t.seen and '2Jb' in t.seen and '^[' not in t.seen, t.seen
"#,
    );
}

#[test]
fn man_shows_a_page() {
    let place = Place::new();
    let page = place.says(&["man", "workspace", "diff"]);
    assert!(page.code == 0 && page.out.contains(".TH polder-workspace-diff 1"), "{page:?}");
    assert!(place.says(&["man"]).out.contains(".TH polder 1"));
    let wrong = place.says(&["man", "docter"]);
    assert!(wrong.code == 125 && wrong.err.contains("did you mean `doctor`?"), "{wrong:?}");
    place.sh(
        "mkdir ../bin; printf '#!/bin/sh\\necho MAN \"$@\"; grep -c polder-run\\n' > ../bin/man; chmod +x ../bin/man",
    );
    terminal(
        &place,
        r#"
os.environ['PATH'] = os.getcwd() + '/../bin:' + os.environ['PATH']
t = Terminal([POLDER, 'man', 'run'])
assert t.end() == 0 and re.fullmatch(r'MAN -l -\s+\d+\s+', t.seen), t.seen
"#,
    );
}

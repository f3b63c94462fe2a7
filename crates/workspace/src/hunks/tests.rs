use super::*;
use proptest::prelude::*;

fn numbered(count: usize) -> String {
    (0..count).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn changes_far_apart_are_hunks_of_their_own() {
    let old = numbered(40);
    let new = old.replace("line 5\n", "changed\n").replace("line 30\n", "").replace("line 32\n", "also\n");
    let found = hunks(old.as_bytes(), new.as_bytes());
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].old.clone(), found[0].new.clone()), (2..9, 2..9));
    assert_eq!((found[1].old.clone(), found[1].new.clone()), (27..36, 27..35));
    assert_eq!(found[0].lines[3], Line::Removed(b"line 5\n".to_vec()));
    assert_eq!(found[0].lines[4], Line::Added(b"changed\n".to_vec()));
}

#[test]
fn one_hunk_can_be_taken_without_the_other() {
    let old = numbered(40);
    let first = old.replace("line 5\n", "changed\n");
    let both = first.replace("line 30\n", "");
    let take = |numbers: &[usize]| taken(old.as_bytes(), both.as_bytes(), &numbers.iter().copied().collect());
    assert_eq!(take(&[1]), first.as_bytes());
    assert_eq!(take(&[2]), old.replace("line 30\n", "").as_bytes());
    assert_eq!(take(&[1, 2]), both.as_bytes());
    assert_eq!(take(&[]), old.as_bytes());
    assert_eq!(take(&[9]), old.as_bytes());
}

proptest! {
    #[test]
    fn all_hunks_make_the_new_text_and_none_the_old(old in "[ab\n]{0,200}", new in "[ab\n]{0,200}") {
        let count = hunks(old.as_bytes(), new.as_bytes()).len();
        prop_assert_eq!(taken(old.as_bytes(), new.as_bytes(), &(1..=count).collect()), new.as_bytes());
        prop_assert_eq!(taken(old.as_bytes(), new.as_bytes(), &BTreeSet::new()), old.as_bytes());
    }

    #[test]
    fn a_hunk_covers_as_many_lines_as_it_says(old in "[ab\n]{0,200}", new in "[ab\n]{0,200}") {
        for hunk in hunks(old.as_bytes(), new.as_bytes()) {
            let count = |wanted: fn(&Line) -> bool| hunk.lines.iter().filter(|line| wanted(line)).count();
            prop_assert_eq!(count(|line| !matches!(line, Line::Added(_))), hunk.old.len());
            prop_assert_eq!(count(|line| !matches!(line, Line::Removed(_))), hunk.new.len());
        }
    }
}

#[test]
fn a_nul_byte_makes_it_binary() {
    assert!(is_binary(b"a\0b") && !is_binary(b"text") && !is_binary(b""));
}

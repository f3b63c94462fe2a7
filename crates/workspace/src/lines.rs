//! Which lines of two texts differ: Myers' algorithm in linear space ("An O(ND) Difference Algorithm and Its Variations",
//! 1986).
//!
//! The same texts give the same answer every time, because hunks are applied by their number; so what bounds the work is a
//! count and not a clock.

use std::collections::BTreeMap;
use std::ops::Range;

/// How many differing lines are looked through before a stretch counts as replaced altogether.
const DIFFERENCES_MAX: isize = 2048;

/// A stretch of the old lines and the stretch of the new lines that stands in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// A text as its lines, each with its line break.
pub(crate) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The stretches in which two texts differ, in order.
pub(crate) fn regions(old: &[&[u8]], new: &[&[u8]]) -> Vec<Region> {
    let mut numbers: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut numbered = |line| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(|line| numbered(*line)).collect();
    let new: Vec<u32> = new.iter().map(|line| numbered(*line)).collect();
    let mut found = Vec::new();
    differ(&old, &new, 0, 0, &mut found);
    found
}

fn differ(old: &[u32], new: &[u32], old_at: usize, new_at: usize, found: &mut Vec<Region>) {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new, old_at, new_at) = (&old[same..], &new[same..], old_at + same, new_at + same);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return;
    }
    let whole = Region { old: old_at..old_at + old.len(), new: new_at..new_at + new.len() };
    let middle = if old.is_empty() || new.is_empty() { None } else { middle(old, new) };
    match middle.filter(|point| *point != (0, 0) && *point != (old.len(), new.len())) {
        Some((x, y)) => {
            differ(&old[..x], &new[..y], old_at, new_at, found);
            differ(&old[x..], &new[y..], old_at + x, new_at + y, found);
        }
        // Two stretches that touch are one.
        None => match found.last_mut() {
            Some(last) if last.old.end == whole.old.start && last.new.end == whole.new.start => {
                last.old.end = whole.old.end;
                last.new.end = whole.new.end;
            }
            _ => found.push(whole),
        },
    }
}

/// A point that lies on a shortest path from one text to the other, found from both ends at once.
fn middle(old: &[u32], new: &[u32]) -> Option<(usize, usize)> {
    let (n, m) = (old.len() as isize, new.len() as isize);
    let delta = n - m;
    let most = ((n + m + 1) / 2).min(DIFFERENCES_MAX);
    let offset = most + 1;
    let mut forward = vec![0_isize; (2 * most + 3) as usize];
    let mut backward = forward.clone();
    let at = |k: isize| (offset + k) as usize;
    let step = |reached: &[isize], k: isize, d: isize| {
        let down = k == -d || (k != d && reached[at(k - 1)] < reached[at(k + 1)]);
        if down { reached[at(k + 1)] } else { reached[at(k - 1)] + 1 }
    };
    for d in 0..=most {
        for k in (-d..=d).step_by(2) {
            let start = step(&forward, k, d);
            let mut x = start;
            while x < n && x >= k && x - k < m && old[x as usize] == new[(x - k) as usize] {
                x += 1;
            }
            forward[at(k)] = x;
            if delta % 2 != 0 && (delta - k).abs() < d && x + backward[at(delta - k)] >= n {
                return inside(start, start - k, n, m);
            }
        }
        for k in (-d..=d).step_by(2) {
            let mut x = step(&backward, k, d);
            while x < n && x >= k && x - k < m && old[(n - x - 1) as usize] == new[(m - (x - k) - 1) as usize] {
                x += 1;
            }
            backward[at(k)] = x;
            if delta % 2 == 0 && (delta - k).abs() <= d && x + forward[at(delta - k)] >= n {
                return inside(n - x, m - (x - k), n, m);
            }
        }
    }
    None
}

/// A point beyond the edge cannot be split at.
fn inside(x: isize, y: isize, n: isize, m: isize) -> Option<(usize, usize)> {
    let fits = (0..=n).contains(&x) && (0..=m).contains(&y);
    fits.then_some((x as usize, y as usize))
}

#[cfg(test)]
mod tests {
    use super::{Region, regions, split};
    use proptest::prelude::*;

    /// Puts the new text together from the old one and the regions.
    fn rebuilt(old: &[&[u8]], new: &[&[u8]], regions: &[Region]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut at = 0;
        for region in regions {
            text.extend(old[at..region.old.start].concat());
            text.extend(new[region.new.clone()].concat());
            at = region.old.end;
        }
        text.extend(old[at..].concat());
        text
    }

    /// The length of a longest common subsequence, by the textbook.
    fn common(old: &[&[u8]], new: &[&[u8]]) -> usize {
        let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (i, a) in old.iter().enumerate() {
            for (j, b) in new.iter().enumerate() {
                table[i + 1][j + 1] = if a == b { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
            }
        }
        table[old.len()][new.len()]
    }

    proptest! {
        #[test]
        fn regions_lead_from_old_to_new_by_the_shortest_way(old in "[ab\n]{0,60}", new in "[ab\n]{0,60}") {
            let (a, b) = (split(old.as_bytes()), split(new.as_bytes()));
            let found = regions(&a, &b);
            prop_assert_eq!(rebuilt(&a, &b, &found), new.as_bytes());
            let (gone, added): (usize, usize) =
                found.iter().fold((0, 0), |sum, region| (sum.0 + region.old.len(), sum.1 + region.new.len()));
            prop_assert_eq!(a.len() - gone, common(&a, &b));
            prop_assert_eq!(b.len() - added, common(&a, &b));
        }
    }

    #[test]
    fn texts_that_have_nothing_in_common_end_soon() {
        let old: String = (0..100_000).map(|line| format!("a{line}\n")).collect();
        let new: String = (0..100_000).map(|line| format!("b{line}\n")).collect();
        let (a, b) = (split(old.as_bytes()), split(new.as_bytes()));
        assert_eq!(regions(&a, &b).len(), 1);
    }
}

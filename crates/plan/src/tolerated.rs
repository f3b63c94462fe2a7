//! Writes that programs try and do without. Pure: the list is data.

use std::path::Path;

/// Where, path, program and reason of each.
const LIST: &str = include_str!("tolerated.txt");

/// Whether programs do without writing this path.
pub fn is_optional_write(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    rows().any(|(place, what)| match place {
        "name" => path.components().any(|part| part.as_os_str() == what),
        "end" => name.ends_with(what),
        _ => path.starts_with(what),
    })
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        Some((cells.next()?, cells.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_known_place_and_a_reason() {
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            assert!(matches!(cells[..], ["name" | "end" | "root", _, _, reason] if !reason.is_empty()), "{line}");
        }
    }

    #[test]
    fn optional_writes_are_found_by_name_end_and_place() {
        for path in ["/usr/lib/x/__pycache__", "/usr/lib/x/__pycache__/a.1", "/srv/a.pyc", "/var/cache/man/index.db"] {
            assert!(is_optional_write(Path::new(path)), "{path}");
        }
        for path in ["/usr/lib/x", "/srv/pycache", "/var/cache/manual", "/srv/a.py"] {
            assert!(!is_optional_write(Path::new(path)), "{path}");
        }
    }
}

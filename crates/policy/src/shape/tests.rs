use super::*;

/// Every table that can be reached from the top of a file.
fn tables(shape: &Shape, found: &mut Vec<&'static Table>) {
    match shape {
        Shape::Map(table) if !found.iter().any(|known| known.name == table.name) => {
            found.push(table);
            table.keys.iter().copied().flatten().for_each(|key| tables(&key.shape, found));
        }
        Shape::MapOf(shape) | Shape::ListOf(shape) => tables(shape, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| tables(shape, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_there_once_and_says_what_it_is_for() {
    let mut found = Vec::new();
    for table in [&TOP, &STEP, &SPEC] {
        tables(&Shape::Map(table), &mut found);
    }
    assert!(found.len() > 10);
    for table in found {
        for dialect in [Dialect::Own, Dialect::Visor] {
            let mut names: Vec<_> = table.keys(dialect).map(|key| key.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", table.name);
            assert!(table.keys(dialect).all(|key| !key.doc.is_empty() && !key.doc.ends_with('.')));
        }
    }
}

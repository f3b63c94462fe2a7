use super::*;
use polder_facts::Sourced;

pub(crate) fn step(name: &str, waits_for: &[&str]) -> Step {
    let here = |text: &str| Sourced::new(text.to_owned(), Origin::Api);
    Step {
        name: name.to_owned(),
        origin: Origin::Api,
        kind: here("command"),
        exec: Some(here("true")),
        command: None,
        sandbox: None,
        depends_on: waits_for.iter().map(|name| here(name)).collect(),
        continue_on_failure: false,
        condition: None,
        stdin: None,
        services: Vec::new(),
        env: Vec::new(),
        unread: Vec::new(),
    }
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().map(|node| node.name.as_str()).collect()
}

#[test]
fn the_order_is_that_of_the_files_as_far_as_waiting_allows() {
    let steps = [step("z", &["b"]), step("a", &[]), step("b", &[]), step("m", &["z", "a|b"])];
    let graph = Graph::of(&steps, &[]).unwrap();
    assert_eq!(names(&graph), ["a", "b", "z", "m"]);
    assert_eq!(graph.nodes[3].waits_for, [vec![2], vec![0, 1]]);
    assert_eq!(graph.before(3).into_iter().collect::<Vec<_>>(), ["a", "b", "z"]);
}

#[test]
fn a_named_step_brings_what_it_waits_for_and_nothing_else() {
    let steps = [step("a", &[]), step("b", &["a"]), step("c", &["b"]), step("d", &[])];
    assert_eq!(names(&Graph::of(&steps, &["b".to_owned()]).unwrap()), ["a", "b"]);
    let fault = Graph::of(&steps, &["x".to_owned()]).unwrap_err().to_string();
    assert!(fault.contains("there is no step `x`") && fault.contains("defined are a, b, c, d"), "{fault}");
}

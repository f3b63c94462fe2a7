use super::*;
use crate::testing::{document, layers};

fn found(text: &str) -> Result<Vec<String>, String> {
    let layers = layers(vec![document("polder.yaml", text)]);
    let all = steps(&layers).map_err(|faults| faults.to_string())?;
    let found = services(&layers, &all[0]).map_err(|faults| faults.to_string())?;
    Ok(found.into_iter().map(|service| service.step.name).collect())
}

const TWO: &str = "services:
  web: {exec: serve, ready: {port: 8080}, depends_on: db}
  db: {command: [db], ready: {exec: 'db ping', timeout: 5s}}
  unused: {exec: x, ready: {port: 8080}}
";

#[test]
fn services_come_behind_those_that_they_depend_on_and_unused_ones_do_not_come() {
    assert_eq!(found(&format!("{TWO}steps: {{t: {{exec: x, services: [web, db]}}}}")).unwrap(), ["db", "web"]);
    assert_eq!(found(&format!("{TWO}steps: {{t: {{exec: x}}}}")).unwrap(), [""; 0]);
}

#[test]
fn what_cannot_be_is_a_fault() {
    for (text, wanted) in [
        (format!("{TWO}steps: {{t: {{exec: x, services: wbe}}}}"), "there is no service `wbe`; did you mean `web`?"),
        (format!("{TWO}steps: {{t: {{exec: x, services: [web, unused]}}}}"), "both listen on port 8080"),
        (
            "services: {a: {exec: x, ready: {port: 8001}, depends_on: b}, b: {exec: x, ready: {port: 8002}, depends_on: a}}\n\
             steps: {t: {exec: x, services: a}}"
                .to_owned(),
            "the services wait for each other: `a` waits for `b` waits for `a`",
        ),
        (
            "services: {a: {ready: {port: 8001}}}\nsteps: {t: {exec: x, services: a}}".to_owned(),
            "the service `a` has no `exec` and no `command`",
        ),
        (
            "services: {a: {exec: x, sandbox: none, ready: {port: 8001}}}\nsteps: {t: {exec: x, services: a}}".to_owned(),
            "a service cannot go without a sandbox",
        ),
    ] {
        let faults = found(&text).unwrap_err();
        assert!(faults.contains(wanted), "{text}: {faults}");
    }
}

#[test]
fn a_service_says_when_it_is_ready_in_one_way() {
    for (ready, wanted) in [
        ("{}", "`ready` needs one of"),
        ("{port: 8001, exec: x}", "`ready` needs one of"),
        ("{port: 70000}", "`70000` is not a port"),
        ("{port: 80}", "nobody without privileges can listen on port 80"),
        ("{port: 8001, timeout: soon}", "`timeout`"),
        ("80", "`ready` must be a map"),
    ] {
        let text = format!("services: {{a: {{exec: x, ready: {ready}}}}}");
        let faults = crate::testing::parsed("polder.yaml", &text, crate::Level::Project).unwrap_err().to_string();
        assert!(faults.contains(wanted), "{ready}: {faults}");
    }
    let visor = "steps: {a: {type: command, exec: x, services: [db]}}";
    let faults = crate::testing::parsed(".visor.yaml", visor, crate::Level::Project).unwrap_err().to_string();
    assert!(faults.contains("unknown key `services`") && faults.contains("polder.yaml"), "{faults}");
}

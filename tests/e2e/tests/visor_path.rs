//! `visor_path`: the program that runs a step, inside.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

fn says(place: &Place, words: &[&str]) -> Said {
    place.polder(words).output().expect("polder").into()
}

#[test]
fn the_program_is_where_the_key_says_and_cannot_be_changed() {
    let place = Place::new();
    let own = says(&place, &["--version"]);
    let script = "/opt/visor/polder --version; echo x >>/opt/visor/polder; rm -f /opt/visor/polder; ls /opt/visor";
    let run = ["run", "--", "sh", "-c", script];
    let without = says(&place, &run);
    assert!(!without.out.contains(&own.out), "the control: {without:?}");
    for (name, text) in [
        ("polder.yaml", "sandboxes: {box: {engine: native, visor_path: /opt/visor}}\nsandbox: box\n"),
        (".visor.yaml", "sandboxes: {box: {engine: bubblewrap, visor_path: /opt/visor}}\nsandbox: box\n"),
    ] {
        let place = Place::new().trusting();
        place.write(format!("work/{name}"), text);
        let said = says(&place, &run);
        assert_eq!(said.out, format!("{}polder\n", own.out), "{name}: {said:?}");
    }
}

//! What a command notices of the guard of names that do not exist yet: nothing but the names.
#![forbid(unsafe_code)]

use polder_e2e::Place;

/// Whoever makes files where new names are guarded is brought to another CPU for a moment, and may run where it could before.
#[test]
fn a_guarded_command_keeps_its_cpus() {
    let place = Place::new();
    assert!(!place.work().join(".git").exists(), "names are guarded where there is no repository");
    let allowed = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status";
    let make = "for i in 1 2 3 4; do echo $i > new$i; echo again > new$i; done";
    let outside = place.sh(allowed).out;
    let one: String = outside.chars().take_while(char::is_ascii_digit).collect();
    let script = format!("{allowed}; {make}; {allowed}; taskset -cp {one} $$ > /dev/null; {make}; {allowed}");
    let said = place.says(&["run", "--", "sh", "-c", &script]);
    assert_eq!(said.out, format!("{outside}{outside}{one}\n"), "{said:?}");
    // A child that is made right after a file: it has the CPUs that its parent has at that moment.
    let script = format!("for i in $(seq 300); do : > file$i; {allowed}; {allowed} < file$i; done | sort -u");
    let said = place.says(&["run", "--", "sh", "-c", &script]);
    assert_eq!(said.out, outside, "{said:?}");
}

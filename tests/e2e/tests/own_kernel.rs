//! Commands by a runtime with a kernel of its own, gVisor's, where the machine has it.
#![forbid(unsafe_code)]

use polder_e2e::{Daemon, Place, Said, docker, image, until, with_runtime};
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    with_runtime(&[
        ("the_kernel_is_another_one_and_the_walls_hold", the_kernel_is_another_one_and_the_walls_hold),
        ("limits_hold_and_memory_is_told", limits_hold_and_memory_is_told),
        ("a_command_whose_time_is_up_is_dead_and_nothing_stays", a_command_whose_time_is_up_is_dead_and_nothing_stays),
        ("streams_have_no_size_and_a_closed_one_ends_the_command", streams_have_no_size),
        ("what_does_not_hold_is_refused_or_accepted_by_name", what_does_not_hold_is_refused_or_accepted_by_name),
    ])
}

const RUN: [&str; 5] = ["run", "--accept", "second-layer", "--accept", "protect"];

fn daemon() -> Daemon {
    docker().expect("a declared daemon")
}

fn configure(place: &Place, runtime: &str, more: &str) {
    let image = image();
    let keys = format!("engine: docker, image: '{image}', network: false, options: {{runtime: {runtime}}}{more}");
    place.write("work/polder.yaml", format!("sandboxes:\n  box: {{{keys}}}\nsandbox: box\n"));
}

fn script<'a>(text: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more, &["--", "sh", "-c", text]].concat()
}

/// Runs to the end, after which nothing stays.
fn run(place: &Place, words: &[&str]) -> Said {
    let daemon = daemon();
    let mut command = daemon.polder(place, words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    let id = child.id();
    let said = child.wait_with_output().expect("an end").into();
    nothing_stays(&daemon, id);
    said
}

fn nothing_stays(daemon: &Daemon, id: u32) {
    assert_eq!(daemon.containers_of(id), "[]");
    let left = fs::read_dir("/tmp").expect("/tmp").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains(&format!("-{id}-"))).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn the_kernel_is_another_one_and_the_walls_hold() {
    let place = Place::new();
    configure(&place, "runsc", ", deny_read: [secret, hidden]");
    place.write("work/secret", "a secret");
    place.write("work/hidden/file", "a secret");
    place.write("work/.git/config", "kept");
    place.write("work/read", "seen");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(TcpStream::connect(("127.0.0.1", port)).expect("the control: it listens"));
    let text = format!(
        "uname -r >kernel; dmesg | grep -c gVisor; cat read; echo; cat secret hidden/file; echo x >.git/config; \
         mv .git other; mv hidden other; rm -r secret; echo x >/bin/x; echo x >polder.yaml; echo n >.visor.yaml; \
         grep -c : /proc/net/dev; nc -w 2 127.0.0.1 {port} </dev/null; grep -c :.0000000000000000 /proc/self/status; \
         echo \"$VALUE $PATH\" >&2; test -w \"$HOME\" && touch made; while ! test -e go; do sleep 0.1; done; exit 7"
    );
    let words = script(&text, &["--env", "VALUE=a-token-of-mine"]);
    let daemon = daemon();
    let mut command = daemon.polder(&place, &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    let id = child.id();
    until("the command", || place.has("work/made"));
    // While it runs: what the daemon knows of it.
    let listed: serde_json::Value = serde_json::from_str(&daemon.containers_of(id)).expect("JSON");
    let inspected = daemon.inspected(listed[0]["Id"].as_str().expect("a container"));
    assert!(inspected.contains("polder-inmate"), "the control: {inspected}");
    assert!(!inspected.contains("a-token-of-mine") && !inspected.contains("uname"), "{inspected}");
    place.write("work/go", "");
    let said: Said = child.wait_with_output().expect("an end").into();
    nothing_stays(&daemon, id);
    assert_eq!((said.code, said.out.as_str()), (7, "1\nseen\n1\n4\n"), "{said:?}");
    assert!(said.err.contains("a-token-of-mine ") && said.err.contains(" /bin:/usr/bin\n"), "{said:?}");
    assert!(said.err.contains("127.0.0.1): Connection refused"), "{said:?}");
    listener.set_nonblocking(true).expect("a mode");
    assert!(listener.accept().is_ok() && listener.accept().is_err(), "nobody but the control came");
    let own = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    assert_ne!(place.read("work/kernel").trim(), own.trim());
    assert!(!said.out.contains("secret") && said.err.contains("can't open 'secret': Permission denied"), "{said:?}");
    assert_eq!((place.read("work/secret"), place.read("work/hidden/file")), ("a secret".into(), "a secret".into()));
    assert_eq!(place.read("work/.git/config"), "kept");
    assert!(place.read("work/polder.yaml").contains("sandboxes"), "{said:?}");
    assert!(!place.has("work/.visor.yaml"), "what the next run would obey is set aside: {said:?}");
    let owner = |path| fs::metadata(path).expect("a file").uid();
    assert_eq!(owner(place.work().join("made")), owner(place.work()), "files belong to the caller");
}

fn limits_hold_and_memory_is_told() {
    let place = Place::new();
    configure(&place, "runsc", "");
    let text = "ulimit -n; for i in $(seq 30); do sleep 1 & done; echo forked";
    let said = run(&place, &script(text, &["--pids", "10", "--files", "64", "--disk", "4M"]));
    assert!(said.out.starts_with("64\n") && said.err.contains("can't fork"), "{said:?}");
    let fill = "dd if=/dev/zero of=/tmp/x bs=1M count=30 2>&1 | grep -c 'No space left'; tail /dev/zero; echo survived";
    let said = run(&place, &script(fill, &["--disk", "4M", "--memory", "64M"]));
    assert_eq!((said.code, said.out.as_str()), (137, "1\n"), "{said:?}");
    assert!(said.err.contains("memory"), "the limit is told: {said:?}");
    // The control: without them the same is done; with less memory, for it takes its time in there.
    let control = "for i in $(seq 30); do sleep 0 & done; dd if=/dev/zero of=/tmp/x bs=1M count=30 2>&1 | \
                   grep -c 'No space left'; head -c 30000000 /dev/zero | tail -c 20000000 | wc -c; echo forked";
    let said = run(&place, &script(control, &[]));
    assert_eq!((said.code, said.out.as_str()), (0, "0\n20000000\nforked\n"), "{said:?}");
}

fn a_command_whose_time_is_up_is_dead_and_nothing_stays() {
    let (place, daemon) = (Place::new(), daemon());
    configure(&place, "runsc", "");
    let stubborn = "trap : TERM INT HUP; touch begun; while :; do sleep 0.1; echo x >>alive; done";
    let said = run(&place, &script(stubborn, &["--timeout", "1s"]));
    assert_eq!(said.code, 124, "{said:?}");
    let lines = place.read("work/alive").len();
    for signal in ["KILL", "TERM"] {
        fs::remove_file(place.work().join("begun")).expect("it had begun");
        let mut command = daemon.polder(&place, &script("touch begun; sleep 600", &[]));
        let mut polder = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("polder");
        until("the command", || place.has("work/begun"));
        let id = polder.id();
        assert_ne!(daemon.containers_of(id), "[]", "the control: there is a container");
        assert!(Command::new("kill").args(["-s", signal, &id.to_string()]).status().expect("kill").success());
        polder.wait().expect("the end of polder");
        until("the end of the container", || daemon.containers_of(id) == "[]");
    }
    assert_eq!(place.read("work/alive").len(), lines, "the first one wrote no more");
}

fn streams_have_no_size() {
    let place = Place::new();
    configure(&place, "runsc", "");
    let daemon = daemon();
    let mut command = daemon.polder(&place, &script("cat; echo said >&2", &[]));
    let mut polder =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    let mut input = polder.stdin.take().expect("an input");
    let sent: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let bytes = sent.clone();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = polder.wait_with_output().expect("an end");
    writer.join().expect("a writer").expect("written");
    assert!(output.stdout == sent, "{} of {} bytes came back", output.stdout.len(), sent.len());
    assert!(String::from_utf8_lossy(&output.stderr).contains("said\n"), "{output:?}");
    // A command whose reader is gone ends, as one that writes to a closed pipe.
    let mut command = daemon.polder(&place, &script("yes", &[]));
    let mut polder = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("polder");
    drop(polder.stdout.take());
    let code = polder.wait().expect("an end").code();
    assert!(matches!(code, Some(141 | 1)), "{code:?}");
    nothing_stays(&daemon, polder.id());
}

fn what_does_not_hold_is_refused_or_accepted_by_name() {
    let place = Place::new();
    let refused = |words: &[&str], why: &str| {
        let said = run(&place, words);
        assert_eq!(said.code, 125, "{why}: {said:?}");
        assert!(said.err.contains(why), "{why}: {}", said.err);
        assert!(!place.has("work/ran"), "{why}: something ran");
    };
    configure(&place, "runsc", "");
    refused(&["run", "--", "touch", "ran"], "there is no Landlock in `runsc`");
    let touch = script("touch ran", &[]);
    refused(&script("touch ran", &["--network", "full"]), "has no network");
    refused(&script("touch ran", &["--cow"]), "layer of this kernel's");
    refused(&script("touch ran", &["--observe", "exact"]), "observe: off");
    let said = run(&place, &[&RUN[..], &["--dry-run", "--json", "--", "true"]].concat());
    let plan: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert!(plan.to_string().contains(r#""class":"vm""#), "{plan}");
    // A runtime that has the name and not the kernel.
    configure(&place, "runsc-without-a-kernel", "");
    refused(&touch, "`runsc-without-a-kernel` has no kernel of its own");
    let said = run(&place, &[&RUN[..], &["--", "/no/such/program"]].concat());
    assert_eq!(said.code, 125, "{said:?}");
    configure(&place, "runsc", "");
    assert_eq!(run(&place, &[&RUN[..], &["--", "/no/such/program"]].concat()).code, 127);
    assert_eq!(run(&place, &touch).code, 0, "the control");
    assert!(place.has("work/ran"));
}

//! Calls and room that ordinary programs count on, with the programs that do.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A shell text in the sandbox.
fn inside(place: &Place, flags: &[&str], script: &str) -> Said {
    let arguments: Vec<&str> = [&["run"], flags, &["--", "sh", "-c", script]].concat();
    place.says(&arguments)
}

fn mode(place: &Place, path: &str) -> u32 {
    fs::metadata(place.work().join(path)).expect("it is there").permissions().mode() & 0o7777
}

#[test]
fn directories_get_the_setgid_bit_and_files_do_not() {
    let place = Place::new();
    for observe in ["cheap", "exact"] {
        let script = "install -d -m 2775 shared && git init --quiet --shared repository && mkdir -m 2770 made &&
            touch program && ! chmod 2755 program && ! chmod 6755 shared &&
            python3 -c 'import os; d = os.open(\"made\", os.O_RDONLY); os.fchmod(d, 0o2750); os.mkdir(\"plain\", 0o2700)'";
        let said = inside(&place, &["--observe", observe], script);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!((mode(&place, "shared"), mode(&place, "made")), (0o2775, 0o2750), "{observe}");
        assert_eq!(mode(&place, "repository/.git/objects") & 0o2070, 0o2070, "{observe}");
        assert_eq!(mode(&place, "program") & 0o6000, 0, "{observe}");
        assert_eq!(mode(&place, "plain"), 0o700, "mkdir(2) takes no such bit, inside as outside");
        // The control: on the host the same call gives a file the bit.
        let said = place.sh("chmod 2755 program");
        assert_eq!((said.code, mode(&place, "program")), (0, 0o2755), "{said:?}");
        assert_eq!(place.sh("rm -rf shared repository made program plain").code, 0);
    }
}

#[test]
fn a_process_limits_itself_and_its_children_and_not_the_shim() {
    let place = Place::new();
    let said =
        inside(&place, &[], "prlimit --nofile=100:100 sh -c 'ulimit -n'; prlimit --pid $$ --nofile=90:90; ulimit -n");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "100\n90\n", ""), "{said:?}");
    let said = inside(&place, &[], "prlimit --pid 1 --nofile=90:90");
    assert!(said.code == 1 && said.err.contains("Operation not permitted"), "{said:?}");
}

#[test]
fn sockets_are_listed_and_a_key_is_made() {
    let place = Place::new();
    let script = "python3 -c 'import socket, subprocess
server = socket.create_server((\"127.0.0.1\", 4321))
print(subprocess.run([\"ss\", \"-Hltn\"], capture_output=True, text=True).stdout)'";
    let said = inside(&place, &[], script);
    assert!(said.code == 0 && said.out.contains("127.0.0.1:4321"), "{said:?}");
    assert_eq!(place.sh("git init --quiet .").code, 0);
    let script = "gpg --batch --passphrase '' --quick-generate-key a@example.org ed25519 && gpg --list-secret-keys";
    let said = inside(&place, &[], script);
    assert!(said.code == 0 && said.out.contains("a@example.org"), "{said:?}");
}

/// Bytes of memory and swap, as the kernel says.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
    let bytes = |name: &str| line(name).trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024;
    bytes("MemTotal:") + bytes("SwapTotal:")
}

#[test]
fn private_directories_have_room_and_a_full_one_names_its_limit() {
    let place = Place::new();
    let said = inside(&place, &[], "stat -f -c '%a %S' /tmp \"$HOME\"");
    assert_eq!(said.code, 0, "{said:?}");
    // Five gibibytes are what installers ask for; a small machine gives half of its memory.
    let least = (5 << 30).min(memory() / 2 - (8 << 20));
    for line in said.out.lines() {
        let (blocks, size) = line.split_once(' ').expect("two numbers");
        let free = blocks.parse::<u64>().expect("blocks") * size.parse::<u64>().expect("a size");
        assert!(free >= least && free <= 6 << 30, "{free} of {least}");
    }
    let said = inside(&place, &["--disk", "4M"], "head -c 9M /dev/zero >/tmp/file");
    assert!(
        said.err.ends_with("polder: the disk limit was reached (limits.disk: 4M); --disk 8M raises it\n"),
        "{said:?}"
    );
}

#[test]
fn too_little_memory_for_the_sandbox_itself_is_named() {
    let place = Place::new();
    let said = place.says(&["run", "--engine", "native", "--memory", "1M", "--", "true"]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    let expected = ["needs more memory than `limits.memory: 1M`", "the least is 4M", "--memory 32M"];
    assert!(expected.iter().all(|text| said.err.contains(text)), "{said:?}");
}

#[test]
fn a_file_that_is_bound_is_told_not_to_be_replaceable() {
    let place = Place::new();
    let file = place.write("home/conf/settings", "[a]\n\tb = c\n");
    let (file, directory) = (file.display().to_string(), place.home().join("conf").display().to_string());
    let set = format!("GIT_CONFIG_GLOBAL={file} git config --global a.b d");
    let said = inside(&place, &["--bind", &format!("{file}:rw")], &set);
    assert!(said.code != 0 && said.err.contains("Device or resource busy"), "{said:?}");
    let warning = format!("polder: warning: `{file}` can be written in place and not replaced");
    assert!(said.err.contains(&warning) && said.err.contains(&format!("--bind {directory}:rw")), "{said:?}");
    assert_eq!(place.read("home/conf/settings"), "[a]\n\tb = c\n");
    // What is advised works, without a warning; and what is written in place works.
    let said = inside(&place, &["--bind", &format!("{directory}:rw")], &set);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert_eq!(place.read("home/conf/settings"), "[a]\n\tb = d\n");
    let said = inside(&place, &["--bind", &format!("{file}:rw")], &format!("echo more >>{file}"));
    assert_eq!((said.code, place.read("home/conf/settings")), (0, "[a]\n\tb = d\nmore\n".to_owned()), "{said:?}");
    // Beside the home directory itself there is nothing to bind instead.
    let alone = place.write("home/.state", "").display().to_string();
    let said = place.says(&["run", "--dry-run", "--bind", &format!("{alone}:rw"), "--", "true"]);
    assert!(said.out.contains("keep it in a directory of its own") && !said.out.contains("home:rw"), "{said:?}");
    let said = place.says(&["run", "--dry-run", "--bind", &alone, "--", "true"]);
    assert!(said.code == 0 && !said.out.contains("replaced"), "read-only binds have no note: {said:?}");
}

/// Both numbers are the kernel's: what the command used itself, and what its caller's shell was told of its children.
#[test]
fn cpu_time_of_the_command_counts_for_its_caller() {
    let place = Place::new();
    let burn = "import os\nwhile os.times().user < 0.1: pass\nprint(int(os.times().user * 100))";
    place.write("work/burn.py", burn);
    let count = "import os, subprocess, sys
used = int(subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout)
print(used, int(os.times().children_user * 100))";
    place.write("work/count.py", count);
    let said = place.sh("python3 count.py \"$POLDER\" run -- python3 burn.py");
    assert_eq!(said.code, 0, "{said:?}");
    let mut numbers = said.out.split_whitespace().map(|number| number.parse::<u64>().expect("hundredths of a second"));
    let (used, counted) = (numbers.next().expect("used"), numbers.next().expect("counted"));
    assert!(used >= 10 && counted >= used, "{said:?}");
}

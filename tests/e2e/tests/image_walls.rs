//! What a command in an image cannot do, and what a sandbox with an image can ask for, by every daemon that is declared.
#![forbid(unsafe_code)]

use polder_e2e::{Daemon, Place, Said, daemons, image, is_root, with_daemons};
use std::net::TcpListener;
use std::process::ExitCode;

fn main() -> ExitCode {
    with_daemons(&[
        ("the_walls_hold_in_an_image", the_walls_hold_in_an_image),
        ("caches_are_kept_between_runs_in_an_image", caches_are_kept_between_runs_in_an_image),
        ("an_image_has_its_home_and_what_lies_there", an_image_has_its_home_and_what_lies_there),
        ("links_of_an_image_lead_into_the_image", links_of_an_image_lead_into_the_image),
        ("resources_bound_a_command_in_an_image", resources_bound_a_command_in_an_image),
        ("this_program_and_the_hosts_own_path_appear_in_an_image", this_program_and_the_hosts_own_path_appear),
    ])
}

fn configure(daemon: &Daemon, place: &Place, more: &str) {
    let keys = format!("engine: {}, image: '{}', network: false{more}", daemon.engine, image());
    place.write("work/polder.yaml", format!("sandboxes:\n  box: {{{keys}}}\nsandbox: box\n"));
}

fn run(daemon: &Daemon, place: &Place, script: &str) -> Said {
    daemon.says(place, &["run", "--", "sh", "-c", script])
}

/// A workspace with everything that somebody could want, and a file outside of it.
fn baited(daemon: &Daemon) -> Place {
    let place = Place::new();
    configure(daemon, &place, ", deny_read: [secret, hidden], protect: [.git/config, .git/hooks, kept]");
    for name in ["secret", "hidden/file", "kept", ".git/config", ".git/hooks/old"] {
        place.write(format!("work/{name}"), "bait");
    }
    place.write("outside", "bait");
    place
}

/// What a command would do if it could: each ends with 0 where it can. The same program does it inside and outside.
fn attempts(place: &Place, port: u16) -> Vec<String> {
    let outside = place.dir().join("outside");
    let status = |what: &str| format!("busybox grep -q '{what}' /proc/self/status");
    vec![
        "echo x >>kept".to_owned(),
        "echo x >>.git/config".to_owned(),
        "echo x >.git/hooks/new".to_owned(),
        "busybox mv .git other && busybox mv other .git".to_owned(),
        "echo x >>polder.yaml".to_owned(),
        "busybox cat secret".to_owned(),
        "busybox cat hidden/file".to_owned(),
        "busybox mv hidden other && busybox cat other/file".to_owned(),
        status("^CapBnd:.*[1-9a-f]"),
        status("^Seccomp:.0"),
        status("^NoNewPrivs:.0"),
        "busybox unshare -r true".to_owned(),
        format!("busybox nc -w 5 127.0.0.1 {port} </dev/null"),
        "test $(busybox grep -c : /proc/net/dev) -gt 1".to_owned(),
        format!("busybox cat '{}'", outside.display()),
        format!("busybox kill -0 {}", std::process::id()),
    ]
}

fn the_walls_hold_in_an_image() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(drop));
    for daemon in daemons() {
        let outside = baited(&daemon);
        for attempt in attempts(&outside, port) {
            let said = outside.sh(&attempt);
            assert_eq!(said.code, 0, "the control: {attempt}: {said:?}");
        }
        let place = baited(&daemon);
        // One after the other, so that the first that is not stopped does not hide the next.
        let tried = attempts(&place, port).into_iter().enumerate();
        let tried = tried.map(|(number, attempt)| format!("( {attempt} ) >/dev/null 2>&1 && echo {number}\n"));
        let (first, last) = ("busybox true && echo works >plain && cat plain", "echo x >.visor.yaml; echo end");
        let script = format!("{first}\n{}{last}", tried.collect::<String>());
        let said = run(&daemon, &place, &script);
        assert_eq!((said.code, said.out.as_str()), (0, "works\nend\n"), "{}: {said:?}", daemon.engine);
        for name in ["secret", "hidden/file", "kept", ".git/config", ".git/hooks/old"] {
            assert_eq!(place.read(format!("work/{name}")), "bait", "{name}");
        }
        assert!(!place.has("work/.git/hooks/new"), "{said:?}");
        assert!(!place.has("work/.visor.yaml"), "what the next run would obey is set aside: {said:?}");
    }
}

fn caches_are_kept_between_runs_in_an_image() {
    for daemon in daemons() {
        let place = Place::new();
        let fill = "echo kept >~/.tool/x && echo kept >/var/cache/tool/x && echo gone >/tmp/x && echo gone >~/x";
        let look = "cat ~/.tool/x /var/cache/tool/x; cat /tmp/x ~/x";
        configure(&daemon, &place, ", cache: {paths: [~/.tool, /var/cache/tool]}");
        let said = run(&daemon, &place, fill);
        assert_eq!(said.code, 0, "{said:?}");
        let said = run(&daemon, &place, look);
        assert_eq!((said.code, said.out.as_str()), (1, "kept\nkept\n"), "{said:?}");
        configure(&daemon, &place, "");
        let said = run(&daemon, &place, look);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "the control: nobody asked for them: {said:?}");
    }
}

/// A sandbox of an image that is made by these steps.
fn recipe(daemon: &Daemon, place: &Place, steps: &[&str]) {
    let lines: String = steps.iter().map(|step| format!("      {step}\n")).collect();
    let text = format!(
        "sandboxes:\n  box:\n    engine: {}\n    workdir: /workspace\n    dockerfile_inline: |\n      FROM {}\n{lines}sandbox: box\n",
        daemon.engine,
        image()
    );
    place.write("work/polder.yaml", text);
}

fn an_image_has_its_home_and_what_lies_there() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, ", cache: {paths: [~/.tool]}");
        let said = run(&daemon, &place, "echo $HOME; grep -c :/root: /etc/passwd; touch ~/made ~/.tool/x");
        assert!(said.code == 0 && said.out.starts_with("/root\n"), "root's, where it names nobody: {said:?}");
        recipe(
            &daemon,
            &place,
            &[
                "RUN echo 'work:x:77:77::/srv/work:/bin/sh' >> /etc/passwd",
                "RUN mkdir -p /srv/work/bin && echo 'echo found' > /srv/work/bin/tool && echo old > /srv/work/.rc",
                "RUN chmod -R a+rwX /srv/work && chmod 755 /srv/work/bin/tool",
                "USER work",
            ],
        );
        let said = run(&daemon, &place, "echo $HOME; sh ~/bin/tool; cat ~/.rc; touch ~/new && rm ~/.rc; ls -A ~");
        assert_eq!((said.code, said.out.as_str()), (0, "/srv/work\nfound\nold\nbin\nnew\n"), "{said:?}");
        let said = run(&daemon, &place, "ls -A ~");
        assert_eq!((said.code, said.out.as_str()), (0, ".rc\nbin\n"), "private: {said:?}");
        // Closed to who runs: still a home to write in.
        recipe(&daemon, &place, &["RUN mkdir -p /root && echo x > /root/.rc && chmod 700 /root", "ENV HOME=/root"]);
        let said = run(&daemon, &place, "touch ~/new && ls -A ~");
        assert_eq!((said.code, said.out.as_str()), (0, "new\n"), "{said:?}");
    }
}

fn links_of_an_image_lead_into_the_image() {
    for daemon in daemons() {
        let place = Place::new();
        recipe(
            &daemon,
            &place,
            &[
                "RUN rm -rf /var/tmp /root /var/run /etc/passwd; mkdir -p /var/home /var /run /srv",
                "RUN ln -s ../tmp /var/tmp; ln -s var/home /root; ln -s /run /var/run; echo seen > /var/home/.rc",
                "RUN echo 'root:x:0:0::/root:/bin/sh' > /srv/users; ln -s /srv/users /etc/passwd",
            ],
        );
        let script = "cat ~/.rc; touch ~/new /var/tmp/x && ls /tmp /var/home; grep -c nobody /etc/passwd";
        let said = run(&daemon, &place, script);
        assert_eq!((said.code, said.out.as_str()), (0, "seen\n/tmp:\nx\n\n/var/home:\nnew\n1\n"), "{said:?}");
        let file = place.write("other/file", "shown\n").display().to_string();
        let bound = |at: &str| {
            let bind = format!("{file}:{at}:ro");
            daemon.says(&place, &["run", "--bind", &bind, "--", "cat", at])
        };
        let said = bound("/var/run/file");
        assert!(said.code == 125 && said.err.contains("behind a symbolic link of the image"), "{said:?}");
        assert!(
            said.err.contains("/var/run/file") && said.err.contains("the path to which the link leads"),
            "{said:?}"
        );
        let said = bound("/run/file");
        assert_eq!((said.code, said.out.as_str()), (0, "shown\n"), "the control: {said:?}");
        // One that leads to the host, if anywhere.
        recipe(&daemon, &place, &["RUN rm -rf /var/tmp; ln -s ../../../../../../srv/out /var/tmp"]);
        let said = run(&daemon, &place, "touch /var/tmp/x && ls /srv/out");
        assert_eq!((said.code, said.out.as_str()), (0, "x\n"), "{said:?}");
        assert!(!std::path::Path::new("/srv/out").exists(), "made on the host");
    }
}

fn resources_bound_a_command_in_an_image() {
    for daemon in daemons() {
        let place = Place::new();
        // A line without an end, of which `tail` keeps everything.
        let fill = "head -c 200000000 /dev/zero | tail -n 1 | wc -c";
        configure(&daemon, &place, "");
        let said = run(&daemon, &place, fill);
        assert_eq!((said.code, said.out.as_str()), (0, "200000000\n"), "the control: {said:?}");
        configure(&daemon, &place, ", resources: {memory: 64M, cpu: 1}");
        let said = run(&daemon, &place, fill);
        if daemon.engine == "podman" && !is_root() && said.code == 125 {
            // Where an ordinary user has no cgroup of its own there is no limit, and that is said.
            assert!(said.err.contains("memory"), "{said:?}");
            continue;
        }
        assert!(!said.out.contains("200000000") && said.err.contains("memory"), "{}: {said:?}", daemon.engine);
    }
}

fn this_program_and_the_hosts_own_path_appear() {
    for daemon in daemons() {
        let place = Place::new();
        // Not by `test -w`, which believes a mode whatever the mount says.
        let script = "pwd; ls /opt/tools; test -x /opt/tools/polder && touch made; ! echo x >>/opt/tools/polder";
        configure(&daemon, &place, ", visor_path: /opt/tools");
        let said = run(&daemon, &place, script);
        let expected = format!("{}\npolder\n", place.work().display());
        assert_eq!((said.code, said.out), (0, expected), "{}: {}", daemon.engine, said.err);
        assert!(place.has("work/made"));
        configure(&daemon, &place, "");
        let said = run(&daemon, &place, "pwd; ls /opt/tools");
        let expected = format!("{}\n", place.work().display());
        assert_eq!((said.code, said.out), (1, expected), "{}: without `visor_path`: {}", daemon.engine, said.err);
    }
}

use super::*;

fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL in a test's text")
}

fn ground() -> Ground {
    Ground {
        identity: Identity::Range { uid: 1, gid: 2, base: 3, count: 4 },
        net: NetNamespace::Own,
        root: Root::Found,
        scratch_bytes: u64::MAX,
        steps: vec![
            Step::Directory { at: c("a"), mode: 0o755 },
            Step::File { at: c("f"), content: c("one\ntwo\n"), mode: 0o644 },
            Step::Symlink { target: c("../tmp"), at: c("var/tmp") },
            Step::Bind { source: Source::System { path: c("/usr") }, at: c("usr"), access: Access::ReadOnly },
            Step::Bind { source: Source::Resolved { path: c("/ws") }, at: c("ws"), access: Access::ReadWrite },
            Step::ShowIfThere { from: c("/etc/ssl"), at: c("etc/ssl") },
            Step::Device { from: c("/dev/null"), at: c("dev/null") },
            Step::Scratch { at: c("tmp") },
            Step::Proc { at: c("proc") },
            Step::Terminals { at: c("dev/pts") },
            Step::Protect { at: c("ws/.git") },
            Step::Pin { at: c("ws") },
            Step::Hide { at: c("ws/secret"), missing: Missing::Skip },
            Step::Place { from: c("run/polder/shown/0"), at: c("ws/in") },
            Step::Same { at: c("ws"), device: 1, inode: u64::MAX },
            Step::Bind { source: Source::Private { path: c("/p/tmp") }, at: c("tmp"), access: Access::ReadWrite },
            Step::Settle { upper: c("p/home"), work: c("p/work"), at: c("root") },
            Step::Await {},
        ],
        hostname: c("polder"),
    }
}

fn finish() -> Finish {
    let apart = vec![Apart { path: c("/proc/self/ns/net"), number: 7 }];
    Finish { apart, scratch_bytes: 1 << 30, steps: ground().steps }
}

fn inside() -> Inside {
    Inside {
        made: Vec::new(),
        rlimits: vec![Rlimit { resource: 7, value: 1024 }],
        landlock: Some(LandlockSpec {
            abi: 7,
            rules: vec![LandlockRule { path: c("/"), access: Access::ReadOnly, missing: Missing::Fail }],
        }),
        filter: Filtered::Yes,
        observe: None,
        swept: vec![Swept {
            tree: c("/ws"),
            parent: c("."),
            name: c("HEAD"),
            suffix: c(".x"),
            only_with: vec![c("refs"), c("objects")],
        }],
        command: Command {
            candidates: vec![c("/bin/true")],
            argv: vec![c("true"), c(""), c("ü\n")],
            env: vec![c("A=1")],
            workdir: c("/ws"),
            terminal: Some(Terminal {
                size: TerminalSize { rows: 24, columns: 80 },
                streams: StreamSet::ALL,
                output: OutputMode::Plain,
            }),
        },
    }
}

/// The text of a recipe, the same for both of its forms.
fn text(items: impl Iterator<Item = impl std::fmt::Debug>) -> Vec<String> {
    items.map(|item| format!("{item:?}")).collect()
}

#[test]
fn what_was_written_is_what_is_read() {
    let (ground, finish, inside) = (ground(), finish(), inside());
    let bytes = encode(Some(&ground), Some(&finish), &inside);
    let image = Image::decode(&bytes).expect("a whole recipe");
    let read = image.ground.expect("it has a ground");
    assert_eq!((read.identity, read.net, read.scratch_bytes), (ground.identity, ground.net, ground.scratch_bytes));
    assert_eq!(read.hostname, ground.hostname.as_c_str());
    assert_eq!(text(read.steps.iter()), text(ground.steps.iter()));
    let end = image.finish.expect("it has something to finish");
    assert_eq!(end.scratch_bytes, finish.scratch_bytes);
    assert_eq!(text(end.apart.iter()), text(finish.apart.iter()));
    assert_eq!(text(end.steps.iter()), text(finish.steps.iter()));
    let command = image.inside.command;
    assert_eq!(text(image.inside.rlimits.iter()), text(inside.rlimits.iter()));
    assert_eq!(image.inside.filter, inside.filter);
    let landlock = image.inside.landlock.expect("it has a second layer");
    assert_eq!(text(landlock.rules.iter()), text(inside.landlock.expect("made above").rules.iter()));
    let swept = image.inside.swept.iter().next().expect("one is swept");
    let Swept { tree, parent, name, suffix, .. } = &swept;
    assert_eq!((*tree, *parent, *name, *suffix), (c"/ws", c".", c"HEAD", c".x"));
    assert_eq!(swept.only_with.iter().collect::<Vec<_>>(), [c"refs", c"objects"]);
    assert_eq!(command.argv.iter().collect::<Vec<_>>(), [c"true", c"", c"ü\n"]);
    assert_eq!(command.env.len(), 1);
    assert_eq!(command.terminal, inside.command.terminal);
}

#[test]
fn a_part_of_a_recipe_is_no_recipe() {
    let bytes = encode(Some(&ground()), Some(&finish()), &inside());
    for len in 0..bytes.len() {
        assert!(Image::decode(&bytes[..len]).is_none(), "{len} of {} bytes were taken for the whole", bytes.len());
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(Image::decode(&longer).is_none(), "what comes after the end is not ignored");
}

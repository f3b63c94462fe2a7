use super::*;
use crate::testing::{document, layers, refused, resolved};
use crate::{Access, NetworkMode, Policy, Workdir, WorkspaceMode, show};
use expect_test::expect;

fn with(change: impl FnOnce(&mut Overrides)) -> Result<Policy, String> {
    let mut layers = layers(Vec::new());
    change(&mut layers.overrides);
    resolved(&layers).map_err(|error| error.to_string())
}

#[test]
fn every_flag_has_its_effect_and_its_origin() {
    let text = |text: &str| Some(text.to_owned());
    let policy = with(|flags| {
        *flags = Overrides {
            sandbox: None,
            engine: text("bwrap"),
            network: text("restricted"),
            allow: ["fs.read=/opt/x", "fs.write=/var/y", "fs.write=.git/hooks", "net.connect=a.org:443", "env=A"]
                .map(|grant| grant.parse().unwrap())
                .to_vec(),
            allow_host: vec!["b.org".into()],
            profile: vec!["go".into()],
            bind: vec!["~/c".into(), "d:/e:rw".into(), "/f:ro".into(), "/g:rw:optional".into()],
            env: vec!["B".into(), "C=x=y".into()],
            read_only: Some(true),
            cow: None,
            worktree: Some(true),
            untracked: Some(true),
            project: vec!["api=~/api".into()],
            workspace: text("w"),
            from: text("v"),
            discard: Some(true),
            observe: Some("exact".to_owned()),
            workdir: text("host"),
            untrusted: Some(true),
            memory: text("1G"),
            cpus: text("0.5"),
            pids: text("9"),
            disk: text("2G"),
            files: text("8"),
            output: text("1M"),
            timeout: text("10s"),
            require: vec!["fs".into()],
            accept: vec!["net".into()],
            terminal: CallerTerminal::Absent,
        }
    })
    .unwrap();
    assert_eq!(policy.workdir.value, Workdir::Host);
    expect![[r#"
        engine: bubblewrap                                            # flag --engine
        network:
          mode: restricted                                            # flag --allow-host
          allow:
            - b.org                                                   # flag --allow-host
            - "a.org:443"                                             # flag --allow
        read_only: true                                               # flag --read-only
        observe: exact                                                # flag --observe
        scope: session                                                # built-in
        git_identity: true                                            # built-in
        workdir: host                                                 # flag --workdir
        workspace: {mode: worktree, name: w, from: v, keep: false, untracked: true, projects: {api: /home/u/api}}  # flag --discard
        profiles:
          - go                                                        # flag --profile
        path:
          - /home/u/go/bin                                            # profile go:29
          - /usr/local/go/bin                                         # profile go:30
        env_passthrough:
          - PATH                                                      # built-in
          - HOME                                                      # built-in
          - USER                                                      # built-in
          - CI                                                        # built-in
          - NODE_ENV                                                  # built-in
          - LANG                                                      # built-in
          - GOROOT                                                    # profile go:22
          - GOENV_ROOT                                                # profile go:23
          - GOTOOLCHAIN                                               # profile go:24
          - ASDF_DATA_DIR                                             # profile go:25
          - MISE_DATA_DIR                                             # profile go:26
          - B                                                         # flag --env
          - A                                                         # flag --allow
        env:
          C: "x=y"                                                    # flag --env
        bind_paths:
          - {host: /home/u/go/bin, container: /home/u/go/bin, read_only: true, optional: true}  # profile go:6
          - {host: /home/u/go/bin, container: /home/u/go/bin, read_only: true, optional: true}  # profile go:7
          - {host: /home/u/.go, container: /home/u/.go, read_only: true, optional: true}  # profile go:9
          - {host: /home/u/sdk, container: /home/u/sdk, read_only: true, optional: true}  # profile go:10
          - {host: /home/u/.local/go, container: /home/u/.local/go, read_only: true, optional: true}  # profile go:11
          - {host: /home/u/.goenv, container: /home/u/.goenv, read_only: true, optional: true}  # profile go:12
          - {host: /home/u/.asdf, container: /home/u/.asdf, read_only: true, optional: true}  # profile go:15
          - {host: /home/u/.local/share/mise, container: /home/u/.local/share/mise, read_only: true, optional: true}  # profile go:16
          - {host: /home/u/.tool-versions, container: /home/u/.tool-versions, read_only: true, optional: true}  # profile go:18
          - {host: /home/u/c, container: /home/u/c, read_only: true}  # flag --bind
          - {host: /repo/sub/d, container: /e, read_only: false}      # flag --bind
          - {host: /f, container: /f, read_only: true}                # flag --bind
          - {host: /g, container: /g, read_only: false, optional: true}  # flag --bind
          - {host: /opt/x, container: /opt/x, read_only: true}        # flag --allow
          - {host: /var/y, container: /var/y, read_only: false}       # flag --allow
        limits:
          memory: 1G                                                  # flag --memory
          cpus: 0.5                                                   # flag --cpus
          pids: 9                                                     # flag --pids
          disk: 2G                                                    # flag --disk
          files: 8                                                    # flag --files
          output: 1M                                                  # flag --output
          timeout: 10s                                                # flag --timeout
        protect:
          - .git/hooks                                                # built-in
          - .git/config                                               # built-in
        unprotect:
          - sub/.git/hooks                                            # flag --allow
        untrusted: true                                               # flag --untrusted
        require:
          - fs                                                        # flag --require
        accept:
          - net                                                       # flag --accept
    "#]]
    .assert_eq(&show(&policy));
}

#[test]
fn faults_of_flags_name_the_flag() {
    let fault = with(|flags| {
        flags.engine = Some("bwrp".into());
        flags.network = Some("ful".into());
        flags.bind = vec!["/a:b".into(), "/a:/b:/c".into(), "..".into()];
        flags.env = vec!["1=2".into(), "A*".into()];
        flags.allow_host = vec!["https://x".into()];
        flags.memory = Some("0".into());
        flags.timeout = Some("10".into());
        flags.pids = Some("-1".into());
        flags.cpus = Some("inf".into());
        flags.sandbox = Some("x".into());
        flags.require = vec!["nets".into()];
        flags.workspace = Some("a/b".into());
    });
    expect![[r#"
        flag --allow-host: `https://x` is not HOST[:PORT], as in `example.org`, `*.example.org` or `example.org:443`
        flag --bind: `/a:b` is not HOST[:GUEST][:rw][:optional], with an absolute path for GUEST
        flag --bind: `/a:/b:/c` is not HOST[:GUEST][:rw][:optional], with an absolute path for GUEST
        flag --bind: `..` must not contain `..`
        flag --cpus: `inf` is not a number above zero
        flag --engine: unknown engine `bwrp`; did you mean `bwrap`? known are auto, native, bubblewrap, seatbelt, docker, firejail, nsjail, vm, none
        flag --env: `1` is not the name of a variable
        flag --env: `A*` is not the name of a variable
        flag --memory: `0` must be more than zero; leave it out for no limit
        flag --network: `ful` is not one of none, restricted, full; did you mean `full`?
        flag --pids: `-1` is not a whole number above zero
        flag --require: `nets` is not a guarantee; known are fs, protect, second-layer, net, ipc, processes, privileges, syscalls, env, memory, cpus, pids, files, disk, output, timeout
        flag --sandbox: there is no sandbox `x`; none is defined
        flag --timeout: `10` must end in ms, s, m, h or d, as in `10m`
        flag --workspace: `a/b` is not a name: letters, digits, `.`, `_` and `-`, beginning with a letter or digit"#]].assert_eq(&fault.unwrap_err());
}

#[test]
fn a_host_makes_the_network_restricted_unless_the_flag_says_otherwise() {
    let policy = with(|flags| flags.allow_host = vec!["x.org".into()]).unwrap();
    assert_eq!(policy.network.value.mode, NetworkMode::Restricted);
    let fault = with(|flags| {
        flags.allow_host = vec!["x.org".into()];
        flags.network = Some("full".into());
    });
    expect!["flag --allow-host: a host is allowed, and `flag --network` says `full`; leave one out"]
        .assert_eq(&fault.unwrap_err());
}

#[test]
fn a_name_for_the_workspace_means_a_private_layer() {
    let policy = with(|flags| flags.workspace = Some("w".into())).unwrap();
    assert_eq!(policy.workspace.value.mode, WorkspaceMode::Cow);
}

#[test]
fn variables_are_policy_and_misspelt_ones_are_faults() {
    let mut layers = layers(vec![document("polder.yaml", "sandboxes: {a: {limits: {memory: 1G}}}")]);
    let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    layers.environment = set(&[
        ("HOME", "/x"),
        ("POLDER_SANDBOX", "a"),
        ("POLDER_MEMORY", "2G"),
        ("POLDER_READ_ONLY", "1"),
        ("POLDER_LOG", "debug"),
        ("POLDER_TEST_HAS", "x"),
        ("POLDER_TRUST_PROJECT", "1"),
    ]);
    let policy = resolved(&layers).unwrap();
    assert_eq!(policy.name.as_deref(), Some("a"));
    assert_eq!(policy.access.value, Access::ReadOnly);
    assert_eq!(policy.limits.memory.as_ref().unwrap().origin.to_string(), "environment POLDER_MEMORY");
    layers.overrides.memory = Some("3G".into());
    assert_eq!(resolved(&layers).unwrap().limits.memory.unwrap().value.to_string(), "3G");
    layers.environment = set(&[("POLDER_MEMROY", "2G"), ("POLDER_READ_ONLY", "maybe"), ("POLDER_PIDS", "0")]);
    expect![[r#"
        environment POLDER_MEMROY: unknown variable; did you mean `POLDER_MEMORY`?
        environment POLDER_PIDS: `0` is not a whole number above zero
        environment POLDER_READ_ONLY: `maybe` is not true or false"#]]
    .assert_eq(&refused(&layers));
}

#[test]
fn what_is_said_of_a_layer_means_that_there_is_one() {
    let begun = with(|flags| flags.from = Some("v".into())).unwrap().workspace.value;
    assert_eq!((begun.mode, begun.from.as_deref(), begun.keep), (WorkspaceMode::Cow, Some("v"), true));
    let thrown_away = with(|flags| flags.discard = Some(true)).unwrap().workspace.value;
    assert_eq!((thrown_away.mode, thrown_away.keep), (WorkspaceMode::Cow, false));
}

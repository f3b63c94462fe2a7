use super::*;

fn wire<T: for<'de> Deserialize<'de>>(text: &str) -> T {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_daemon_of_root_and_one_of_a_user_are_told_apart() {
    let version = r#"{"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12","Os":"linux","Arch":"amd64",
        "Components":[{"Name":"Engine"}]}"#;
    let info = r#"{"CgroupDriver":"cgroupfs","CgroupVersion":"1","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,
        "Runtimes":{"runc":{"path":"runc"},"runsc":{"path":"runsc"}},"DefaultRuntime":"runc",
        "SecurityOptions":["name=seccomp,profile=default"],"Driver":"overlay2"}"#;
    let known = facts(wire(version), wire(info)).expect("facts");
    assert_eq!((known.rootless, known.is_podman, known.limits_memory), (false, false, true));
    assert_eq!(known.runtimes, ["runc", "runsc"]);
    assert_eq!(known.security, ["seccomp"]);

    let version =
        r#"{"Version":"4.3.1","ApiVersion":"1.41","MinAPIVersion":"1.24","Components":[{"Name":"Podman Engine"}]}"#;
    let info = r#"{"SecurityOptions":["name=seccomp,profile=default","name=rootless"],"Runtimes":null}"#;
    let known = facts(wire(version), wire(info)).expect("facts");
    assert_eq!((known.rootless, known.is_podman, known.limits_memory), (true, true, false));
    assert_eq!(known.newest, ApiVersion { major: 1, minor: 41 });
}

#[test]
fn a_daemon_without_a_version_is_refused() {
    for version in ["{}", r#"{"ApiVersion":"x"}"#, r#"{"ApiVersion":"1"}"#, r#"{"ApiVersion":"1.-4"}"#] {
        assert!(facts(wire(version), wire("{}")).is_err(), "{version}");
    }
    assert_eq!(ApiVersion::parse("1.41.0"), Some(ApiVersion { major: 1, minor: 41 }));
    assert!(ApiVersion { major: 1, minor: 9 } < ApiVersion::OLDEST);
}

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

fn store(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("polder-state-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir.join("cache")
}

#[test]
fn a_service_finds_its_directory_again_and_nobody_else_enters() {
    let store = store("again");
    let path = state(&store, "memory", None).unwrap();
    std::fs::write(path.join("kept"), "x").unwrap();
    assert_eq!(state(&store, "memory", None).unwrap(), path);
    assert!(path.join("kept").is_file());
    assert_ne!(state(&store, "other", None).unwrap(), path);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    std::fs::remove_dir_all(store.parent().unwrap()).unwrap();
}

#[test]
fn a_link_in_its_place_is_no_directory() {
    let store = store("link");
    state(&store, "first", None).unwrap();
    let services = store.with_file_name("services");
    symlink("/etc", services.join("evil")).unwrap();
    assert!(matches!(state(&store, "evil", None), Err(StateError::Make { .. })));
    std::fs::set_permissions(&services, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(matches!(state(&store, "first", None), Err(StateError::Store(StoreError::Exposed { .. }))));
    std::fs::remove_dir_all(store.parent().unwrap()).unwrap();
}

use super::*;
use std::io::Write;
use std::process::{Command, Stdio};

/// What the system's own program makes of an archive.
fn listed(archive: &[u8]) -> String {
    let mut tar = Command::new("tar")
        .args(["--list", "--verbose", "--numeric-owner", "--utc", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tar");
    tar.stdin.take().expect("its input").write_all(archive).expect("written");
    let output = tar.wait_with_output().expect("its end");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn another_program_reads_the_same() {
    let long = format!("{}/{}", "d".repeat(90), "f".repeat(200));
    let mut archive = head(Path::new("dir"), &What::Directory, 0o755, 0);
    archive.extend(head(Path::new("dir/file"), &What::File { size_bytes: 3 }, 0o4755, 86_400));
    archive.extend_from_slice(b"abc");
    archive.resize(archive.len() + padding(3), 0);
    archive.extend(head(Path::new("link"), &What::Link { to: long.clone().into_bytes() }, 0o777, 0));
    archive.extend(head(Path::new(&long), &What::File { size_bytes: 0 }, 0o644, -5));
    archive.extend_from_slice(&END);
    assert_eq!(archive.len() % BLOCK_BYTES, 0);
    let expected = format!(
        "drwxr-xr-x 0/0               0 1970-01-01 00:00 dir/\n\
         -rwxr-xr-x 0/0               3 1970-01-02 00:00 dir/file\n\
         lrwxrwxrwx 0/0               0 1970-01-01 00:00 link -> {long}\n\
         -rw-r--r-- 0/0               0 1970-01-01 00:00 {long}\n"
    );
    assert_eq!(listed(&archive), expected);
}

#[test]
fn large_numbers_have_a_form_of_their_own() {
    assert_eq!(&number(8), b"00000000010\0");
    assert_eq!(number(1 << 33)[0], 0x80);
    assert_eq!((padding(0), padding(1), padding(512)), (0, 511, 0));
}

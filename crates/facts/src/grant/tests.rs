use super::Grant;

#[test]
fn a_grant_reads_as_it_prints() {
    for text in ["fs.read=/opt/x", "fs.write=.git/hooks", "net.connect=example.org:443", "env=CARGO_HOME"] {
        assert_eq!(text.parse::<Grant>().expect("is a grant").to_string(), text);
    }
}

#[test]
fn what_is_not_a_grant_says_what_is() {
    for text in ["", "fs.read", "fs.read=", "fs=/x", "exec=/bin/sh"] {
        let error = text.parse::<Grant>().expect_err(text).to_string();
        assert!(error.contains("fs.read=PATH"), "{error}");
    }
}

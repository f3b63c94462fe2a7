use super::*;

#[test]
fn a_runtime_is_a_name_and_nothing_else_is_an_option() {
    assert_eq!(Options::parse(None), Ok(Options { runtime: None, pull: None }));
    assert_eq!(
        Options::parse(Some(r#"{"runtime":"runsc","pull":"never"}"#)),
        Ok(Options { runtime: Some("runsc".to_owned()), pull: Some(Pull::Never) })
    );
    for table in [
        r#"{"runtime":"/tmp/evil"}"#,
        r#"{"runtime":"../x"}"#,
        r#"{"runtime":""}"#,
        r#"{"privileged":true}"#,
        r#"{"pull":"x"}"#,
    ] {
        assert!(Options::parse(Some(table)).is_err(), "{table}");
    }
}

use super::*;
use std::time::Duration;

#[test]
fn an_option_is_what_it_says_and_nothing_else_is_one() {
    assert_eq!(Options::parse(None), Ok(Options::default()));
    assert_eq!(Options::default().images(), Settings::USUAL);
    let said = r#"{"runtime":"crun","pull":"never","pull_timeout":"90s","build_timeout":"1h"}"#;
    let options = Options::parse(Some(said)).expect("options");
    assert_eq!(options.runtime.as_deref(), Some("crun"));
    let (pull_time, build_time) = (Duration::from_secs(90), Duration::from_secs(3600));
    assert_eq!(options.images(), Settings { pull: Pull::Never, pull_time, build_time });
    assert_eq!(options.apart(), None);
    let runsc = Options::parse(Some(r#"{"runtime":"runsc-systrap"}"#)).expect("options");
    assert_eq!(runsc.apart(), Some("runsc-systrap"));
    for table in [
        r#"{"runtime":"/tmp/evil"}"#,
        r#"{"runtime":"../x"}"#,
        r#"{"runtime":""}"#,
        r#"{"runtime":"kata-qemu"}"#,
        r#"{"privileged":true}"#,
        r#"{"pull":"x"}"#,
        r#"{"pull_timeout":"soon"}"#,
        r#"{"build_timeout":5}"#,
    ] {
        assert!(Options::parse(Some(table)).is_err(), "{table}");
    }
}

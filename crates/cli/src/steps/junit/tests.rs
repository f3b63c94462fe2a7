use super::*;
use expect_test::expect;
use std::time::Duration;

#[test]
fn output_cannot_leave_its_element() {
    let result = |name: &str, status| StepResult {
        name: name.to_owned(),
        status,
        engine: None,
        outcome: None,
        took: Duration::from_millis(20),
    };
    let results = [result("a", Status::Failed(1)), result("b", Status::Broken("x \"<\u{1b}".to_owned()))];
    let tails = [(0, "]]></system-out><x a='&'>\u{0}".to_owned())].into();
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="2" failures="1" errors="1" skipped="0" time="0.040">
          <testsuite name="polder steps" tests="2" failures="1" errors="1" skipped="0" time="0.040">
            <testcase name="a" classname="steps" time="0.020">
              <failure type="failed" message="exit code 1"/>
              <system-out>]]&gt;&lt;/system-out&gt;&lt;x a=&apos;&amp;&apos;&gt;�</system-out>
            </testcase>
            <testcase name="b" classname="steps" time="0.020">
              <error type="broken" message="x &quot;&lt;�"/>
            </testcase>
          </testsuite>
        </testsuites>
    "#]]
    .assert_eq(&report(&results, tails));
}

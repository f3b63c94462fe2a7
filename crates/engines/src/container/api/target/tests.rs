use super::*;

#[test]
fn a_value_cannot_leave_its_place() {
    let target = Target::fixed("/build").with("dockerfile", "a b&t=x#y\r\nHost: z/../%");
    assert_eq!(target.line(None), "/build?dockerfile=a%20b%26t%3Dx%23y%0D%0AHost%3A%20z%2F..%2F%25");
}

#[test]
fn a_version_comes_first_and_an_image_keeps_its_slashes() {
    let name: ImageName = "localhost:5000/a/b:t".parse().expect("a name");
    let target = Target::image(&name, "/json");
    assert_eq!(target.line(Some(ApiVersion { major: 1, minor: 41 })), "/v1.41/images/localhost%3A5000/a/b%3At/json");
    let id: ObjectName = "abc".parse().expect("a name");
    assert_eq!(
        Target::object("/containers", &id, "/kill").with("signal", "9").line(None),
        "/containers/abc/kill?signal=9"
    );
}

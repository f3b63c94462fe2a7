use super::*;

fn text(found: Option<Text>) -> Option<String> {
    found.map(|text| String::from_utf8(text.bytes().to_vec()).unwrap())
}

#[test]
fn addresses_are_written_as_people_write_them() {
    let v4 = |a: [u8; 4], port: u16| [&[2, 0][..], &port.to_be_bytes(), &a].concat();
    assert_eq!(text(outside(libc::AF_INET, &v4([192, 0, 2, 1], 443))).as_deref(), Some("192.0.2.1:443"));
    assert_eq!(text(outside(libc::AF_INET, &v4([127, 0, 0, 1], 443))), None);
    let v6 = |a: Ipv6Addr, port: u16| [&[10, 0][..], &port.to_be_bytes(), &[0; 4], &a.octets()].concat();
    let documented: Ipv6Addr = "2001:db8::1".parse().unwrap();
    assert_eq!(text(outside(libc::AF_INET6, &v6(documented, 80))).as_deref(), Some("[2001:db8:0:0:0:0:0:1]:80"));
    let mapped: Ipv6Addr = "::ffff:192.0.2.7".parse().unwrap();
    assert_eq!(text(outside(libc::AF_INET6, &v6(mapped, 80))).as_deref(), Some("192.0.2.7:80"));
    assert_eq!(text(outside(libc::AF_INET6, &v6(Ipv6Addr::LOCALHOST, 80))), None);
    assert_eq!(text(outside(libc::AF_INET6, &[10, 0, 0])), None);
}

#[test]
fn a_question_has_a_name_and_other_messages_have_none() {
    let query = [&[7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x07example\x03com\0", &[0, 1, 0, 1]].concat();
    assert_eq!(text(asked_name(&query)).as_deref(), Some("example.com"));
    assert_eq!(text(asked_name(&query[..20])), None, "cut in a label");
    assert_eq!(text(asked_name(b"GET / HTTP/1.1\r\n\r\n plain words")), None);
    assert_eq!(text(asked_name(&[0; 12])), None);
}

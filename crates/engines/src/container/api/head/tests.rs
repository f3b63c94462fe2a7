use super::*;

fn framing(text: &str) -> Result<Framing, &'static str> {
    Head::parse(text.as_bytes()).map(|head| head.framing)
}

#[test]
fn the_head_says_how_the_body_ends() {
    assert_eq!(framing("HTTP/1.1 200 OK\r\nContent-Length: 5"), Ok(Framing::Length(5)));
    assert_eq!(framing("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nContent-Length: 5"), Ok(Framing::Length(5)));
    assert_eq!(framing("HTTP/1.1 200\r\nTransfer-Encoding: chunked"), Ok(Framing::Chunked));
    assert_eq!(framing("HTTP/1.0 200 OK"), Ok(Framing::ToTheEnd));
    assert_eq!(framing("HTTP/1.1 204 No Content\r\nContent-Length: 7"), Ok(Framing::Empty));
    assert_eq!(framing("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade"), Ok(Framing::Upgraded));
}

#[test]
fn a_head_that_two_readers_could_read_differently_is_refused() {
    for text in [
        "",
        "HTTP/2 200",
        "HTTP/1.1 20",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 999 X",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        "HTTP/1.1 200 OK\r\nContent-Length: -1",
        "HTTP/1.1 200 OK\r\nContent-Length: +5",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
        "HTTP/1.1 200 OK\r\nX\r\n y: 1",
        "HTTP/1.1 200 OK\r\n folded: 1",
        "HTTP/1.1 200 OK\r\nContent-Length : 5",
    ] {
        assert!(framing(text).is_err(), "{text:?}");
    }
}

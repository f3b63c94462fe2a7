use super::*;
use serde_json::json;

#[test]
fn a_line_is_its_own_proof() {
    let (line, hash) = Record::line(1, BEGINNING, Kind::RunBegin, &json!({"engine": "x"}));
    let read = Record::read(line.as_bytes()).unwrap();
    assert_eq!((read.seq, read.prev.as_str(), read.hash), (1, BEGINNING, hash));
    assert_eq!(read.value["data"]["engine"], "x");
    for (from, to) in [("\"x\"", "\"y\""), ("\"seq\":1", "\"seq\":2"), ("run-begin", "run-ended")] {
        assert!(Record::read(line.replace(from, to).as_bytes()).is_err(), "{from}");
    }
    for broken in ["", "{}", "\"hash\":\"\"}", &line[..line.len() - 1], &line[1..]] {
        assert!(Record::read(broken.as_bytes()).is_err(), "{broken}");
    }
}

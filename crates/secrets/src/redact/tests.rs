use super::*;

fn redacted(pieces: &[&[u8]]) -> String {
    let secrets = [Secret::new("hunter22".to_owned()), Secret::new("other-secret".to_owned())];
    let mut redactor = Redactor::new(&secrets);
    let mut told: Vec<u8> = pieces.iter().flat_map(|piece| redactor.pass(piece)).collect();
    told.extend(redactor.end());
    String::from_utf8(told).unwrap()
}

#[test]
fn a_secret_is_found_however_it_is_cut() {
    let text = b"a hunter22 b other-secret hunter2 end hunter22";
    let wanted = "a *** b *** hunter2 end ***";
    assert_eq!(redacted(&[text]), wanted);
    for size in 1..10 {
        let pieces: Vec<&[u8]> = text.chunks(size).collect();
        assert_eq!(redacted(&pieces), wanted, "pieces of {size}");
    }
}

#[test]
fn also_as_a_header_carries_it() {
    let basic = STANDARD.encode("x-access-token:hunter22");
    assert_eq!(redacted(&[format!("Authorization: Basic {basic}\n").as_bytes()]), "Authorization: Basic ***\n");
}

#[test]
fn what_only_begins_like_one_is_told_in_the_end() {
    assert_eq!(redacted(&[b"hunt"]), "hunt");
    assert_eq!(redacted(&[b"hunt", b"er2x hunthunter22"]), "hunter2x hunt***");
}

#[test]
fn of_two_that_begin_alike_the_longer_one_is_meant_however_it_is_cut() {
    let secrets = ["hunter22", "hunter22-and-more"].map(|text| Secret::new(text.to_owned()));
    for size in 1..30 {
        let mut redactor = Redactor::new(&secrets);
        let text = b"hunter22 hunter22-and-more hunter22-and";
        let mut told: Vec<u8> = text.chunks(size).flat_map(|piece| redactor.pass(piece)).collect();
        told.extend(redactor.end());
        assert_eq!(String::from_utf8(told).unwrap(), "*** *** ***-and", "pieces of {size}");
    }
}

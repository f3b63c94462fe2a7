use super::{ByteSize, Span, UnitError};
use std::time::Duration;

#[test]
fn sizes_people_write_are_read() {
    for (text, bytes) in
        [("1", 1), ("2G", 2 << 30), ("512m", 512 << 20), ("1.5K", 1536), ("50 M", 50 << 20), ("1GiB", 1 << 30)]
    {
        assert_eq!(text.parse::<ByteSize>(), Ok(ByteSize(bytes)), "{text}");
    }
}

#[test]
fn sizes_that_mean_nothing_are_refused_with_the_reason() {
    for (text, error) in [
        ("", UnitError::NoNumber),
        ("G", UnitError::NoNumber),
        ("-1G", UnitError::NoNumber),
        ("1.2.3G", UnitError::NoNumber),
        ("2X", UnitError::BadSizeUnit),
        ("0", UnitError::Zero),
        ("0.0001K", UnitError::NoNumber),
        ("9999999999T", UnitError::TooLarge),
    ] {
        assert_eq!(text.parse::<ByteSize>(), Err(error), "{text}");
    }
}

#[test]
fn spans_need_a_unit() {
    assert_eq!("10m".parse::<Span>(), Ok(Span(Duration::from_secs(600))));
    assert_eq!("1.5s".parse::<Span>(), Ok(Span(Duration::from_millis(1500))));
    assert_eq!("10".parse::<Span>(), Err(UnitError::BadSpanUnit));
    assert_eq!("0s".parse::<Span>(), Err(UnitError::Zero));
    assert_eq!("99999999d".parse::<Span>(), Err(UnitError::TooLarge));
}

#[test]
fn what_is_printed_is_read_back() {
    for bytes in [1, 1023, 1024, 5 << 30, (1 << 20) + 1] {
        let size = ByteSize(bytes);
        assert_eq!(size.to_string().parse::<ByteSize>(), Ok(size));
    }
    for millis in [1, 999, 1000, 60_000, 86_400_000, 90_061_001] {
        let span = Span(Duration::from_millis(millis));
        assert_eq!(span.to_string().parse::<Span>(), Ok(span));
    }
}

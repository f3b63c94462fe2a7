//! Sizes and spans of time as people write them: `2G`, `512m`, `10m`, `7d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes. `1K` is 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

/// A span of time. `ms`, `s`, `m`, `h` and `d` are the units; a bare number is an error, because tools disagree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

/// Why a text is not a size or a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// There is no number in front of the unit.
    NoNumber,
    /// The unit is not known.
    BadSizeUnit,
    /// The unit is not known, or missing.
    BadSpanUnit,
    /// The value does not fit.
    TooLarge,
    /// Zero means "none", and none must be said by leaving the key out.
    Zero,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNumber => "must start with a number",
            Self::BadSizeUnit => "must end in B, K, M, G or T, as in `512M`",
            Self::BadSpanUnit => "must end in ms, s, m, h or d, as in `10m`",
            Self::TooLarge => "is too large",
            Self::Zero => "must be more than zero; leave it out for no limit",
        })
    }
}

impl std::error::Error for UnitError {}

/// Splits `2.5G` into its number, in thousandths, and its unit.
fn number_and_unit(text: &str) -> Result<(u128, &str), UnitError> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction_ok = fraction.len() <= 3 && !fraction.contains('.') && !number.ends_with('.');
    if whole.is_empty() || whole.len() > 20 || !fraction_ok {
        return Err(UnitError::NoNumber);
    }
    let whole: u128 = whole.parse().map_err(|_| UnitError::NoNumber)?;
    let thousandths: u128 = format!("{fraction:0<3}").parse().map_err(|_| UnitError::NoNumber)?;
    Ok((whole * 1000 + thousandths, unit.trim()))
}

fn scaled(thousandths: u128, factor: u128) -> Result<u64, UnitError> {
    let value = thousandths.checked_mul(factor).ok_or(UnitError::TooLarge)? / 1000;
    match u64::try_from(value) {
        Ok(0) => Err(UnitError::Zero),
        // The kernel's interfaces take signed 64 bit numbers.
        Ok(value) if value <= i64::MAX as u64 => Ok(value),
        _ => Err(UnitError::TooLarge),
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = number_and_unit(text.trim())?;
        let factor: u128 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" | "ki" => 1 << 10,
            "m" | "mb" | "mib" | "mi" => 1 << 20,
            "g" | "gb" | "gib" | "gi" => 1 << 30,
            "t" | "tb" | "tib" | "ti" => 1 << 40,
            _ => return Err(UnitError::BadSizeUnit),
        };
        scaled(number, factor).map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, bytes) in [("T", 1u64 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)] {
            if self.0 >= bytes && self.0.is_multiple_of(bytes) {
                return write!(f, "{}{unit}", self.0 / bytes);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = number_and_unit(text.trim())?;
        let factor_ms: u128 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(UnitError::BadSpanUnit),
        };
        let millis = scaled(number, factor_ms)?;
        // Ten years: beyond that it is a slip, and timers overflow.
        if millis > 10 * 366 * 86_400_000 {
            return Err(UnitError::TooLarge);
        }
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
            if millis >= size && millis.is_multiple_of(size) {
                return write!(f, "{}{unit}", millis / size);
            }
        }
        write!(f, "{millis}ms")
    }
}

#[cfg(test)]
mod tests;

//! Parses and formats durations, such as `250ms`, `10s`, `1.5s`, `1m` and `1h`.

use std::time::Duration;

const UNITS: [(&str, f64); 5] =
    [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Upper bound on a duration, in seconds: one day.
const MAX_SECONDS: f64 = 86_400.0;

pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || "expected a number and a unit, such as 500us, 250ms, 10s, 1m or 1h".to_owned();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(invalid)?;
    let (number, unit) = text.split_at(digits);
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = number.parse().ok().filter(|_| plain).ok_or_else(invalid)?;
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?;
    let seconds = number * seconds;
    if seconds > MAX_SECONDS {
        return Err("expected at most 24h".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Formats a duration with its unit, and at most three digits after the decimal point.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn format(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if duration < Duration::from_secs(1) {
        return format!("{}ms", (seconds * 1e6).round() / 1e3);
    }
    format!("{}s", (seconds * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_valid_durations_only() {
        for (text, millis) in
            [("250ms", 250), ("10s", 10_000), ("1m", 60_000), ("1h", 3_600_000), ("1.5s", 1500)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)));
        }
        assert_eq!(parse("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(parse("0ms"), Ok(Duration::ZERO));
        for text in
            ["", "s", "10", "10d", "25h", "-1s", "1e3s", "1..5s", "inf", "NaNs", "2 s", "2000m"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn formats_durations_without_trailing_zeros() {
        for text in ["250ms", "0.5ms", "10s", "1.5s"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
    }
}

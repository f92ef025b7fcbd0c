//! Times in traces: real times in nanoseconds, and virtual times in units with up to six decimals.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure_core::TICKS_PER_TIME_UNIT;

/// Returns the current time in nanoseconds since the start of 1970, UTC. Returns 0 if the clock
/// shows an earlier time.
pub fn unix_time_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Formats ticks as a number of units, with all decimals but no trailing zeros.
pub fn format_ticks_as_time_units(ticks: u64) -> String {
    let text = format!("{}.{:06}", ticks / TICKS_PER_TIME_UNIT, ticks % TICKS_PER_TIME_UNIT);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Parses a number of units with at most six decimals, and returns the number of ticks. Returns
/// `None` if the text has another form or the number is too large.
pub fn parse_time_units(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(TICKS_PER_TIME_UNIT)?;
    whole.checked_add(format!("{part:0<6}").parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_round_trip() {
        for (text, expected) in
            [("0", 0), ("12", 12_000_000), ("0.25", 250_000), ("1.000001", 1_000_001)]
        {
            assert_eq!(parse_time_units(text), Some(expected));
            assert_eq!(format_ticks_as_time_units(expected), text);
        }
        for wrong in ["", "1.", ".5", "-1", "1e3", "1.2345678", "99999999999999999999"] {
            assert_eq!(parse_time_units(wrong), None, "{wrong}");
        }
    }
}

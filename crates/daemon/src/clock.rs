//! Formats times as text, in UTC by RFC 3339 with milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_OF_A_DAY: u64 = 86_400;

/// Formats a time as `2026-11-22T15:04:05.678Z`. A time before 1970 is formatted as the start of
/// 1970.
pub fn format_rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, second) = (since.as_secs() / SECONDS_OF_A_DAY, since.as_secs() % SECONDS_OF_A_DAY);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the year, the month and the day of the month of a day. `day` is the number of days since
/// 1 January 1970. Months and days of the month count from 1.
///
/// In the calculation, a year begins on 1 March. A leap day is then the last day of its year.
fn date(day: u64) -> (u64, u64, u64) {
    // Days since 1 March of the year 0. A cycle of 400 years has 146,097 days.
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // March to July and August to December both have 153 days: months of 31, 30, 31, 30 and 31
    // days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let january = month >= 10;
    let month = if january { month - 9 } else { month + 3 };
    (400 * era + year + u64::from(january), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn formats_rfc3339_timestamps() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_704_067_199_001, "2023-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(format_rfc3339(UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }
}

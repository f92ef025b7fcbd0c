//! Names of claims. The name of a claim is the last segment of its key. The name states the lease
//! and the access of the claim.

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::admission::AccessMode;

/// Writes the name of the access, as users read it: `exclusive`, `shared`, `slots-3`, or
/// `slots-3-weight-2` for two of three permits.
impl fmt::Display for AccessMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AccessMode::Exclusive => formatter.write_str("exclusive"),
            AccessMode::Shared => formatter.write_str("shared"),
            AccessMode::Permits { weight: 1, capacity } => write!(formatter, "slots-{capacity}"),
            AccessMode::Permits { weight, capacity } => {
                write!(formatter, "slots-{capacity}-weight-{weight}")
            }
        }
    }
}

impl AccessMode {
    /// Returns the suffix of the name of a claim with this access: an empty string, `.shared` or
    /// `.slots-3`. The suffix does not state how many permits the claim takes. A claim with the
    /// suffix `.slots-3` always takes one of the three permits.
    pub fn claim_name_suffix(self) -> String {
        match self {
            AccessMode::Exclusive => String::new(),
            AccessMode::Shared => ".shared".into(),
            AccessMode::Permits { capacity, .. } => format!(".slots-{capacity}"),
        }
    }
}

/// Parses the name of a claim, and returns its lease and its access. The name consists of the lease
/// in hexadecimal digits, then optionally the number of the claim in its session, then the suffix
/// of the access. Returns `None` if the name has another form. Leading zeros and capital letters
/// are not allowed.
pub fn parse_claim_name(name: &str) -> Option<(u64, AccessMode)> {
    let mut parts = name.split('.');
    let lease = number(parts.next()?, 16)?;
    let mut suffix = parts.next();
    if suffix.is_some_and(|count| number(count, 10).is_some()) {
        suffix = parts.next();
    }
    let access = match suffix {
        None => AccessMode::Exclusive,
        Some("shared") => AccessMode::Shared,
        Some(suffix) => {
            let capacity = u32::try_from(number(suffix.strip_prefix("slots-")?, 10)?).ok()?;
            AccessMode::Permits { weight: 1, capacity }
        }
    };
    parts.next().is_none().then_some((lease, access))
}

/// Parses a positive number in the base `radix`. Returns `None` if the text is no such number, or
/// has a sign, leading zeros or capital letters.
fn number(digits: &str, radix: u32) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || radix > 10 && matches!(byte, b'a'..=b'f');
    let is_canonical = !digits.starts_with('0') && digits.bytes().all(is_digit);
    u64::from_str_radix(digits, radix).ok().filter(|_| is_canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_suffix_is_parsed() {
        let slots = AccessMode::Permits { weight: 1, capacity: 3 };
        for access in [AccessMode::Exclusive, AccessMode::Shared, slots] {
            for number in ["", ".2"] {
                let name = format!("1f{number}{}", access.claim_name_suffix());
                assert_eq!(parse_claim_name(&name), Some((0x1f, access)), "{name}");
            }
        }
        for other in ["", "x", "01", "1F", "1.02", "1.slots-0", "1.shared.2", "1.2.3", "1.slots"] {
            assert_eq!(parse_claim_name(other), None, "{other}");
        }
    }
}

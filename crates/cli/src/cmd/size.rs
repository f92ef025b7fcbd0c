//! Parses sizes in bytes.

/// Parses a size of at least 1 byte, such as `500M`, `2G` or a plain number of bytes.
pub(super) fn parse_byte_size(text: &str) -> Result<u64, String> {
    let invalid = || "expected a number of bytes, such as 500M or 2G".to_owned();
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(place) => text.split_at(place),
        None => (text, ""),
    };
    let scale = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(invalid()),
    };
    let number: u64 = number.parse().map_err(|_| invalid())?;
    match number.checked_mul(scale).ok_or_else(invalid)? {
        0 => Err("expected at least 1 byte".to_owned()),
        bytes => Ok(bytes),
    }
}

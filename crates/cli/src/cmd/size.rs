//! Amounts of memory, as they are written on a command line.

/// Reads `500M`, `2G` or a number of bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let fault = || format!("`{text}` is no amount of memory; write 500M or 2G");
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(place) => text.split_at(place),
        None => (text, ""),
    };
    let scale = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(fault()),
    };
    let number: u64 = number.parse().map_err(|_| fault())?;
    number.checked_mul(scale).ok_or_else(fault)
}

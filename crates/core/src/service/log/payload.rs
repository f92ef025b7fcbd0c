//! Payload of log entries: bytes that the log does not interpret.

use core::fmt;

#[cfg(feature = "serde")]
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Bytes that only the user interprets. Clones of a payload share the bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payload(Arc<[u8]>);

impl Payload {
    /// Creates a payload from bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Payload(bytes.into())
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Parses a payload. If the text begins with `0x`, the rest is read as hexadecimal digits. The
    /// payload of any other text is the UTF-8 bytes of the text. Returns `None` if the digits are
    /// invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(digits) = text.strip_prefix("0x") else {
            return Some(Payload::new(text.as_bytes()));
        };
        let pairs = digits.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let both = core::str::from_utf8(pair).ok().filter(|_| pair.len() == 2)?;
            u8::from_str_radix(both, 16).ok().filter(|_| pair[0] != b'+')
        };
        pairs.map(byte).collect::<Option<Vec<u8>>>().map(Payload::new)
    }

    /// Returns the payload as text if it consists of ASCII letters, digits and `._-=`. Returns
    /// `None` for all other payloads, for the empty payload, and for text that begins with `0x`.
    fn word(&self) -> Option<&str> {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-=".contains(byte);
        let word = core::str::from_utf8(&self.0).ok()?;
        (self.0.iter().all(plain) && !word.is_empty() && !word.starts_with("0x")).then_some(word)
    }
}

/// Displays a payload that consists of ASCII letters, digits and `._-=` as text. Displays the empty
/// payload, text that begins with `0x`, and any other payload as `0x` and hexadecimal digits.
impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(word) = self.word() {
            return f.write_str(word);
        }
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Serializes a payload. In human-readable formats, it becomes the text that [`Payload::parse`]
/// parses. In other formats, it becomes its bytes.
#[cfg(feature = "serde")]
impl serde::Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { to.serialize_bytes(&self.0) }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            from.deserialize_str(Visitor)
        } else {
            from.deserialize_bytes(Visitor)
        }
    }
}

#[cfg(feature = "serde")]
struct Visitor;

#[cfg(feature = "serde")]
impl serde::de::Visitor<'_> for Visitor {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an entry")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Payload, E> {
        Payload::parse(text).ok_or_else(|| {
            E::custom(format!(
                "invalid payload '{text}': expected a word, or 0x and hexadecimal digits"
            ))
        })
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Payload, E> {
        Ok(Payload::new(bytes))
    }
}

/// Creates a payload that contains the number in decimal digits.
impl From<u64> for Payload {
    fn from(number: u64) -> Self {
        let digits: String = number.to_string();
        Payload::new(digits.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        for bytes in [&b"x=1"[..], b"", b"0x", b"0x12", b"two words", b"\xff\x00", b"a\n"] {
            let payload = Payload::new(bytes);
            assert_eq!(Payload::parse(&payload.to_string()), Some(payload));
        }
        for wrong in ["0x1", "0x+1", "0xgg", "0xäb"] {
            assert_eq!(Payload::parse(wrong), None, "{wrong}");
        }
    }
}

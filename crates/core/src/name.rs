//! What people call a lock.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// A name of a lock for people: text of 1 to 255 bytes, in any script.
///
/// Names are equal when their bytes are, and sorted by them. What only looks alike is another
/// name: é may be one letter or an e with an accent, and capitals are capitals. Whoever takes
/// names from people normalizes them first.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Name(Arc<str>);

impl Name {
    /// The most bytes of a name, as UTF-8.
    pub const LONGEST: usize = 255;

    /// Names a lock.
    ///
    /// # Errors
    ///
    /// When there is nothing to it, or too much.
    pub fn new(name: &str) -> Result<Self, NameError> {
        match name.len() {
            0 => Err(NameError::Empty),
            bytes if bytes > Name::LONGEST => Err(NameError::TooLong { bytes }),
            _ => Ok(Name(name.into())),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Name::new(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Name::new(&name)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().into()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Why a text names no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// It is empty.
    Empty,
    /// It is longer than [`Name::LONGEST`].
    TooLong {
        /// How many bytes it has.
        bytes: usize,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => {
                f.write_str("the name of a lock is empty; give it at least a letter")
            }
            NameError::TooLong { bytes } => {
                let longest = Name::LONGEST;
                write!(f, "the name of a lock has {bytes} bytes; {longest} are the most")
            }
        }
    }
}

impl core::error::Error for NameError {}

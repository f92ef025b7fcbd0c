//! Names of locks.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// A name of a lock: text of 1 to 255 bytes, in any script.
///
/// Names are compared and sorted by their bytes, and case is significant. Names that look alike may
/// be different: é is either one code point, or an e with a combining accent. A caller that reads
/// names from people should normalize them first.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct LockName(Arc<str>);

impl LockName {
    /// Maximum length of a lock name, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 255;

    /// Creates a name.
    ///
    /// # Errors
    ///
    /// [`LockNameError`] if the text is empty or too long.
    pub fn new(name: &str) -> Result<Self, LockNameError> {
        match name.len() {
            0 => Err(LockNameError::Empty),
            bytes if bytes > LockName::MAX_BYTES => Err(LockNameError::TooLong { bytes }),
            _ => Ok(LockName(name.into())),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LockName {
    type Err = LockNameError;

    fn from_str(name: &str) -> Result<Self, LockNameError> {
        LockName::new(name)
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for LockName {
    type Error = LockNameError;

    fn try_from(name: String) -> Result<Self, LockNameError> {
        LockName::new(&name)
    }
}

impl From<LockName> for String {
    fn from(name: LockName) -> Self {
        name.as_str().into()
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Reason why a text is not a valid name of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNameError {
    /// The text is empty.
    Empty,
    /// The text is longer than [`LockName::MAX_BYTES`].
    TooLong {
        /// Length of the text, in bytes.
        bytes: usize,
    },
}

impl fmt::Display for LockNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockNameError::Empty => f.write_str("the lock name is empty: expected 1 to 255 bytes"),
            LockNameError::TooLong { bytes } => {
                let max = LockName::MAX_BYTES;
                write!(f, "the lock name has {bytes} bytes: expected at most {max}")
            }
        }
    }
}

impl core::error::Error for LockNameError {}

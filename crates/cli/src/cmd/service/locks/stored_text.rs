//! Text from the store, which any user may have written.

use std::fmt;

use serde::{Serialize, Serializer};
use tenure_trace::escape_invisible;

/// Name or key from the store. `Display` escapes characters that a terminal does not show. JSON
/// contains the text itself, so that a script can pass the text to a command. In both forms,
/// `U+FFFD` replaces bytes that are no UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredText(String);

impl StoredText {
    pub(super) fn new(bytes: &[u8]) -> StoredText {
        StoredText(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl fmt::Display for StoredText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_invisible(&self.0))
    }
}

impl Serialize for StoredText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

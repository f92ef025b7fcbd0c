//! Marks for the fields of messages, for code that inspects values of any type.
//!
//! A runner that receives messages does not know their types, and yet must not trust every value.
//! The number of a term must fit a fence, and a list by process has one element for each process.
//! Fields declare this with `#[serde(serialize_with = …)]`. Formats do not see a mark, because a
//! newtype is written as its content. A [`serde::Serializer`] that reads the newtype's name sees
//! it.
//!
//! Numbers without a mark grow only by counting: clocks, requests, entries.

use serde::{Serialize, Serializer};

/// A term number, which is packed into fences: below [`Term::NUMBERS`](crate::Term::NUMBERS).
pub const TERM_NUMBER: &str = "TermNumber";

/// A term that is packed into one number.
pub const PACKED: &str = "Packed";

/// A value without constraints: user data, and ranks of an election.
pub const ANY: &str = "Any";

/// A list with one element for each process of the group.
pub const BY_PROCESS: &str = "ByProcess";

/// A list of any length, such as the entries of a log. Its elements are checked as usual.
pub const OF_ANY_LENGTH: &str = "OfAnyLength";

/// Serializes a number with the mark [`TERM_NUMBER`].
///
/// # Errors
///
/// Those of the serializer.
pub fn term_number<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(TERM_NUMBER, number)
}

/// Serializes a packed term with the mark [`PACKED`].
///
/// # Errors
///
/// Those of the serializer.
pub fn packed<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(PACKED, number)
}

/// Serializes a value with the mark [`ANY`].
///
/// # Errors
///
/// Those of the serializer.
pub fn any<T: Serialize + ?Sized, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(ANY, value)
}

/// Serializes a list with the mark [`BY_PROCESS`].
///
/// # Errors
///
/// Those of the serializer.
pub fn by_process<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(BY_PROCESS, list)
}

/// Serializes a list with the mark [`OF_ANY_LENGTH`].
///
/// # Errors
///
/// Those of the serializer.
pub fn of_any_length<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(OF_ANY_LENGTH, list)
}

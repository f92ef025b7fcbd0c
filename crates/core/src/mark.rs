//! What a number or a list in a message is, for whoever looks at values of any type.
//!
//! A runner that takes messages off a wire knows nothing of their types, and yet must not believe
//! everything: the number of a term has to fit a fence, a list by process has one element for
//! each. Fields say so by `#[serde(serialize_with = …)]`. Formats see nothing of it, since a new
//! type is written as what it contains; a [`serde::Serializer`] that asks for its name sees all.
//!
//! Numbers without a mark only ever grow by counting: clocks, requests, entries.

use serde::{Serialize, Serializer};

/// The number of a term, which is packed into fences: below
/// [`Term::NUMBERS`](crate::Term::NUMBERS).
pub const TERM_NUMBER: &str = "TermNumber";

/// A term that is packed into one number.
pub const PACKED: &str = "Packed";

/// Of which any value is as good as another: data of users, and what decides an election.
pub const ANY: &str = "Any";

/// A list with one element for each process of the group.
pub const BY_PROCESS: &str = "ByProcess";

/// A list of any length, such as entries of a log; what is in it is looked at as everything else.
pub const OF_ANY_LENGTH: &str = "OfAnyLength";

/// Marks the [`TERM_NUMBER`].
///
/// # Errors
///
/// Those of the serializer.
pub fn term_number<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(TERM_NUMBER, number)
}

/// Marks what is [`PACKED`].
///
/// # Errors
///
/// Those of the serializer.
pub fn packed<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(PACKED, number)
}

/// Marks what may be [`ANY`].
///
/// # Errors
///
/// Those of the serializer.
pub fn any<T: Serialize + ?Sized, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(ANY, value)
}

/// Marks a list [`BY_PROCESS`].
///
/// # Errors
///
/// Those of the serializer.
pub fn by_process<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(BY_PROCESS, list)
}

/// Marks a list [`OF_ANY_LENGTH`].
///
/// # Errors
///
/// Those of the serializer.
pub fn of_any_length<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(OF_ANY_LENGTH, list)
}

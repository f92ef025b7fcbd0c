//! Marks of message fields. A mark is a name that states which values a field may have.
//!
//! A runner that receives messages does not know their types, and yet must not trust every value.
//! For example, the number of a term must be small enough for a fence. A list that is indexed by
//! process must have one element for each process. A field with such a constraint has the attribute
//! `#[serde(serialize_with = …)]`. This attribute serializes the field as a newtype whose name is
//! the mark. The data formats of Tenure write only the content of a newtype, so a mark does not
//! change the encoded message. A [`serde::Serializer`] that reads the names of newtypes finds the
//! marks and can check the values.
//!
//! A runner treats numbers without a mark as counters, such as clocks and the numbers of requests
//! and entries. It limits the length of lists without a mark. A [`ProcessId`](crate::ProcessId)
//! needs no mark, because it is itself a newtype.

use serde::{Serialize, Serializer};

/// Mark of a field with the number of a term. The number must be below
/// [`Term::NUMBER_LIMIT`](crate::Term::NUMBER_LIMIT), because terms are packed into fences.
pub const TERM_NUMBER_MARK: &str = "TermNumber";

/// Mark of a number that holds a packed term. [`Term::packed`](crate::Term::packed) defines the
/// format.
pub const PACKED_TERM_MARK: &str = "Packed";

/// Mark of a value without constraints, such as user data or a rank of an election. Only the
/// process ids in the value are checked.
pub const ANY_VALUE_MARK: &str = "Any";

/// Mark of a list with one element for each process of the group.
pub const BY_PROCESS_MARK: &str = "ByProcess";

/// Mark of a list of any length, such as the entries of a log. The length is not checked, but each
/// element is checked.
pub const ANY_LENGTH_MARK: &str = "OfAnyLength";

/// Serializes a number as a newtype with the name [`TERM_NUMBER_MARK`]. The name marks the number
/// as the number of a term.
///
/// # Errors
///
/// The error of the serializer.
pub fn term_number<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(TERM_NUMBER_MARK, number)
}

/// Serializes a packed term as a newtype with the name [`PACKED_TERM_MARK`]. The name marks the
/// number as a packed term.
///
/// # Errors
///
/// The error of the serializer.
pub fn packed<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(PACKED_TERM_MARK, number)
}

/// Serializes a value as a newtype with the name [`ANY_VALUE_MARK`]. The name marks the value as
/// unconstrained.
///
/// # Errors
///
/// The error of the serializer.
pub fn any<T: Serialize + ?Sized, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(ANY_VALUE_MARK, value)
}

/// Serializes a list as a newtype with the name [`BY_PROCESS_MARK`]. The name states that the list
/// has one element for each process of the group.
///
/// # Errors
///
/// The error of the serializer.
pub fn by_process<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(BY_PROCESS_MARK, list)
}

/// Serializes a list as a newtype with the name [`ANY_LENGTH_MARK`]. The name states that the
/// length of the list is not constrained.
///
/// # Errors
///
/// The error of the serializer.
pub fn of_any_length<T: Serialize, S: Serializer>(list: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(ANY_LENGTH_MARK, list)
}

//! Serializer that inspects a value of any type. The serialization contains names, called marks,
//! which tell the serializer what a number or a list means.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Serializer};
use tenure_core::{ProcessId, mark};

use super::{NumberKind, ValidationError};

type Result<T = ()> = std::result::Result<T, ValidationError>;

/// Kind of the value that the serializer inspects, as the type of the message declares it. The kind
/// determines which numbers and which list lengths the serializer accepts in the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// No mark. An unsigned number without a mark is a counter, such as the value of a clock. A
    /// signed 64-bit number without a mark is a time in nanoseconds.
    Plain,
    Process,
    TermNumber,
    Packed,
    Any,
    ByProcess,
    OfAnyLength,
}

/// Largest absolute value of a signed number. Signed numbers are times in nanoseconds, so this
/// limit is about two years.
const MAX_ABSOLUTE_TIME: u64 = 1 << 56;

/// Serializer that inspects the numbers and the lists of one message or state. It compares the
/// numbers with limits, and remembers the highest number of each kind.
#[derive(Debug)]
pub(super) struct ValueWalker {
    group_size: u32,
    max_list_length: u32,
    /// For each [`NumberKind`]: the highest number that is accepted.
    limits: [u64; 3],
    /// For each [`NumberKind`]: the highest number so far, including the numbers of earlier
    /// messages and states.
    highest: [Option<u64>; 3],
    mark: Mark,
}

impl ValueWalker {
    pub(super) fn new(
        group_size: u32,
        max_list_length: u32,
        limits: [u64; 3],
        highest: [Option<u64>; 3],
    ) -> Self {
        ValueWalker { group_size, max_list_length, limits, highest, mark: Mark::Plain }
    }

    pub(super) fn highest_numbers(&self) -> [Option<u64>; 3] {
        self.highest
    }

    fn check_number(&mut self, kind: NumberKind, number: u64) -> Result {
        let max = self.limits[kind as usize];
        if number > max {
            return Err(ValidationError::NumberTooLarge { number, max });
        }
        let highest = &mut self.highest[kind as usize];
        *highest = Some(number).max(*highest);
        Ok(())
    }
}

impl ser::Error for ValidationError {
    fn custom<T: Display>(_: T) -> Self {
        ValidationError::Unreadable
    }
}

macro_rules! nothing_to_check {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(fn $name(self, _: $type) -> Result {
            Ok(())
        })+
    };
}

impl<'a> Serializer for &'a mut ValueWalker {
    type Ok = ();
    type Error = ValidationError;
    type SerializeSeq = ListWalker<'a>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    nothing_to_check!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_u8: u8, serialize_u16: u16, serialize_f32: f32, serialize_f64: f64,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
    );

    fn serialize_i64(self, number: i64) -> Result {
        let number = number.unsigned_abs();
        if number <= MAX_ABSOLUTE_TIME || self.mark == Mark::Any {
            return Ok(());
        }
        Err(ValidationError::NumberTooLarge { number, max: MAX_ABSOLUTE_TIME })
    }

    fn serialize_u32(self, number: u32) -> Result {
        match self.mark {
            Mark::Any => Ok(()),
            Mark::Process if number < self.group_size => Ok(()),
            Mark::Process => Err(ValidationError::UnknownProcess {
                process: ProcessId(number),
                group_size: self.group_size,
            }),
            _ => self.check_number(NumberKind::Short, number.into()),
        }
    }

    fn serialize_u64(self, number: u64) -> Result {
        match self.mark {
            Mark::Any => Ok(()),
            Mark::TermNumber => self.check_number(NumberKind::Terms, number),
            Mark::Packed => self.check_number(NumberKind::Terms, number >> 24),
            Mark::Plain | Mark::Process | Mark::ByProcess | Mark::OfAnyLength => {
                self.check_number(NumberKind::Long, number)
            }
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result {
        let mark = match name {
            "ProcessId" => Mark::Process,
            _ if self.mark == Mark::Any => Mark::Any,
            mark::TERM_NUMBER_MARK => Mark::TermNumber,
            mark::PACKED_TERM_MARK => Mark::Packed,
            mark::ANY_VALUE_MARK => Mark::Any,
            mark::BY_PROCESS_MARK => Mark::ByProcess,
            mark::ANY_LENGTH_MARK => Mark::OfAnyLength,
            _ => self.mark,
        };
        let before = std::mem::replace(&mut self.mark, mark);
        value.serialize(&mut *self)?;
        self.mark = before;
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListWalker<'a>> {
        let remaining = match self.mark {
            Mark::Any | Mark::OfAnyLength => u32::MAX,
            Mark::ByProcess => self.group_size,
            _ => self.max_list_length,
        };
        let is_exact = self.mark == Mark::ByProcess;
        if self.mark == Mark::OfAnyLength {
            // The mark does not apply to the elements.
            self.mark = Mark::Plain;
        }
        Ok(ListWalker { remaining, is_exact, walk: self })
    }

    fn serialize_none(self) -> Result {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result {
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result {
        value.serialize(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self> {
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Serializer that inspects the elements of a list, and checks the number of elements.
#[derive(Debug)]
pub(super) struct ListWalker<'a> {
    walk: &'a mut ValueWalker,
    /// Number of further elements that the list may have. If `is_exact` is true, the list must have
    /// exactly this number of further elements.
    remaining: u32,
    is_exact: bool,
}

impl ser::SerializeSeq for ListWalker<'_> {
    type Ok = ();
    type Error = ValidationError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let group_size = self.walk.group_size;
        self.remaining =
            self.remaining.checked_sub(1).ok_or(ValidationError::ListLength { group_size })?;
        value.serialize(&mut *self.walk)
    }

    fn end(self) -> Result {
        if self.is_exact && self.remaining > 0 {
            return Err(ValidationError::ListLength { group_size: self.walk.group_size });
        }
        Ok(())
    }
}

macro_rules! walk_through {
    ($($trait:ident :: $method:ident ($($key:ident)?)),+ $(,)?) => {
        $(impl ser::$trait for &mut ValueWalker {
            type Ok = ();
            type Error = ValidationError;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result {
                $(let _ = $key;)?
                value.serialize(&mut **self)
            }

            fn end(self) -> Result {
                Ok(())
            }
        })+
    };
}

walk_through!(
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(key),
    SerializeStructVariant::serialize_field(key),
);

impl ser::SerializeMap for &mut ValueWalker {
    type Ok = ();
    type Error = ValidationError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result {
        Ok(())
    }
}

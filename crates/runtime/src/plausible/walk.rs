//! A walk through a value of any type, by the names that its serialization tells.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Serializer};
use tenure_core::{ProcessId, mark};

use super::{Count, Implausible};

/// What the numbers and lists are that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Counted, like a clock.
    Plain,
    Process,
    TermNumber,
    Packed,
    Any,
    ByProcess,
    OfAnyLength,
}

/// How far signed numbers go, which are times in nanoseconds: two years either way.
const FARTHEST: u64 = 1 << 56;

/// A walk, as far as it has come.
#[derive(Debug)]
pub(super) struct Walk {
    size: u32,
    /// How many elements a list may have.
    longest: u32,
    /// By [`Count`]: the highest number that is believed.
    most: [u64; 3],
    /// By [`Count`]: the highest number so far, those heard before included.
    heard: [Option<u64>; 3],
    mark: Mark,
}

impl Walk {
    pub(super) fn new(size: u32, longest: u32, most: [u64; 3], heard: [Option<u64>; 3]) -> Self {
        Walk { size, longest, most, heard, mark: Mark::Plain }
    }

    pub(super) fn heard(&self) -> [Option<u64>; 3] {
        self.heard
    }

    fn count(&mut self, count: Count, number: u64) -> Result<(), Implausible> {
        let most = self.most[count as usize];
        if number > most {
            return Err(Implausible::Number { number, most });
        }
        let heard = &mut self.heard[count as usize];
        *heard = Some(number).max(*heard);
        Ok(())
    }
}

impl ser::Error for Implausible {
    fn custom<T: Display>(_: T) -> Self {
        Implausible::Unreadable
    }
}

macro_rules! nothing_to_check {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(fn $name(self, _: $type) -> Result<(), Implausible> {
            Ok(())
        })+
    };
}

impl<'a> Serializer for &'a mut Walk {
    type Ok = ();
    type Error = Implausible;
    type SerializeSeq = List<'a>;
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

    fn serialize_i64(self, number: i64) -> Result<(), Implausible> {
        let far = number.unsigned_abs();
        if far <= FARTHEST || self.mark == Mark::Any {
            return Ok(());
        }
        Err(Implausible::Number { number: far, most: FARTHEST })
    }

    fn serialize_u32(self, number: u32) -> Result<(), Implausible> {
        match self.mark {
            Mark::Any => Ok(()),
            Mark::Process if number < self.size => Ok(()),
            Mark::Process => {
                Err(Implausible::Stranger { process: ProcessId(number), size: self.size })
            }
            _ => self.count(Count::Short, number.into()),
        }
    }

    fn serialize_u64(self, number: u64) -> Result<(), Implausible> {
        match self.mark {
            Mark::Any => Ok(()),
            Mark::TermNumber => self.count(Count::Terms, number),
            Mark::Packed => self.count(Count::Terms, number >> 24),
            Mark::Plain | Mark::Process | Mark::ByProcess | Mark::OfAnyLength => {
                self.count(Count::Long, number)
            }
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Implausible> {
        let mark = match name {
            "ProcessId" => Mark::Process,
            _ if self.mark == Mark::Any => Mark::Any,
            mark::TERM_NUMBER => Mark::TermNumber,
            mark::PACKED => Mark::Packed,
            mark::ANY => Mark::Any,
            mark::BY_PROCESS => Mark::ByProcess,
            mark::OF_ANY_LENGTH => Mark::OfAnyLength,
            _ => self.mark,
        };
        let before = std::mem::replace(&mut self.mark, mark);
        value.serialize(&mut *self)?;
        self.mark = before;
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Implausible> {
        let left = match self.mark {
            Mark::Any | Mark::OfAnyLength => u32::MAX,
            Mark::ByProcess => self.size,
            _ => self.longest,
        };
        let exact = self.mark == Mark::ByProcess;
        if self.mark == Mark::OfAnyLength {
            // What is in it is not.
            self.mark = Mark::Plain;
        }
        Ok(List { left, exact, walk: self })
    }

    fn serialize_none(self) -> Result<(), Implausible> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Implausible> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Implausible> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Implausible> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), Implausible> {
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Implausible> {
        value.serialize(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Implausible> {
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A walk through a list.
#[derive(Debug)]
pub(super) struct List<'a> {
    walk: &'a mut Walk,
    /// How many elements may come, or have to.
    left: u32,
    exact: bool,
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Implausible;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Implausible> {
        let size = self.walk.size;
        self.left = self.left.checked_sub(1).ok_or(Implausible::List { size })?;
        value.serialize(&mut *self.walk)
    }

    fn end(self) -> Result<(), Implausible> {
        if self.exact && self.left > 0 {
            return Err(Implausible::List { size: self.walk.size });
        }
        Ok(())
    }
}

macro_rules! walk_through {
    ($($trait:ident :: $method:ident ($($key:ident)?)),+ $(,)?) => {
        $(impl ser::$trait for &mut Walk {
            type Ok = ();
            type Error = Implausible;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), Implausible> {
                $(let _ = $key;)?
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Implausible> {
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

impl ser::SerializeMap for &mut Walk {
    type Ok = ();
    type Error = Implausible;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Implausible> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Implausible> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Implausible> {
        Ok(())
    }
}

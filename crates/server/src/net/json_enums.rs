//! Checks the names of enum values in JSON. The parser of the gateway would accept an unknown name
//! as the first value of the enum, so this check rejects unknown names.

use std::fmt;

use prost_reflect::{Kind, MessageDescriptor};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Checks that all names of enum values in a message are known. Ignores unknown fields.
pub(crate) fn check_enum_names(
    text: &[u8],
    kind: MessageDescriptor,
) -> Result<(), serde_json::Error> {
    EnumNames(&Kind::Message(kind)).deserialize(&mut serde_json::Deserializer::from_slice(text))
}

/// Serde visitor of the values of a field. The kind is that of the field, or that of its elements
/// if the field is repeated.
#[derive(Clone, Copy)]
struct EnumNames<'a>(&'a Kind);

impl<'de> DeserializeSeed<'de> for EnumNames<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0 {
            Kind::Message(_) | Kind::Enum(_) => from.deserialize_any(self),
            _ => from.deserialize_ignored_any(IgnoredAny).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for EnumNames<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message, or the name or the number of an enum value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let message = self.0.as_message();
            let field = message.and_then(|it| {
                it.get_field_by_json_name(&name).or_else(|| it.get_field_by_name(&name))
            });
            match field {
                Some(field) => map.next_value_seed(EnumNames(&field.kind()))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        match self.0.as_enum() {
            Some(kind) if kind.get_value_by_name(name).is_none() => {
                Err(E::custom(format!("unknown value {name:?} for enum {}", kind.full_name())))
            }
            _ => Ok(()),
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

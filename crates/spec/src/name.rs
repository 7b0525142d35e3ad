//! Names of variants, as experiment files write them.

use std::fmt::{self, Display};

use serde::ser::{Impossible, Serialize, Serializer};

/// Name of a variant of an enumeration in experiment files, for messages: the one that serde writes. Empty for other values.
pub fn name<T: Serialize + ?Sized>(variant: &T) -> &'static str {
    variant.serialize(Namer).unwrap_or_default()
}

/// A serializer that returns the name of a variant, and an error for anything else.
struct Namer;

/// Defines methods for values that are not variants.
macro_rules! refuse {
    ($($method:ident($($of:ty),*) -> $result:ty;)*) => {
        $(fn $method(self, $(_: $of),*) -> Result<$result, fmt::Error> {
            Err(fmt::Error)
        })*
    };
}

type Never = Impossible<&'static str, fmt::Error>;

impl Serializer for Namer {
    type Ok = &'static str;
    type Error = fmt::Error;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<&'static str, fmt::Error> {
        Ok(variant)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Result<&'static str, fmt::Error> {
        Ok(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<&'static str, fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<&'static str, fmt::Error> {
        Err(fmt::Error)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<&'static str, fmt::Error> {
        Err(fmt::Error)
    }

    refuse! {
        serialize_bool(bool) -> &'static str;
        serialize_i8(i8) -> &'static str;
        serialize_i16(i16) -> &'static str;
        serialize_i32(i32) -> &'static str;
        serialize_i64(i64) -> &'static str;
        serialize_u8(u8) -> &'static str;
        serialize_u16(u16) -> &'static str;
        serialize_u32(u32) -> &'static str;
        serialize_u64(u64) -> &'static str;
        serialize_f32(f32) -> &'static str;
        serialize_f64(f64) -> &'static str;
        serialize_char(char) -> &'static str;
        serialize_str(&str) -> &'static str;
        serialize_bytes(&[u8]) -> &'static str;
        serialize_none() -> &'static str;
        serialize_unit() -> &'static str;
        serialize_unit_struct(&'static str) -> &'static str;
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, Pattern, Placement};

    #[test]
    fn variants_have_the_names_of_experiment_files() {
        assert_eq!(name(&Algorithm::Par62), "par-6/2");
        assert_eq!(name(&Algorithm::UgalL), "ugal-l");
        assert_eq!(name(&Pattern::To("H1".to_owned())), "to");
        assert_eq!(name(&Pattern::RandomPermutation), "random-permutation");
        assert_eq!(name(&Some(Placement::Strided(2))), "strided");
    }

    #[test]
    fn other_values_have_no_name() {
        assert_eq!((name(&3), name("to"), name(&[1]), name(&None::<Algorithm>)), ("", "", "", ""));
    }
}

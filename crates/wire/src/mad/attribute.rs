//! The macro that lists the attributes of a management class.

/// Defines an enum of attributes by identifier: a variant is `Name(Type) = identifier`.
macro_rules! attributes {
    ($(#[$meta:meta])* $name:ident { $($variant:ident($type:ty) = $id:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
        #[allow(clippy::large_enum_variant, reason = "an attribute is copied out of a datagram of 256 bytes")]
        #[allow(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "attributes have the names of the specification"
        )]
        pub enum $name {
            $(
                #[doc = concat!("Attribute ", stringify!($id), ".")]
                $variant($type),
            )*
        }

        impl $name {
            /// Identifiers and names of all attributes.
            pub const ALL: &[($crate::mad::AttributeId, &str)] =
                &[$(($crate::mad::AttributeId($id), stringify!($variant)),)*];

            /// Reads the attribute `id` from the start of `data`; `None` if the class has no such attribute.
            pub fn parse(
                id: $crate::mad::AttributeId,
                data: &[u8],
            ) -> Result<Option<Self>, $crate::WireError> {
                match id.0 {
                    $($id => <$type as $crate::Record>::parse(data).map(|meaning| Some(Self::$variant(meaning))),)*
                    _ => Ok(None),
                }
            }

            /// Writes the attribute to the start of `data`.
            pub fn emit(&self, data: &mut [u8]) -> Result<(), $crate::WireError> {
                match self {
                    $(Self::$variant(meaning) => $crate::Record::emit(meaning, data),)*
                }
            }

            /// Identifier of the attribute.
            pub const fn id(&self) -> $crate::mad::AttributeId {
                match self {
                    $(Self::$variant(_) => $crate::mad::AttributeId($id),)*
                }
            }

            /// Name of the attribute.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($variant),)*
                }
            }
        }
    };
}

pub(crate) use attributes;

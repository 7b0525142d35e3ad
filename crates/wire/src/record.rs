//! The macro that defines a format by the table of its fields.

use crate::WireError;

/// A format of fixed length: its meaning as a plain value.
pub trait Record: Copy {
    /// Name of the format in messages.
    const NAME: &'static str;
    /// Length in bytes.
    const LEN: usize;

    /// Reads the first [`Record::LEN`] bytes. Reserved bits are ignored.
    fn parse(bytes: &[u8]) -> Result<Self, WireError>;

    /// Writes the first [`Record::LEN`] bytes; reserved bits are 0. A value that is wider than its field is cut to its
    /// lower bits.
    fn emit(&self, bytes: &mut [u8]) -> Result<(), WireError>;

    /// The bytes of the record in an array of `N` bytes, filled with zeros. `N` must not be less than [`Record::LEN`].
    fn to_bytes<const N: usize>(&self) -> Result<[u8; N], WireError> {
        let mut bytes = [0; N];
        self.emit(&mut bytes)?;
        Ok(bytes)
    }
}

/// Defines a format: meaning `$name` and view `$view` of `$len` bytes. A field is `name: type = byte:bit, width` with bit 0
/// the most significant one of the byte; fields are listed in the order of their bits and do not overlap, which is
/// checked when the crate is compiled. Fields after `view only` have a constant value when they are emitted and are read
/// by the view alone.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident, $view:ident, $len:literal {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $byte:literal:$bit:literal, $width:literal;)*
        }
        $(view only {
            $($(#[$fixed_meta:meta])*
            $fixed:ident: $fixed_type:ty = $fixed_byte:literal:$fixed_bit:literal, $fixed_width:literal => $value:expr;)*
        })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        const _: () = {
            let mut end = 0;
            $(
                assert!(end <= $byte * 8 + $bit, concat!("fields overlap before ", stringify!($field)));
                end = $byte * 8 + $bit + $width * <$type as $crate::field::Field>::COUNT;
            )*
            assert!(end <= $len * 8, concat!(stringify!($name), " is longer than its length"));
        };

        impl $crate::record::Record for $name {
            const NAME: &'static str = stringify!($name);
            const LEN: usize = $len;

            #[inline]
            fn parse(bytes: &[u8]) -> Result<Self, $crate::WireError> {
                Ok($view::new(bytes)?.meaning())
            }

            #[inline]
            fn emit(&self, bytes: &mut [u8]) -> Result<(), $crate::WireError> {
                let have = bytes.len();
                let Some(bytes) = bytes.get_mut(..$len) else {
                    return Err($crate::WireError::Truncated { what: stringify!($name), need: $len, have });
                };
                bytes.fill(0);
                $($crate::field::Field::write(&self.$field, bytes, $byte * 8 + $bit, $width);)*
                $($($crate::field::Field::write(
                    &$value, bytes, $fixed_byte * 8 + $fixed_bit, $fixed_width,
                );)*)?
                Ok(())
            }
        }

        impl $crate::field::Field for $name {
            const COUNT: usize = $len;

            #[inline]
            fn read(bytes: &[u8], at: usize, _width: usize) -> Self {
                let bytes = bytes.get(at / 8..).unwrap_or_default();
                $view(bytes).meaning()
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], at: usize, _width: usize) {
                if let Some(bytes) = bytes.get_mut(at / 8..) {
                    // A caller that writes a field has checked the length of the record around it.
                    let _ = $crate::record::Record::emit(self, bytes);
                }
            }
        }

        #[doc = concat!("View of the bytes of [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $view<B>(B);

        #[allow(dead_code, reason = "not every record has a field at every place")]
        impl<B: AsRef<[u8]>> $view<B> {
            /// Views bytes, of which there must be at least the record's length.
            #[inline]
            pub fn new(bytes: B) -> Result<Self, $crate::WireError> {
                $crate::error::need(stringify!($name), $len, bytes.as_ref().len())?;
                Ok(Self(bytes))
            }

            $($(#[$field_meta])*
            #[inline]
            pub fn $field(&self) -> $type {
                $crate::field::Field::read(self.0.as_ref(), $byte * 8 + $bit, $width)
            })*

            $($($(#[$fixed_meta])*
            #[inline]
            pub fn $fixed(&self) -> $fixed_type {
                $crate::field::Field::read(self.0.as_ref(), $fixed_byte * 8 + $fixed_bit, $fixed_width)
            })*)?

            /// Reads all fields.
            #[inline]
            pub fn meaning(&self) -> $name {
                $name { $($field: self.$field(),)* }
            }
        }

        impl<B: AsRef<[u8]> + AsMut<[u8]>> $view<B> {
            /// Writes all fields.
            #[inline]
            pub fn set(&mut self, meaning: &$name) -> Result<(), $crate::WireError> {
                $crate::record::Record::emit(meaning, self.0.as_mut())
            }
        }
    };
}

pub(crate) use record;

//! Numbers, texts, tuples and boxes.

use std::cmp::Reverse;
use std::num::NonZeroU16;

use crate::{Damaged, Reader, State, Value, Writer};

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl State for $number {
            fn save(&self, to: &mut Writer) {
                to.put(&self.to_le_bytes());
            }
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
                *self = Value::read(from)?;
                Ok(())
            }
        }

        impl Value for $number {
            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(Self::from_le_bytes(from.array()?))
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

/// `State` of a `Value` that is written as another one.
macro_rules! written_as {
    ($kind:ty, $value:ident => $written:expr, $from:ident => $read:expr) => {
        impl State for $kind {
            fn save(&self, to: &mut Writer) {
                let $value = self;
                $written.save(to);
            }
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
                *self = Value::read(from)?;
                Ok(())
            }
        }

        impl Value for $kind {
            fn read($from: &mut Reader<'_>) -> Result<Self, Damaged> {
                $read
            }
        }
    };
}

written_as!(usize, value => (*value as u64), from => u64::read(from)?.try_into().map_err(|_| from.damaged()));
written_as!(bool, value => u8::from(*value), from => match from.byte()? {
    0 => Ok(false),
    1 => Ok(true),
    _ => Err(from.damaged()),
});
written_as!(NonZeroU16, value => value.get(), from => Self::new(u16::read(from)?).ok_or_else(|| from.damaged()));

impl State for String {
    fn save(&self, to: &mut Writer) {
        to.length(self.len());
        to.put(self.as_bytes());
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self = Value::read(from)?;
        Ok(())
    }
}

impl Value for String {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let length = from.length()?;
        let text = str::from_utf8(from.take(length)?).map_err(|_| from.damaged())?;
        Ok(text.to_owned())
    }
}

macro_rules! tuples {
    ($(($($name:ident),+))*) => {$(
        impl<$($name: State),+> State for ($($name,)+) {
            #[allow(non_snake_case, reason = "a field has the name of its type")]
            fn save(&self, to: &mut Writer) {
                let ($($name,)+) = self;
                $($name.save(to);)+
            }
            #[allow(non_snake_case, reason = "a field has the name of its type")]
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
                let ($($name,)+) = self;
                $($name.load(from)?;)+
                Ok(())
            }
        }

        impl<$($name: Value),+> Value for ($($name,)+) {
            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(($($name::read(from)?,)+))
            }
        }
    )*};
}

tuples! { (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Writer) {
        T::save(self, to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        T::load(self, from)
    }
}

impl<T: Value> Value for Box<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::read(from).map(Self::new)
    }
}

impl<T: State> State for Reverse<T> {
    fn save(&self, to: &mut Writer) {
        self.0.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.0.load(from)
    }
}

impl<T: Value> Value for Reverse<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::read(from).map(Self)
    }
}

impl<T: Value> State for Option<T> {
    fn save(&self, to: &mut Writer) {
        self.is_some().save(to);
        if let Some(value) = self {
            value.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self = Value::read(from)?;
        Ok(())
    }
}

impl<T: Value> Value for Option<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

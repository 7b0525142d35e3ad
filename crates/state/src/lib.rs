//! The state of a run as bytes, for checkpoints on disk.
//!
//! A checkpoint is loaded into a fresh run of the same experiment. So what follows from the experiment (routing tables, rules, capacities) is
//! never written, and has no bytes that could be wrong.
//!
//! - [`State`] writes what changes during a run, and loads it *in place*.
//! - [`Value`] is for what can be made from its bytes alone: numbers, lists and maps of values, plain structs and enums.
//!
//! Both are derived. A field without an attribute needs a type with [`State`]; `Arc`, function pointers and the like have none, so the
//! compiler refuses a field that was forgotten. With `derive(State)` a field may have an attribute:
//!
//! | attribute | the field |
//! |---|---|
//! | `#[state(fixed)]` | follows from the experiment: neither written nor changed |
//! | `#[state(each)]` | is a list (or an `Option`) whose length is fixed: its elements are loaded in place |
//! | `#[state(refuse = "feature")]` | belongs to a feature with which a run has no checkpoints ([`Feature`]) |
//!
//! A variant of an enum with `derive(State)` may have `refuse` as well; the others are loaded in place, if they are the same variant.
//!
//! Integers are little-endian, a length is 64 bits. No bytes make a reader panic or reserve memory for more elements than bytes are left.
//! That does not make the state one that a run could be in: the file of a checkpoint has a checksum against accidental damage.

// Derived code names this crate.
#[cfg(test)]
extern crate self as fabricsim_state;

mod collections;
mod plain;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use fabricsim_state_derive::{State, Value};

pub use self::reader::{Damaged, Reader};
pub use self::writer::{Refused, Writer};

/// Something whose state a checkpoint has.
pub trait State {
    /// Writes the state.
    fn save(&self, to: &mut Writer);

    /// Replaces the state by the written one. After an error it is neither.
    ///
    /// # Errors
    ///
    /// The bytes are not those of such a state.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged>;
}

/// State that can be made from its bytes alone.
pub trait Value: State + Sized {
    /// The value that [`State::save`] wrote.
    ///
    /// # Errors
    ///
    /// The bytes are not those of such a value.
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged>;
}

/// A field of a feature that a run may use or not.
pub trait Feature {
    /// True if the run uses it.
    fn is_used(&self) -> bool;
}

impl<T> Feature for Option<T> {
    fn is_used(&self) -> bool {
        self.is_some()
    }
}

impl<T> Feature for Vec<T> {
    fn is_used(&self) -> bool {
        !self.is_empty()
    }
}

impl<K, V> Feature for std::collections::BTreeMap<K, V> {
    fn is_used(&self) -> bool {
        !self.is_empty()
    }
}

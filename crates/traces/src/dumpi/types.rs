//! Bytes of MPI's types, those that the program makes included.

use std::collections::BTreeMap;

use super::stream::Call;

/// Bytes of the types of MPI by number, where the file does not state them (LP64).
const BASIC: [i32; 28] =
    [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20];

/// Bytes of types by number.
#[derive(Debug)]
pub(super) struct Types {
    stated: Vec<i32>,
    made: BTreeMap<i64, u64>,
}

impl Types {
    /// Types with the bytes that a file states.
    pub(super) fn new(stated: Vec<i32>) -> Self {
        let stated = if stated.is_empty() { BASIC.to_vec() } else { stated };
        Self { stated, made: BTreeMap::new() }
    }

    /// Bytes of `count` elements of a type.
    pub(super) fn bytes(&self, count: i64, number: i64) -> Result<u64, String> {
        let count = u64::try_from(count).map_err(|_| format!("a count of {count}: must be 0 or more"))?;
        let stated = || {
            let at = usize::try_from(number).ok()?;
            self.stated.get(at).and_then(|bytes| u64::try_from(*bytes).ok())
        };
        let size = self.made.get(&number).copied().or_else(stated);
        let size = size.ok_or_else(|| format!("type {number} is not known"))?;
        let bytes = count.checked_mul(size).filter(|bytes| *bytes <= u64::from(u32::MAX) << 16);
        bytes.ok_or_else(|| format!("{count} elements of {size} bytes: too many"))
    }

    /// Notes the type that a call makes, if it makes one.
    pub(super) fn note(&mut self, name: &str, call: &Call) -> Result<(), String> {
        let (new, bytes) = match name {
            "Type_contiguous" => (2, self.bytes(call.number(0), call.number(1))?),
            "Type_vector" | "Type_hvector" | "Type_create_hvector" | "Type_create_indexed_block" => {
                let count = call.number(0).saturating_mul(call.number(1));
                (4, self.bytes(count, call.number(3))?)
            }
            "Type_indexed" | "Type_hindexed" | "Type_create_hindexed" => {
                let count = call.list(1).iter().map(|length| i64::from(*length)).sum();
                (4, self.bytes(count, call.number(3))?)
            }
            "Type_struct" | "Type_create_struct" => {
                let parts = call.list(1).iter().zip(call.list(3));
                let sizes = parts.map(|(count, number)| self.bytes(i64::from(*count), i64::from(*number)));
                let sum = sizes.sum::<Result<u64, String>>()?;
                (4, sum)
            }
            "Type_create_subarray" => {
                let parts = call.list(2).iter();
                let count = parts.fold(1i64, |product, part| product.saturating_mul(i64::from(*part)));
                (6, self.bytes(count, call.number(5))?)
            }
            "Type_create_resized" => (3, self.bytes(1, call.number(0))?),
            "Type_dup" => (1, self.bytes(1, call.number(0))?),
            _ => return Ok(()),
        };
        self.made.insert(call.number(new), bytes);
        Ok(())
    }
}

//! Content of new memory.

use crate::error::{VerbsError, full};

/// Zeros, which take memory of the machine only where they are written.
pub(crate) fn zeros(length: u64) -> Result<Vec<u8>, VerbsError> {
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    // `vec!` ends the process where the machine refuses as much.
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| {
        full(format!(
            "reg_mr: length = {length}: more than this machine has; memory without content has any length"
        ))
    })?;
    Ok(vec![0; wanted])
}

#[cfg(test)]
mod tests {
    use crate::access::AccessFlags;
    use crate::handles::Pd;
    use crate::memory::Memory;

    #[test]
    fn more_memory_than_there_is_cannot_be_registered() {
        let mut memory = Memory::default();
        let access = AccessFlags::LOCAL_WRITE;
        for length in [1 << 60, u64::MAX - (1 << 20), u64::MAX] {
            let error = memory.register(Pd(0), length, access, false).unwrap_err();
            assert!(error.to_string().starts_with(&format!("ENOMEM: reg_mr: length = {length}")), "{error}");
        }
        memory.register(Pd(0), 1 << 60, access, true).unwrap();
        let error = memory.register(Pd(0), u64::MAX, access, true).unwrap_err();
        assert!(error.to_string().contains("the address space has no room"), "{error}");
    }
}

//! Buffers of requests: memory of Python, which the ranks' messages are copied to and from.

use fabricsim_simulation::RankBuffers;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// The buffer of a request: its bytes, and the object of which parts are taken.
pub(super) struct Kept {
    pub(super) bytes: PyBuffer<u8>,
    pub(super) view: Py<PyAny>,
}

/// Buffers of requests, by rank and number.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) by_rank: Vec<Vec<Option<Kept>>>,
    /// First error of a copy.
    pub(super) failure: Option<PyErr>,
}

impl Buffers {
    pub(super) fn keep(&mut self, rank: usize, request: u32, buffer: Kept) {
        let of = &mut self.by_rank[rank];
        let place = request as usize;
        if of.len() <= place {
            of.resize_with(place + 1, || None);
        }
        of[place] = Some(buffer);
    }
}

impl Kept {
    /// Calls `copy` with the bytes from `offset` on, `length` of them.
    fn part(
        &self,
        py: Python<'_>,
        (offset, length): (usize, usize),
        copy: impl FnOnce(&PyBuffer<u8>) -> PyResult<()>,
    ) -> PyResult<()> {
        if offset == 0 && length == self.bytes.len_bytes() {
            return copy(&self.bytes);
        }
        let slice = PySlice::new(py, offset as isize, (offset + length) as isize, 1);
        let part = self.view.bind(py).get_item(slice)?;
        copy(&PyBuffer::get(&part)?)
    }
}

/// Buffers, while the interpreter is held.
pub(super) struct Held<'a, 'py> {
    pub(super) py: Python<'py>,
    pub(super) buffers: &'a mut Buffers,
}

impl Held<'_, '_> {
    fn copy(
        &mut self,
        (rank, request): (usize, u32),
        part: (usize, usize),
        copy: impl FnOnce(&PyBuffer<u8>) -> PyResult<()>,
    ) {
        let Some(Some(kept)) = self.buffers.by_rank[rank].get(request as usize) else { return };
        if let Err(error) = kept.part(self.py, part, copy) {
            self.buffers.failure.get_or_insert(error);
        }
    }
}

impl RankBuffers for Held<'_, '_> {
    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]) {
        let py = self.py;
        self.copy((rank, request), (offset as usize, to.len()), |bytes| bytes.copy_to_slice(py, to));
    }

    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]) {
        let py = self.py;
        self.copy((rank, request), (offset as usize, from.len()), |bytes| bytes.copy_from_slice(py, from));
    }

    fn release(&mut self, rank: usize, request: u32) {
        if let Some(buffer) = self.buffers.by_rank[rank].get_mut(request as usize) {
            *buffer = None;
        }
    }
}

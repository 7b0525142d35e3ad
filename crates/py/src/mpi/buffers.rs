//! Buffers of requests: memory of Python, which the ranks' messages are copied to and from.

use fabricsim_simulation::RankBuffers;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::bad_input;

/// The buffer of a request: its contiguous bytes, and the object of which parts are taken.
pub(super) struct Kept {
    bytes: PyBuffer<u8>,
    view: Py<PyAny>,
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

    fn get(&self, (rank, request): (usize, u32)) -> Option<&Kept> {
        self.by_rank[rank].get(request as usize)?.as_ref()
    }
}

impl Kept {
    pub(super) fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = PyBuffer::<u8>::get(data)?;
        if !bytes.is_c_contiguous() || !u8::is_compatible_format(bytes.format()) {
            return Err(bad_input("the buffer of a message must be contiguous bytes"));
        }
        Ok(Self { bytes, view: data.clone().unbind() })
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len_bytes() as u64
    }

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
        let part = self.view.bind(py).get_item(slice(py, (offset, length)))?;
        copy(&PyBuffer::get(&part)?)
    }

    /// Copies the first bytes to another buffer: the interpreter does so without one in between.
    fn copy_to(&self, py: Python<'_>, to: &Self, length: usize) -> PyResult<()> {
        let part = self.view.bind(py).get_item(slice(py, (0, length)))?;
        to.view.bind(py).set_item(slice(py, (0, length)), part)
    }
}

fn slice(py: Python<'_>, (offset, length): (usize, usize)) -> Bound<'_, PySlice> {
    PySlice::new(py, offset as isize, (offset + length) as isize, 1)
}

/// Buffers, while the interpreter is held.
pub(super) struct Held<'a, 'py> {
    pub(super) py: Python<'py>,
    pub(super) buffers: &'a mut Buffers,
}

impl Held<'_, '_> {
    fn note(&mut self, copied: PyResult<()>) {
        if let Err(error) = copied {
            self.buffers.failure.get_or_insert(error);
        }
    }
}

impl RankBuffers for Held<'_, '_> {
    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]) {
        let (py, part) = (self.py, (offset as usize, to.len()));
        let Some(kept) = self.buffers.get((rank, request)) else { return };
        let copied = kept.part(py, part, |bytes| bytes.copy_to_slice(py, to));
        self.note(copied);
    }

    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]) {
        let (py, part) = (self.py, (offset as usize, from.len()));
        let Some(kept) = self.buffers.get((rank, request)) else { return };
        let copied = kept.part(py, part, |bytes| bytes.copy_from_slice(py, from));
        self.note(copied);
    }

    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64) {
        let (Some(from), Some(to)) = (self.buffers.get(from), self.buffers.get(to)) else { return };
        let copied = from.copy_to(self.py, to, length as usize);
        self.note(copied);
    }

    fn release(&mut self, rank: usize, request: u32) {
        if let Some(buffer) = self.buffers.by_rank[rank].get_mut(request as usize) {
            *buffer = None;
        }
    }
}

//! Processes that advance a run together, by an object that exchanges bytes among them.

use std::sync::Mutex;

use fabricsim_engine::Processes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// The processes, as an object has them: `rank`, `size`, and `exchange(list of bytes) -> list of bytes`.
#[derive(Debug)]
pub(crate) struct Team {
    object: Py<PyAny>,
    rank: usize,
    count: usize,
    /// The exception of an exchange.
    failure: Mutex<Option<PyErr>>,
}

impl Team {
    pub(crate) fn new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let (rank, count) = (object.getattr("rank")?.extract()?, object.getattr("size")?.extract()?);
        Ok(Self { object: object.unbind(), rank, count, failure: Mutex::new(None) })
    }

    /// Takes the exception of an exchange, if there was one.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.failure.lock().ok()?.take()
    }

    fn call(&self, messages: &[Vec<u8>]) -> PyResult<Vec<Vec<u8>>> {
        Python::attach(|py| {
            let messages = PyList::new(py, messages.iter().map(|message| PyBytes::new(py, message)))?;
            let received = self.object.bind(py).call_method1("exchange", (messages,))?;
            let bytes = |each: PyResult<Bound<'_, PyAny>>| Ok(each?.cast::<PyBytes>()?.as_bytes().to_vec());
            received.try_iter()?.map(bytes).collect()
        })
    }
}

impl Processes for Team {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        match self.call(&messages) {
            Ok(received) => Some(received),
            Err(error) => {
                if let Ok(mut failure) = self.failure.lock() {
                    failure.get_or_insert(error);
                }
                None
            }
        }
    }
}

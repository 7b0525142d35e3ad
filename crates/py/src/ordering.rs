//! The ordering protocols over UDP sockets: endpoints and the network between them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fabricsim_sockets::{Proxy, ProxySettings, Settings, SocketError, Token, run_source, run_target};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::{NativeError, bad_input};

fn failed(error: SocketError) -> PyErr {
    match error {
        SocketError::Setting(_) | SocketError::Option(_) | SocketError::Port { .. } => {
            NativeError::new_err(error.to_string())
        }
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(bad_input)
}

/// Request to an endpoint or a network to end.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct OrderingStop(Arc<AtomicBool>);

#[pymethods]
impl OrderingStop {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Ends what was started with it. May be called from another thread.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Checks the settings of endpoints.
#[pyfunction]
pub(crate) fn ordering_check(settings: &str) -> PyResult<()> {
    Settings::read(settings).map(drop).map_err(failed)
}

fn session(settings: &str, token: &str) -> PyResult<(Settings, Token)> {
    Ok((Settings::read(settings).map_err(failed)?, Token::from_hex(token).map_err(failed)?))
}

/// Sends bytes to the target of the session, through the network at `port`. Returns counters as JSON.
#[pyfunction]
pub(crate) fn ordering_source(
    py: Python<'_>,
    port: u16,
    token: &str,
    data: PyBackedBytes,
    settings: &str,
    stop: &OrderingStop,
) -> PyResult<String> {
    let (settings, token) = session(settings, token)?;
    let stop = &stop.0;
    json(&py.detach(|| run_source(port, &token, &data, &settings, stop)).map_err(failed)?)
}

/// Receives until `stop` is set. Returns the bytes of each stream, and counters as JSON.
#[pyfunction]
pub(crate) fn ordering_target<'py>(
    py: Python<'py>,
    port: u16,
    token: &str,
    settings: &str,
    stop: &OrderingStop,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, String)> {
    let (settings, token) = session(settings, token)?;
    let stop = &stop.0;
    let (streams, report) = py.detach(|| run_target(port, &token, &settings, stop)).map_err(failed)?;
    Ok((streams.iter().map(|bytes| PyBytes::new(py, bytes)).collect(), json(&report)?))
}

/// A network on a UDP port of this machine that delays, reorders and drops.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct OrderingNetwork {
    proxy: Mutex<Option<Proxy>>,
    port: u16,
    token: Token,
}

#[pymethods]
impl OrderingNetwork {
    #[new]
    fn new(settings: &str) -> PyResult<Self> {
        let settings: ProxySettings = serde_json::from_str(settings).map_err(bad_input)?;
        let proxy = Proxy::new(settings).map_err(failed)?;
        let (port, token) = (proxy.port().map_err(failed)?, proxy.token());
        Ok(Self { proxy: Mutex::new(Some(proxy)), port, token })
    }

    /// Port to which endpoints send.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// The secret of the session, for its source and its target.
    #[getter]
    fn token(&self) -> String {
        self.token.to_hex()
    }

    /// Works until `stop` is set. Returns counters as JSON. Releases the interpreter lock.
    fn run(&self, py: Python<'_>, stop: &OrderingStop) -> PyResult<String> {
        let proxy = self.proxy.lock().ok().and_then(|mut proxy| proxy.take());
        let Some(proxy) = proxy else {
            return Err(PyRuntimeError::new_err("an OrderingNetwork runs once: make a new one"));
        };
        let stop = &stop.0;
        json(&py.detach(|| proxy.run(stop)).map_err(failed)?)
    }
}

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ordering_check, module)?)?;
    module.add_function(wrap_pyfunction!(ordering_source, module)?)?;
    module.add_function(wrap_pyfunction!(ordering_target, module)?)?;
    module.add_class::<OrderingNetwork>()?;
    module.add_class::<OrderingStop>()
}

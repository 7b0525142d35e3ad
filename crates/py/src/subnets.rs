//! InfiniBand subnets: reading, routing, analysis.

use std::path::Path;

use fabricsim_subnet::report::{self, RoutedError, Source, SubnetFiles};
use fabricsim_subnet::{Engine, Format, Options, PathSls, RouteError, Sl2Vl, Subnet, TableFile, TorusConfig};
use fabricsim_topology::Identity;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::{Overrides, bad_input};

/// A file: its bytes and its name for messages.
type File = (PyBackedBytes, String);

fn named(file: &File) -> report::Named<'_> {
    (&file.0, &file.1)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(bad_input)
}

pub(crate) fn format(name: &str) -> PyResult<Format> {
    match name {
        "ibnetdiscover" => Ok(Format::Ibnetdiscover),
        "ibnetdiscover-ports" => Ok(Format::IbnetdiscoverPorts),
        "ibsim" => Ok(Format::Ibsim),
        "opensm-subnet" => Ok(Format::OpensmSubnet),
        other => Err(bad_input(format!("\"{other}\" is no format of a subnet"))),
    }
}

/// Reads a subnet and tables of it; the format is known by the content if none is given. A JSON object.
#[pyfunction]
#[pyo3(signature = (fabric, format_name, tables, sl2vl, path_sls))]
pub(crate) fn import_subnet(
    py: Python<'_>,
    fabric: File,
    format_name: Option<&str>,
    tables: Option<File>,
    sl2vl: Option<File>,
    path_sls: Option<File>,
) -> PyResult<String> {
    let format = format_name.map(format).transpose()?;
    py.detach(|| {
        let files = SubnetFiles {
            fabric: named(&fabric),
            format,
            tables: tables.as_ref().map(named),
            sl2vl: sl2vl.as_ref().map(named),
            path_sls: path_sls.as_ref().map(named),
        };
        json(&report::import(&files).map_err(bad_input)?.1)
    })
}

/// What is to be routed, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request {
    /// The subnet.
    fabric: File,
    /// True if that is an experiment, with these settings and the folder of its files.
    is_experiment: bool,
    overrides: Overrides,
    base: String,
    /// An engine, or tables.
    engine: Option<String>,
    tables: Option<File>,
    path_sls: Option<File>,
    sl2vl: Option<File>,
    /// GUIDs of roots.
    roots: Option<File>,
    /// The description of a torus.
    torus: Option<File>,
    /// GUIDs of compute nodes.
    compute_nodes: Option<File>,
    port_shifting: bool,
    scatter_ports: u32,
    lmc: Option<u8>,
    vls: u8,
    nue_vls: u8,
    /// Node of the subnet manager.
    manager: Option<String>,
    /// Nodes and cables that have failed.
    fail: Vec<String>,
    /// Demands: sender, receiver, weight.
    matrix: Vec<(String, String, f64)>,
}

/// Routes a subnet. A JSON object; forwarding tables, tables of lanes and levels of paths as OpenSM dumps them.
#[pyfunction]
pub(crate) fn route_subnet(py: Python<'_>, request: Request) -> PyResult<(String, String, String, String)> {
    py.detach(|| {
        let mut subnet = request.subnet()?;
        for name in &request.fail {
            subnet.fail(name).map_err(|message| bad_input(format!("--fail: {message}")))?;
        }
        if let Some(name) = &request.manager {
            subnet.set_manager(name).map_err(|message| bad_input(format!("--manager: {message}")))?;
        }
        let subnet = subnet.connected();
        let source = request.source(&subnet)?;
        let routed =
            report::route(subnet, request.lmc, &source, &request.matrix).map_err(|error| match error {
                RoutedError::Route(RouteError::Lanes(_) | RouteError::RootsAbsent) => bad_input(error),
                RoutedError::Matrix(message) => bad_input(format!("--matrix: {message}")),
                error => PyRuntimeError::new_err(error.to_string()),
            })?;
        Ok((json(&routed.report)?, routed.lfts, routed.sl2vl, routed.path_sls))
    })
}

impl Request {
    fn subnet(&self) -> PyResult<Subnet> {
        let (bytes, name) = named(&self.fabric);
        if !self.is_experiment {
            return Ok(fabricsim_subnet::read(bytes, name).map_err(bad_input)?.subnet);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| bad_input(format!("{name}: not UTF-8 text")))?;
        let experiment = fabricsim_spec::read(text, name, &self.overrides).map_err(bad_input)?;
        let graph = fabricsim_topology::build(&experiment, Path::new(&self.base), name)
            .map_err(|error| bad_input(error.located(text, &self.overrides)))?;
        match graph.identity {
            Some(identity) => Ok(identity.subnet),
            None => Identity::of(&graph).map(|identity| identity.subnet).map_err(bad_input),
        }
    }

    fn source(&self, subnet: &Subnet) -> PyResult<Source> {
        if let Some(tables) = &self.tables {
            let (bytes, name) = named(tables);
            let (tables, _) =
                TableFile::read(bytes, name).and_then(|read| read.bind(subnet)).map_err(bad_input)?;
            let levels = self.path_sls.as_ref().map(named);
            let levels = levels.map(|(bytes, name)| PathSls::read(bytes, name, subnet)).transpose();
            let lanes = self.sl2vl.as_ref().map(named);
            let lanes = lanes.map(|(bytes, name)| Sl2Vl::read(bytes, name, subnet)).transpose();
            return Ok(Source::Given(Box::new((
                tables,
                levels.map_err(bad_input)?,
                lanes.map_err(bad_input)?,
            ))));
        }
        let engine: Engine = self.engine.as_deref().unwrap_or("minhop").parse().map_err(bad_input)?;
        let guids =
            |file: &Option<File>| file.as_ref().map(named).map(report::guids).transpose().map_err(bad_input);
        let (roots, compute_nodes) = (guids(&self.roots)?, guids(&self.compute_nodes)?);
        let torus = self.torus.as_ref().map(named);
        let torus =
            torus.map(|(bytes, name)| TorusConfig::read(bytes, name)).transpose().map_err(bad_input)?;
        let (port_shifting, scatter_ports, vls) = (self.port_shifting, self.scatter_ports, self.vls);
        Ok(Source::Engine(
            engine,
            Options { roots, compute_nodes, torus, port_shifting, scatter_ports, vls, nue_vls: self.nue_vls },
        ))
    }
}

//! InfiniBand subnets: reading, routing, analysis.

use std::borrow::Cow;
use std::path::Path;

use fabricsim_routing::subnet_without;
use fabricsim_subnet::report::{self, Question, RoutedError, Source, SubnetFiles};
use fabricsim_subnet::{
    Engine, Finding, Format, OptionFiles, Options, RouteError, Subnet, TableForm, TorusConfig,
    engine_options, table_options,
};
use fabricsim_topology::{Identity, failed_links};
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

fn table_form(name: &str) -> PyResult<TableForm> {
    match name {
        "opensm-lfts" => Ok(TableForm::Dump),
        "ibroute" => Ok(TableForm::Ibroute),
        "opensm-fdbs" => Ok(TableForm::Fdbs),
        other => Err(bad_input(format!("\"{other}\" is no form of forwarding tables"))),
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
    /// Demands.
    matrix: Vec<report::NamedDemand>,
}

/// Processor time of the process, by Python's clock; NaN if that fails.
fn process_time() -> f64 {
    Python::attach(|py| py.import("time")?.call_method0("process_time")?.extract()).unwrap_or(f64::NAN)
}

/// A routed subnet.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct Routes(report::Routed);

#[pymethods]
impl Routes {
    /// The report, a JSON object.
    fn report(&self) -> PyResult<String> {
        json(&self.0.report)
    }

    /// Directions of links between switches, a JSON list.
    fn links(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&self.0.links))
    }

    /// Base LIDs of the adapters' ports.
    fn lids(&self) -> Vec<u16> {
        self.0.lids()
    }

    /// The forwarding tables in a form.
    fn tables(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        let form = table_form(form)?;
        py.detach(|| self.0.tables(form)).map_err(cannot_route)
    }

    /// The subnet with its LIDs in a form.
    fn fabric(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        let form = format(form)?;
        Ok(py.detach(|| self.0.fabric(form)))
    }

    /// Lanes of service levels, as OpenSM dumps them.
    fn sl2vl(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.sl2vl())
    }

    /// Service levels of paths, as OpenSM dumps them; empty if all are 0.
    fn path_sls(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.path_sls())
    }
}

fn cannot_route(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Routes a subnet.
#[pyfunction]
pub(crate) fn route_subnet(py: Python<'_>, request: Request) -> PyResult<Routes> {
    py.detach(|| {
        let Given { mut subnet, lmc, manager } = request.given()?;
        if let Some(name) = request.manager.as_ref().or(manager.as_ref()) {
            subnet.set_manager(name).map_err(|message| bad_input(format!("--manager: {message}")))?;
        }
        let mut subnet = subnet.connected();
        let assigned_lids =
            report::assign_missing_lids(&mut subnet, request.lmc.or(lmc), request.tables.is_some())
                .map_err(cannot_route)?;
        let (source, findings) = request.source(&subnet)?;
        let question = Question {
            source: &source,
            assigned_lids,
            failed: &request.fail,
            matrix: &request.matrix,
            findings: &findings,
            clock: process_time,
        };
        report::route(&subnet, &question).map(Routes).map_err(|error| request.refused(&error))
    })
}

/// Files of [`opensm_options`], by their absolute names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Files {
    lfts: Option<String>,
    roots: Option<String>,
    compute_nodes: Option<String>,
    torus: Option<String>,
}

/// Lines for OpenSM's file of options: those of an engine, or, without one, those that load `files.lfts`. `layers` is the number of
/// virtual lanes that the paths use.
#[pyfunction]
#[pyo3(signature = (engine, files, layers, lmc, port_shifting, scatter_ports, vls, nue_vls))]
#[expect(clippy::too_many_arguments, reason = "OpenSM's options")]
pub(crate) fn opensm_options(
    engine: Option<&str>,
    files: Files,
    layers: usize,
    lmc: Option<u8>,
    port_shifting: bool,
    scatter_ports: u32,
    vls: u8,
    nue_vls: u8,
) -> PyResult<String> {
    let Some(engine) = engine else {
        let lfts = files.lfts.as_deref().ok_or_else(|| bad_input("neither an engine nor tables"))?;
        return Ok(table_options(lfts, layers > 1, lmc.unwrap_or(0)));
    };
    let engine: Engine = engine.parse().map_err(bad_input)?;
    let options = Options { port_shifting, scatter_ports, vls, nue_vls, ..Options::default() };
    let names = OptionFiles {
        lfts: files.lfts.as_deref(),
        roots: files.roots.as_deref(),
        compute_nodes: files.compute_nodes.as_deref(),
        torus: files.torus.as_deref(),
    };
    Ok(engine_options(engine, &options, layers, lmc, names))
}

/// A subnet, with the LMC and the node of the subnet manager that the experiment has.
struct Given {
    subnet: Subnet,
    lmc: Option<u8>,
    manager: Option<String>,
}

impl Request {
    fn given(&self) -> PyResult<Given> {
        let (bytes, name) = named(&self.fabric);
        if !self.is_experiment {
            let subnet = fabricsim_subnet::read(bytes, name).map_err(bad_input)?.subnet;
            return Ok(Given { subnet, lmc: None, manager: None });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| bad_input(format!("{name}: not UTF-8 text")))?;
        let experiment = fabricsim_spec::read(text, name, &self.overrides).map_err(bad_input)?;
        let graph = fabricsim_spec::check_ranges(&experiment, name)
            .and_then(|()| fabricsim_topology::build(&experiment, Path::new(&self.base), name))
            .map_err(|error| bad_input(error.located(text, &self.overrides)))?;
        let failed = failed_links(&graph, &experiment.links, name).map_err(bad_input)?;
        let identity = match graph.identity.as_deref() {
            Some(identity) => Cow::Borrowed(identity),
            None => Cow::Owned(Identity::of(&graph).map_err(bad_input)?),
        };
        let subnet = subnet_without(&graph, &identity, &failed);
        if graph.identity.is_some() {
            return Ok(Given { subnet, lmc: None, manager: None });
        }
        let first = || graph.hosts.first().map(|host| host.name.clone());
        let manager = experiment.subnet_manager.as_ref();
        let manager = manager.and_then(|manager| manager.nodes.first().cloned().or_else(first));
        Ok(Given { subnet, lmc: Some(experiment.lmc()).filter(|&lmc| lmc > 0), manager })
    }

    /// The message for a subnet that is not routed, with the file that it is about.
    fn refused(&self, error: &RoutedError) -> PyErr {
        match error {
            RoutedError::Route(RouteError::RootsAbsent) => {
                let file = self.roots.as_ref().map_or("--roots", |file| file.1.as_str());
                bad_input(format!("{file}: {error}"))
            }
            RoutedError::Route(RouteError::Lanes(_)) => bad_input(error),
            RoutedError::Matrix(message) => bad_input(format!("--matrix: {message}")),
            RoutedError::Failed(message) => bad_input(format!("--fail: {message}")),
            RoutedError::Route(error @ RouteError::NotTorus(_)) => match &self.torus {
                Some((_, name)) => cannot_route(format!("{error} (the torus is that of {name})")),
                None => cannot_route(error),
            },
            // after a failure it is not the file that divides the subnet
            RoutedError::Route(RouteError::Divided { line, .. })
                if *line > 0 && !self.is_experiment && self.fail.is_empty() =>
            {
                cannot_route(format!("{}:{line}: {error}", self.fabric.1))
            }
            RoutedError::Route(error) => cannot_route(error),
        }
    }

    /// Where tables come from, and what is odd about given ones.
    fn source(&self, subnet: &Subnet) -> PyResult<(Source, Vec<Finding>)> {
        if let Some(tables) = &self.tables {
            let files = (named(tables), self.path_sls.as_ref().map(named), self.sl2vl.as_ref().map(named));
            return report::given(subnet, files).map_err(bad_input);
        }
        let engine: Engine = self.engine.as_deref().unwrap_or("minhop").parse().map_err(bad_input)?;
        let guids =
            |file: &Option<File>| file.as_ref().map(named).map(report::guids).transpose().map_err(bad_input);
        let (roots, compute_nodes) = (guids(&self.roots)?, guids(&self.compute_nodes)?);
        let torus = self.torus.as_ref().map(named);
        let torus =
            torus.map(|(bytes, name)| TorusConfig::read(bytes, name)).transpose().map_err(bad_input)?;
        let (port_shifting, scatter_ports, vls) = (self.port_shifting, self.scatter_ports, self.vls);
        let options =
            Options { roots, compute_nodes, torus, port_shifting, scatter_ports, vls, nue_vls: self.nue_vls };
        Ok((Source::Engine(engine, options), Vec::new()))
    }
}

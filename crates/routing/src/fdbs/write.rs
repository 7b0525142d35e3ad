use std::fmt::Write;

use fabricsim_topology::Graph;
use fabricsim_units::{HostId, SwitchId};

use super::{NONE, PREFIX};
use crate::{ForwardingTables, TablesError, TablesProblem};

/// Labels of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKeys {
    /// By the switch's name, without `SW` in front.
    Names,
    /// By the switch's number from 0, as the OMNeT++ model's `fdbIndex`.
    Numbers,
}

/// The tables as text. An error, which names `file`, if a port is above 254: the format has no room for it.
pub fn write(
    tables: &ForwardingTables,
    graph: &Graph,
    keys: RowKeys,
    file: &str,
) -> Result<String, TablesError> {
    let mut text = String::new();
    for (index, switch) in graph.switches.iter().enumerate() {
        let at = SwitchId(index as u32);
        match keys {
            RowKeys::Names => text.push_str(switch.name.strip_prefix(PREFIX).unwrap_or(&switch.name)),
            RowKeys::Numbers => text.push_str(&index.to_string()),
        }
        text.push_str(": 255");
        for (to, host) in graph.hosts.iter().enumerate() {
            let port = tables.port(at, HostId(to as u32)).map_or(NONE, |port| u32::from(port.0));
            if port >= NONE && tables.port(at, HostId(to as u32)).is_some() {
                let (switch, host) = (switch.name.clone(), host.name.clone());
                let problem = TablesProblem::PortTooHigh { switch, port, host };
                return Err(TablesError { file: file.to_owned(), line: None, problem: Box::new(problem) });
            }
            let _ = write!(text, " {port}");
        }
        text.push('\n');
    }
    Ok(text)
}

use std::collections::BTreeMap;

use fabricsim_topology::Graph;
use fabricsim_units::{HostId, PortNo, SwitchId, nearest};

use super::{NONE, PREFIX, verify};
use crate::{ForwardingTables, RoutingError, TablesError, TablesProblem};

/// A row as it is written.
struct Row<'a> {
    /// Line, from 1.
    line: usize,
    key: &'a str,
    entries: Vec<&'a str>,
}

/// Reads forwarding tables for `graph`, whole and checked: every switch has a row, every entry leads on, and packets
/// from everywhere arrive ([`verify()`]). Errors name `file` and the line.
pub fn read(bytes: &[u8], file: &str, graph: &Graph) -> Result<ForwardingTables, RoutingError> {
    let at_line = |line: usize| move |problem| error(file, Some(line), problem);
    let text = std::str::from_utf8(bytes).map_err(|bad| {
        let line = bytes[..bad.valid_up_to()].split(|&byte| byte == b'\n').count();
        at_line(line)(TablesProblem::NotUtf8)
    })?;
    let rows = rows(text).map_err(|line| at_line(line)(TablesProblem::NoColon))?;
    let switches = Switches::new(graph, &rows);
    let mut lines: Vec<Option<usize>> = vec![None; graph.switches.len()];
    let mut tables = ForwardingTables::empty(graph, file)?;
    for row in &rows {
        let at = switches.find(row.key).map_err(at_line(row.line))?;
        if let Some(first) = lines[at.index()].replace(row.line) {
            let switch = graph.switches[at.index()].name.clone();
            return Err(at_line(row.line)(TablesProblem::Repeated { switch, first }).into());
        }
        fill(&mut tables, graph, at, &row.entries).map_err(at_line(row.line))?;
    }
    let unset = graph.switches.iter().zip(&lines).filter(|(_, line)| line.is_none());
    let missing: Vec<String> = unset.map(|(switch, _)| switch.name.clone()).collect();
    if !missing.is_empty() {
        return Err(error(file, None, TablesProblem::Missing(missing)).into());
    }
    verify(&tables, graph).map_err(|(at, problem)| error(file, lines[at.index()], problem))?;
    Ok(tables)
}

fn error(file: &str, line: Option<usize>, problem: TablesProblem) -> TablesError {
    TablesError { file: file.to_owned(), line, problem: Box::new(problem) }
}

/// The rows of a file, or the line without a colon.
fn rows(text: &str) -> Result<Vec<Row<'_>>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(line, text)| row(line, text).ok_or(line)).collect()
}

fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let (key, entries) = text.rsplit_once(':')?;
    Some(Row { line, key: key.trim(), entries: entries.split_ascii_whitespace().collect() })
}

/// Switches to which rows belong.
struct Switches<'a> {
    names: BTreeMap<&'a str, SwitchId>,
    /// Number of switches, if rows are marked by numbers.
    numbered: Option<usize>,
    last: usize,
}

impl<'a> Switches<'a> {
    /// Rows are marked by names, unless some are no names and all are numbers of switches: so `11` is `SW11` where
    /// there is such a switch, and number 11 in a file that counts from 0.
    fn new(graph: &'a Graph, rows: &[Row<'_>]) -> Self {
        let mut names = BTreeMap::new();
        for (index, switch) in graph.switches.iter().enumerate() {
            let id = SwitchId(index as u32);
            names.entry(switch.name.strip_prefix(PREFIX).unwrap_or(&switch.name)).or_insert(id);
        }
        for (index, switch) in graph.switches.iter().enumerate() {
            names.insert(&switch.name, SwitchId(index as u32));
        }
        let count = graph.switches.len();
        let by_name = rows.iter().all(|row| names.contains_key(row.key));
        let by_number = rows.iter().all(|row| number(row.key, count).is_some());
        Self { names, numbered: (!by_name && by_number).then_some(count), last: count.saturating_sub(1) }
    }

    fn find(&self, key: &str) -> Result<SwitchId, TablesProblem> {
        let found = match self.numbered {
            Some(count) => number(key, count),
            None => self.names.get(key).copied(),
        };
        found.ok_or_else(|| TablesProblem::UnknownSwitch {
            key: key.to_owned(),
            nearest: nearest(key, self.names.keys().copied()).map(str::to_owned),
            last: self.last,
        })
    }
}

fn number(key: &str, count: usize) -> Option<SwitchId> {
    key.parse::<u32>().ok().filter(|&n| (n as usize) < count).map(SwitchId)
}

fn fill(
    tables: &mut ForwardingTables,
    graph: &Graph,
    at: SwitchId,
    entries: &[&str],
) -> Result<(), TablesProblem> {
    let node = &graph.switches[at.index()];
    let expected = graph.hosts.len() + 1;
    let ports = entries.iter().enumerate().map(|(lid, text)| {
        let port = text.parse::<u32>().ok().filter(|&port| port <= NONE);
        port.ok_or_else(|| TablesProblem::NotAPort { text: (*text).to_owned(), lid })
    });
    let ports = ports.collect::<Result<Vec<u32>, _>>()?;
    if ports.len() != expected {
        return Err(TablesProblem::Length { switch: node.name.clone(), found: ports.len(), expected });
    }
    if let Some(&found) = ports.first().filter(|&&port| port != NONE) {
        return Err(TablesProblem::LidZero { switch: node.name.clone(), found });
    }
    for (index, &port) in ports[1..].iter().enumerate() {
        let (switch, host) = (node.name.clone(), graph.hosts[index].name.clone());
        let lid = index + 1;
        if port == NONE {
            return Err(TablesProblem::NoRoute { switch, lid, host });
        }
        if port as usize >= node.ports.len() {
            let ports = node.ports.len();
            return Err(TablesProblem::NoSuchPort { switch, port, ports, lid, host });
        }
        tables.set(at, HostId(index as u32), PortNo(port as u16));
    }
    Ok(())
}

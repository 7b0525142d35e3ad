//! Readers of subnets. Formats are known by content.

pub(crate) mod line;
mod links;
mod netlist;
mod subnet_lst;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::{FileError, Finding, Problem, Subnet};

/// Format of a file that describes a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Full output of `ibnetdiscover`.
    Ibnetdiscover,
    /// Output of `ibnetdiscover -p`: a line a port.
    IbnetdiscoverPorts,
    /// ibsim's netlist.
    Ibsim,
    /// `opensm-subnet.lst`.
    OpensmSubnet,
}

/// Formats, for messages.
const FORMATS: &str = "ibnetdiscover, ibnetdiscover -p, ibsim netlist, opensm-subnet.lst";

/// A subnet as read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Subnet.
    pub subnet: Subnet,
    /// Format of the file.
    pub format: Format,
    /// Oddities, in the order of the file, then those of the whole.
    pub findings: Vec<Finding>,
}

/// Returns the format of a file by its content.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(bytes);
    let mut netlist = None;
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
        if subnet_lst::matches(line) {
            return Some(Format::OpensmSubnet);
        }
        if links::matches(line) {
            return Some(Format::IbnetdiscoverPorts);
        }
        if line.starts_with("# Topology file") {
            return Some(Format::Ibnetdiscover);
        }
        let record = ["Switch", "Ca", "Hca", "Rt"].iter().any(|word| {
            let rest = line.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']));
            rest.is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        });
        if record {
            let detailed = line.contains('#') && netlist.is_none();
            netlist.get_or_insert(if detailed { Format::Ibnetdiscover } else { Format::Ibsim });
            return netlist;
        }
    }
    netlist
}

/// Reads a subnet from a file of any known format.
///
/// # Errors
///
/// An unknown format, a line that does not parse, statements that contradict each other.
pub fn read(bytes: &[u8], file: &str) -> Result<Import, FileError> {
    let format = detect(bytes).ok_or_else(|| {
        let problem = if bytes.trim_ascii().is_empty() {
            Problem::Empty("nodes")
        } else {
            Problem::UnknownFormat(FORMATS)
        };
        FileError::whole(file, problem)
    })?;
    read_as(bytes, file, format)
}

/// Reads a subnet from a file of the given format.
pub fn read_as(bytes: &[u8], file: &str, format: Format) -> Result<Import, FileError> {
    let (subnet, findings) = match format {
        Format::Ibnetdiscover | Format::Ibsim => netlist::read(bytes, file),
        Format::IbnetdiscoverPorts => links::read(bytes, file),
        Format::OpensmSubnet => subnet_lst::read(bytes, file),
    }?;
    Ok(Import { subnet, format, findings })
}

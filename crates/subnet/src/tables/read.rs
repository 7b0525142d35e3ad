//! Readers of forwarding tables, in all forms.

use std::collections::BTreeMap;

use super::Tables;
use super::dump::TableForm;
use super::stated::StatedLids;
use crate::engines::NO_PORT;
use crate::read::line::{Line, text};
use crate::{FileError, Finding, FindingKind, Guid, MAX_LID, NodeId, Problem, Subnet};

/// Table of one switch, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchTable {
    /// GUID of the switch.
    pub guid: Guid,
    /// Entries: LID, port, line. Unreachable LIDs are left out.
    pub entries: Vec<(u16, u8, usize)>,
    /// Largest LID that the table speaks of.
    pub max_lid: u16,
    /// First line.
    pub line: usize,
}

/// Forwarding tables as they stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    /// File, for messages.
    pub file: String,
    /// Form.
    pub form: TableForm,
    /// Tables in the order of the file.
    pub tables: Vec<SwitchTable>,
    /// Lines that were skipped.
    pub findings: Vec<Finding>,
    /// LIDs of ports, where the form states them.
    stated: StatedLids,
}

struct Reader<'a> {
    file: &'a str,
    form: Option<TableForm>,
    tables: Vec<SwitchTable>,
    /// True between the first line of a table and its last.
    open: bool,
    /// Range of LIDs that the first line states.
    stated: usize,
    /// True if the table has an entry for each LID, also for LID 0.
    has_all: bool,
    findings: Vec<Finding>,
    lids: StatedLids,
}

impl TableFile {
    /// Reads forwarding tables in any form.
    ///
    /// # Errors
    ///
    /// A line that does not parse, a LID out of range, two tables of a switch, two entries for a LID, a truncated table.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, FileError> {
        let text = text(bytes, file)?;
        let mut reader = Reader {
            file,
            form: None,
            tables: Vec::new(),
            open: false,
            stated: 0,
            has_all: false,
            findings: Vec::new(),
            lids: StatedLids::default(),
        };
        for line in Line::all(file, text) {
            reader.line(line)?;
        }
        if reader.open {
            reader.close_fdbs()?;
        }
        let Some(form) = reader.form else {
            return Err(FileError::whole(file, Problem::Empty("forwarding tables")));
        };
        let mut first: BTreeMap<Guid, usize> = BTreeMap::new();
        for table in &mut reader.tables {
            if let Some(first) = first.insert(table.guid, table.line) {
                return Err(FileError::at(
                    file,
                    table.line,
                    Problem::DuplicateTable { guid: table.guid, first },
                ));
            }
            table.entries.sort_by_key(|entry| entry.0);
            if let Some(twice) = table.entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(FileError::at(file, twice[1].2, Problem::DuplicateEntry(twice[0].0)));
            }
        }
        let Reader { tables, findings, lids: stated, .. } = reader;
        Ok(Self { file: file.to_owned(), form, tables, findings, stated })
    }

    /// First line of each switch's table.
    pub(crate) fn lines(&self) -> BTreeMap<Guid, usize> {
        self.tables.iter().map(|table| (table.guid, table.line)).collect()
    }

    /// The tables of a subnet's switches, with findings: lines that were skipped, LIDs that contradict the subnet's, switches without table.
    ///
    /// # Errors
    ///
    /// A switch that is not in the subnet, a port that a switch does not have.
    pub fn bind(&self, subnet: &Subnet) -> Result<(Tables, Vec<Finding>), FileError> {
        let mut findings = self.findings.clone();
        findings.extend(self.stated.compare(subnet, &self.file));
        let mut switches: Vec<NodeId> =
            subnet.ids().filter(|(_, node)| node.is_switch()).map(|(id, _)| id).collect();
        switches.sort_by_key(|&id| subnet.node(id).guid.map_key());
        let lids = |id: &NodeId| subnet.node(*id).ports[0].lid;
        let most = self.tables.iter().map(|table| table.max_lid);
        let most = most.chain(switches.iter().map(lids)).max().unwrap_or(0);
        let rows: BTreeMap<Guid, usize> =
            switches.iter().enumerate().map(|(row, &id)| (subnet.node(id).guid, row)).collect();
        let mut tables = Tables {
            ports: vec![NO_PORT; switches.len() * (usize::from(most) + 1)],
            max_lid: most,
            switches,
        };
        let mut filled = vec![false; tables.switches.len()];
        for table in &self.tables {
            let error = |line, problem| FileError::at(&self.file, line, problem);
            let unknown = || error(table.line, Problem::UnknownGuid { kind: "switch", guid: table.guid });
            let row = *rows.get(&table.guid).ok_or_else(unknown)?;
            filled[row] = true;
            let node = subnet.node(tables.switches[row]);
            for &(lid, port, line) in &table.entries {
                if port != NO_PORT && port > node.num_ports() {
                    let (node, ports) = (node.description.clone(), node.num_ports());
                    return Err(error(line, Problem::PortRange { port: u64::from(port), node, ports }));
                }
                tables.row_mut(row)[usize::from(lid)] = port;
            }
        }
        for (row, _) in filled.iter().enumerate().filter(|(_, filled)| !**filled) {
            let node = subnet.node(tables.switches[row]);
            let text = format!("switch \"{}\" ({}) has no table", node.description, node.guid);
            findings.push(Finding::new(FindingKind::NoTable, &self.file, 0, text));
        }
        Ok((tables, findings))
    }
}

impl Reader<'_> {
    fn line(&mut self, mut line: Line<'_>) -> Result<(), FileError> {
        if line.blanks().rest.is_empty() || line.rest.starts_with('#') {
            return Ok(());
        }
        if line.skip("Unicast lids [") {
            return self.begin(line);
        }
        if line.skip("osm_ucast_mgr_dump_ucast_routes: Switch ") || line.skip("dump_ucast_routes: Switch ") {
            let guid = line.guid()?;
            self.close_fdbs()?;
            self.start(&line, TableForm::Fdbs, guid, 0)?;
            return Ok(());
        }
        if line.rest.starts_with("0x") || line.rest.starts_with("0X") {
            return self.entry(line);
        }
        if line.rest.ends_with("lids dumped") {
            let count = line.decimal("a number")? as usize;
            return self.end(&line, count);
        }
        if line.rest.starts_with("*** WARNING ***") {
            // Debian's `dump_lfts` says on standard output that it is called `dump_fts` now.
            let text = format!("skipped: {}", line.rest);
            self.findings.push(Finding::new(FindingKind::Skipped, self.file, line.number, text));
            return Ok(());
        }
        if ["iberror", "ibwarn", "src/"].iter().any(|noise| line.rest.contains(noise)) {
            // a tool that fails prints this in place of the last line of a table
            self.open &= self.form == Some(TableForm::Fdbs);
            let text = format!("skipped: {}", line.rest);
            self.findings.push(Finding::new(FindingKind::Skipped, self.file, line.number, text));
            return Ok(());
        }
        let headings = ["LID    : Port", "LID : Port", "Lid  Out", "Port     Info"];
        if headings.iter().any(|heading| line.rest.starts_with(heading)) {
            return Ok(());
        }
        Err(line.expected("the begin of a table (Unicast lids, dump_ucast_routes), an entry (0xLID) or an end (lids dumped)"))
    }

    fn start(&mut self, line: &Line<'_>, form: TableForm, guid: Guid, max_lid: u16) -> Result<(), FileError> {
        if self.form.get_or_insert(form) != &form {
            return Err(line.expected("a table of the same form as before"));
        }
        self.tables.push(SwitchTable { guid, entries: Vec::new(), max_lid, line: line.number });
        self.open = true;
        Ok(())
    }

    /// Begins a table of `opensm-lfts.dump` or `ibroute`.
    fn begin(&mut self, mut line: Line<'_>) -> Result<(), FileError> {
        if self.open {
            return Err(line.error(Problem::Truncated("the table before")));
        }
        let form = if line.rest.starts_with("0x") { TableForm::Ibroute } else { TableForm::Dump };
        line.number("a LID")?;
        line.expect("-")?;
        let most = line.number("a LID")?;
        let max_lid = u16::try_from(most).ok().filter(|&lid| lid <= MAX_LID);
        let max_lid = max_lid.ok_or_else(|| line.error(Problem::LidRange(most)))?;
        line.expect("]")?;
        let lid = line.until("guid ")?.trim().strip_prefix("of switch Lid ").and_then(|lid| lid.parse().ok());
        let guid = line.guid()?;
        self.lids.add(lid.unwrap_or(0), guid, line.number);
        self.start(&line, form, guid, max_lid)?;
        self.stated = usize::from(max_lid);
        self.has_all = false;
        Ok(())
    }

    fn entry(&mut self, mut line: Line<'_>) -> Result<(), FileError> {
        if !self.open {
            return Err(line.expected("the begin of a table before its entries"));
        }
        let value = line.prefixed("a LID")?;
        // `ibroute -a` prints all entries, that of LID 0 first.
        self.has_all |= value == 0 && self.form == Some(TableForm::Ibroute);
        if value == 0 && self.has_all {
            return Ok(());
        }
        let lid = u16::try_from(value).ok().filter(|lid| (1..=MAX_LID).contains(lid));
        let lid = lid.ok_or_else(|| line.error(Problem::LidRange(value)))?;
        let table = self.tables.last_mut();
        let Some(table) = table else { return Err(line.expected("a table")) };
        if self.form == Some(TableForm::Fdbs) {
            table.max_lid = table.max_lid.max(lid);
            line.blanks().expect(":")?;
            if line.blanks().rest.starts_with("UNREACHABLE") {
                return Ok(());
            }
        } else if usize::from(lid) > self.stated {
            let text = format!("LID {lid} beyond the range [0-{}] of its table", self.stated);
            return Err(line.error(Problem::Contradiction(text)));
        }
        let port = line.blanks().decimal("a port")?;
        let port = u8::try_from(port)
            .map_err(|_| line.error(Problem::Range { what: "port", value: port, allowed: "0 to 255" }))?;
        if !line.blanks().rest.is_empty() && !line.rest.starts_with(['#', ':', '(']) {
            return Err(line.expected("# or : and the destination"));
        }
        table.entries.push((lid, port, line.number));
        if line.until("portguid ").is_ok() {
            self.lids.add(lid, line.guid()?, line.number);
        }
        Ok(())
    }

    fn end(&mut self, line: &Line<'_>, count: usize) -> Result<(), FileError> {
        let Some(table) = self.tables.last().filter(|_| self.open) else {
            return Err(line.expected("the begin of a table before its end"));
        };
        self.open = false;
        let (found, stated) = match self.form {
            // With LID 0.
            Some(TableForm::Ibroute) if self.has_all => (table.entries.len() + 1, count),
            Some(TableForm::Ibroute) => (table.entries.len(), count),
            _ => (self.stated, count),
        };
        if found == stated { Ok(()) } else { Err(line.error(Problem::EntryCount { found, stated })) }
    }

    /// Ends a table of `opensm.fdbs`, which has no last line: all tables must speak of the same LIDs.
    fn close_fdbs(&mut self) -> Result<(), FileError> {
        let (Some(first), Some(last)) = (self.tables.first(), self.tables.last()) else { return Ok(()) };
        if self.form != Some(TableForm::Fdbs) || last.max_lid < first.max_lid {
            return Err(FileError::at(self.file, last.line, Problem::Truncated("this table")));
        }
        Ok(())
    }
}

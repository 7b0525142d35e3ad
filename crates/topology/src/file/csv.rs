//! A table of links, see [`Format::Csv`](super::Format::Csv).

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Trim};
use fabricsim_spec::{LinkOverride, SpecError};

use super::draft::{DraftEnd, DraftLink};
use super::edges::{self, ATTRIBUTES, CABLES, Edges, hint, set};

/// Columns with the nodes at both ends of a link.
const ENDS: [[&str; 2]; 3] = [["a", "b"], ["source", "target"], ["from", "to"]];

/// Column of a table.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    /// Node at an end.
    End(usize),
    /// Number of parallel cables.
    Cables,
    /// Attribute of the link.
    Attribute(&'static str),
}

pub(super) fn read(text: &str, file: &str) -> Result<Edges, SpecError> {
    let fail = |line: usize, message: String| SpecError::at_line(file, line, message);
    // A table that was saved by a spreadsheet may begin with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).flexible(true).from_reader(text.as_bytes());
    let header =
        reader.headers().map_err(|error| fail(line_of(text, error.position()), wording(&error)))?.clone();
    let first = line_of(text, header.position());
    let columns = columns(&header).map_err(|message| fail(first, message))?;
    let mut edges = Edges::default();
    for record in reader.records() {
        let record = record.map_err(|error| fail(line_of(text, error.position()), wording(&error)))?;
        let line = line_of(text, record.position());
        let (links, cables) = link(&record, &columns, line).map_err(|message| fail(line, message))?;
        edges.parallel(&links, cables);
    }
    Ok(edges)
}

fn columns(header: &StringRecord) -> Result<Vec<Column>, String> {
    let pair = ENDS.into_iter().find(|pair| pair.iter().all(|name| header.iter().any(|cell| cell == *name)));
    let Some(pair) = pair else {
        let first = header.iter().next().unwrap_or_default();
        let near = match [';', '\t'].into_iter().find(|&other| header.len() == 1 && first.contains(other)) {
            Some(_) => "; columns are separated by commas".to_owned(),
            None => hint(first, ENDS.into_iter().flatten()),
        };
        return Err(format!(
            "the first line names the columns, and two of them must be `a` and `b`, `source` and `target`, or `from` and `to`{near}"
        ));
    };
    let names = || pair.into_iter().chain([CABLES]).chain(ATTRIBUTES);
    let mut columns = Vec::new();
    for cell in header {
        let attribute = ATTRIBUTES.into_iter().find(|name| *name == cell);
        let column = match (pair.iter().position(|name| *name == cell), attribute) {
            (Some(end), _) => Column::End(end),
            (None, Some(name)) => Column::Attribute(name),
            _ if cell == CABLES => Column::Cables,
            _ => {
                let allowed = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let near = hint(cell, names());
                return Err(format!("there is no column `{cell}`: allowed are {allowed}{near}"));
            }
        };
        if columns.contains(&column) {
            return Err(format!("the column `{cell}` is there twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The link of a line, and the number of its cables.
fn link(record: &StringRecord, columns: &[Column], line: usize) -> Result<(DraftLink, u32), String> {
    if record.len() != columns.len() {
        let plural = if record.len() == 1 { "" } else { "s" };
        return Err(format!("{} cell{plural}: the first line has {} columns", record.len(), columns.len()));
    }
    let mut ends = [(); 2].map(|()| DraftEnd { node: String::new(), port: None });
    let mut given = LinkOverride::default();
    let mut cables = 1;
    for (cell, column) in record.iter().zip(columns) {
        match *column {
            Column::End(end) if cell.is_empty() => {
                return Err(format!("the node at the {} end is missing", ["first", "second"][end]));
            }
            Column::End(end) => cell.clone_into(&mut ends[end].node),
            // An empty cell leaves the value of the experiment's [links].
            _ if cell.is_empty() => {}
            Column::Cables => {
                cables = edges::cables(cell)?;
            }
            Column::Attribute(name) => {
                set((&mut ends, &mut given), name, cell)?;
            }
        }
    }
    edges::check_ports(&ends, cables)?;
    Ok((DraftLink { ends, line, given }, cables))
}

/// Line (from 1) of a record. The reader's position is before the comments and empty lines in front of it.
fn line_of(text: &str, position: Option<&Position>) -> usize {
    let Some(position) = position else { return 1 };
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    position.line() as usize + skipped
}

fn wording(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let plural = if *len == 1 { "" } else { "s" };
            format!("{len} cell{plural}: the first line has {expected_len} columns")
        }
        _ => format!("this is no table: {error}"),
    }
}

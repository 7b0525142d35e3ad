//! Tables of results by name.

use fabricsim_model::{Data, Table};

/// The tables of a run.
#[derive(Clone, Copy)]
pub struct Tables<'a>(pub &'a [Table]);

impl<'a> Tables<'a> {
    pub fn get(&self, table: &str) -> Option<&'a Table> {
        self.0.iter().find(|found| found.name == table)
    }

    pub fn has(&self, table: &str) -> bool {
        self.get(table).is_some()
    }

    fn column(&self, table: &str, column: &str) -> Option<&'a Data> {
        let columns = &self.get(table)?.columns;
        let found = columns.iter().find(|found| found.name == column);
        assert!(found.is_some(), "the table {table} has no column {column}");
        found.map(|column| &column.data)
    }

    /// Whole numbers of a column; none without the table.
    pub fn whole(&self, table: &str, column: &str) -> &'a [i64] {
        match self.column(table, column) {
            Some(Data::Whole(values)) => values,
            None => &[],
            Some(_) => panic!("{table}.{column} is not of whole numbers"),
        }
    }

    /// Real numbers of a column.
    pub fn real(&self, table: &str, column: &str) -> &'a [f64] {
        match self.column(table, column) {
            Some(Data::Real(values)) => values,
            None => &[],
            Some(_) => panic!("{table}.{column} is not of real numbers"),
        }
    }

    /// Names of a column.
    pub fn text(&self, table: &str, column: &str) -> &'a [String] {
        match self.column(table, column) {
            Some(Data::Text(values)) => values,
            None => &[],
            Some(_) => panic!("{table}.{column} is not of names"),
        }
    }

    pub fn sum(&self, table: &str, column: &str) -> u64 {
        self.whole(table, column).iter().sum::<i64>() as u64
    }

    /// True if the table has this column.
    pub fn has_column(&self, table: &str, column: &str) -> bool {
        self.get(table).is_some_and(|table| table.columns.iter().any(|found| found.name == column))
    }
}

/// Whether two columns are equal to the bit; NaN is equal to NaN.
pub fn equal(a: &Data, b: &Data) -> bool {
    let alike = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    match (a, b) {
        (Data::Real(a), Data::Real(b)) => a.len() == b.len() && a.iter().zip(b).all(alike),
        (Data::Whole(a), Data::Whole(b)) => a == b,
        (Data::Text(a), Data::Text(b)) => a == b,
        _ => false,
    }
}

/// A cell as text, exact to the bit.
pub fn cell(data: &Data, row: usize) -> String {
    match data {
        Data::Real(values) => values.get(row).map_or_else(
            || "none".to_owned(),
            |value| {
                if value.is_nan() { "NaN".to_owned() } else { format!("{value:?}") }
            },
        ),
        Data::Whole(values) => values.get(row).map_or_else(|| "none".to_owned(), ToString::to_string),
        Data::Text(values) => values.get(row).map_or_else(|| "none".to_owned(), Clone::clone),
    }
}

pub fn rows(data: &Data) -> usize {
    match data {
        Data::Real(values) => values.len(),
        Data::Whole(values) => values.len(),
        Data::Text(values) => values.len(),
    }
}

/// True if both are equal but for rounding, or both none.
pub fn close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

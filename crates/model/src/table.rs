/// A table of results, by columns. Python turns it into a data frame and a Parquet file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table (`flows`, `links`, `series`).
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// A column with its unit and meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, in lower case with underscores.
    pub name: &'static str,
    /// Unit (`ns`, `Gb/s`, `B`), empty for names and pure numbers.
    pub unit: &'static str,
    /// Heading of the column in reports; empty if it follows from the name.
    pub label: &'static str,
    /// Description of the values, one line.
    pub description: &'static str,
    /// The values.
    pub data: Data,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Real numbers; NaN for missing values.
    Real(Vec<f64>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Names.
    Text(Vec<String>),
}

impl Column {
    /// Sets the heading.
    pub fn labelled(&mut self, label: &'static str) {
        self.label = label;
    }
}

impl Table {
    /// A table without columns.
    pub fn new(name: &'static str) -> Self {
        Self { name, columns: Vec::new() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.data {
            Data::Real(values) => values.len(),
            Data::Whole(values) => values.len(),
            Data::Text(values) => values.len(),
        })
    }

    /// A column of real numbers, added at the end.
    pub fn real(
        &mut self,
        name: &'static str,
        unit: &'static str,
        description: &'static str,
        values: Vec<f64>,
    ) -> &mut Column {
        self.add(Column { name, unit, label: "", description, data: Data::Real(values) })
    }

    /// A column of whole numbers, added at the end.
    pub fn whole(
        &mut self,
        name: &'static str,
        unit: &'static str,
        description: &'static str,
        values: Vec<i64>,
    ) -> &mut Column {
        self.add(Column { name, unit, label: "", description, data: Data::Whole(values) })
    }

    /// A column of names, added at the end.
    pub fn text(
        &mut self,
        name: &'static str,
        description: &'static str,
        values: Vec<String>,
    ) -> &mut Column {
        self.add(Column { name, unit: "", label: "", description, data: Data::Text(values) })
    }

    fn add(&mut self, column: Column) -> &mut Column {
        let place = self.columns.len();
        self.columns.push(column);
        &mut self.columns[place]
    }
}

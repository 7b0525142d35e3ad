use fabricsim_model::Table;

use crate::input::TableInput;
use crate::{Names, Outcome, Recorder, Summary};

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Scalars.
    pub summary: Summary,
    /// Tables, in the order of the collectors; see [`catalogue`](crate::catalogue).
    pub tables: Vec<Table>,
}

impl Recorder {
    /// Returns the recorded figures and tables. Called after all partitions have been merged.
    pub fn report(&self, names: &Names, outcome: &Outcome) -> Report {
        let input = self.table_input(names, outcome);
        let tables = self.collectors.tables(&input).into_iter();
        let shown = tables.filter(|result| result.if_empty || result.table.rows() > 0);
        Report {
            summary: self.collectors.summarize(&input),
            tables: shown.map(|result| result.table).collect(),
        }
    }

    /// Input of the tables.
    pub(crate) fn table_input<'a>(&'a self, names: &'a Names, outcome: &'a Outcome) -> TableInput<'a> {
        let Self { config, timeline, collectors } = self;
        let further = collectors.further_flows();
        let flows = collectors.flows.rows(further, &outcome.offers, config.hosts);
        TableInput {
            config,
            timeline,
            names,
            outcome,
            measured: timeline.window.length(outcome.end),
            flows: flows.rows,
            sharing: flows.sharing,
            latencies: collectors.latency.of_entries(),
            links: &collectors.links.counters,
            added: collectors,
        }
    }
}

//! Choice of the part of a run whose flows are bounded: flows start and stop.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_units::Time;

use super::DemandsError;

/// A part of the run during which the same flows are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ActivePeriod {
    /// A time in it.
    pub(super) at: Time,
    /// Its begin, and its end (not included).
    pub(super) from: Time,
    pub(super) to: Time,
    /// Flows that are active, at most.
    pub(super) flows: usize,
}

impl ActivePeriod {
    pub(super) fn choose(prepared: &Prepared, at: Option<Time>, file: &str) -> Result<Self, DemandsError> {
        let run = &prepared.experiment.run;
        let end = run.warmup.saturating_add(run.duration);
        let named = || file.to_owned();
        if let Some(at) = at.filter(|&at| at >= end) {
            return Err(DemandsError::Outside { file: named(), at, end });
        }
        let spans = spans(prepared);
        let Some(first) = spans.iter().map(|span| span.0).min() else {
            return Err(DemandsError::NoTraffic { file: named() });
        };
        let all = moments(&spans, end);
        let chosen = match at {
            Some(at) => all.into_iter().find(|m| m.from <= at && at < m.to).map(|m| Self { at, ..m }),
            // The last of those with most flows: `max_by_key` gives the last.
            None => all.into_iter().filter(|m| m.to > run.warmup).max_by_key(|m| m.flows),
        };
        chosen.filter(|active_period| active_period.flows > 0).ok_or_else(|| {
            let when = at.map_or_else(|| "in the measurement".to_owned(), |at| format!("at {at}"));
            let last = spans.iter().map(|span| span.1).max().filter(|&last| last < Time::MAX);
            DemandsError::Quiet { file: named(), when, first, last }
        })
    }
}

/// Begin, end and flows of each source's activity.
fn spans(prepared: &Prepared) -> Vec<(Time, Time, usize)> {
    let demands = prepared.workload.sources.iter().flat_map(fabricsim_workload::Source::demands);
    demands
        .map(|demand| {
            let (from, to) = demand.span();
            (from, to, demand.most_destinations())
        })
        .collect()
}

/// The parts of the run from 0 to `end`, in order.
fn moments(spans: &[(Time, Time, usize)], end: Time) -> Vec<ActivePeriod> {
    let mut changes: BTreeMap<Time, i64> = BTreeMap::from([(Time::ZERO, 0)]);
    for &(from, to, flows) in spans.iter().filter(|span| span.0 < end && span.0 < span.1) {
        *changes.entry(from).or_insert(0) += flows as i64;
        if to < end {
            *changes.entry(to).or_insert(0) -= flows as i64;
        }
    }
    let ends: Vec<Time> = changes.keys().copied().skip(1).chain([end]).collect();
    let mut active = 0;
    let part = |((from, change), to): ((Time, i64), Time)| {
        active += change;
        ActivePeriod { at: from, from, to, flows: active as usize }
    };
    changes.into_iter().zip(ends).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_between_starts_and_ends() {
        let us = Time::us;
        let spans = [(us(0), us(4), 2), (us(1), Time::MAX, 3), (us(4), us(6), 2), (us(20), us(30), 9)];
        let found: Vec<_> = moments(&spans, us(10)).iter().map(|m| (m.from.0, m.to.0, m.flows)).collect();
        let part = |from: u64, to: u64, flows: usize| (us(from).0, us(to).0, flows);
        assert_eq!(found, [part(0, 1, 2), part(1, 4, 5), part(4, 6, 5), part(6, 10, 3)]);
    }
}

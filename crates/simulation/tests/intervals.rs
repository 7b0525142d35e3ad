//! Intervals that observers get: of each kind and place, none is empty, and none begins before the one before it has ended.
//!
//! The frozen experiments have everything that reports one. Their failures and subnet managers act in sessions only, so not here.

use std::collections::BTreeMap;
use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time, Vl};

/// Kind of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Transmitted,
    Stalled,
    Blocked,
    RateLimited,
    BlockedByCc,
}

/// Ends of the intervals by kind and place, and what is wrong with them.
#[derive(Clone, Debug, Default)]
struct Intervals {
    ends: BTreeMap<(Kind, u64), Time>,
    faults: Vec<String>,
}

impl Intervals {
    fn add(&mut self, kind: Kind, place: u64, start: Time, end: Time) {
        let before = self.ends.insert((kind, place), end).unwrap_or_default();
        if end <= start || start < before {
            self.faults.push(format!(
                "{kind:?} at {place}: from {start} to {end}, the one before ended at {before}"
            ));
        }
    }
}

impl Observer for Intervals {
    fn transmitted(&mut self, port: u32, _: Vl, _: u32, start: Time, end: Time) {
        self.add(Kind::Transmitted, port.into(), start, end);
    }

    fn stalled(&mut self, port: u32, _: Vl, start: Time, end: Time) {
        self.add(Kind::Stalled, port.into(), start, end);
    }

    fn blocked(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        self.add(Kind::Blocked, u64::from(port) << 8 | u64::from(lane.0), start, end);
    }

    fn rate_limited(&mut self, source: HostId, destination: Option<HostId>, start: Time, end: Time, _: u32) {
        // Of a source as a whole there are several at a time with `control = "service-level"`.
        let place = destination.map(|host| u64::from(source.0) << 32 | u64::from(host.0));
        match place {
            Some(place) => self.add(Kind::RateLimited, place, start, end),
            None if end <= start => self.faults.push(format!("{source:?}: from {start} to {end}")),
            None => {}
        }
    }

    fn blocked_by_cc(&mut self, source: HostId, _: HostId, start: Time, end: Time) {
        self.add(Kind::BlockedByCc, source.0.into(), start, end);
    }
}

/// Runs a frozen experiment to its end and a half more.
fn intervals(folder: &Path, file: &str) -> Intervals {
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let experiment = fabricsim_spec::read(&text, file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let prepared = Prepared::new(experiment, folder, file).unwrap_or_else(|e| panic!("{e}"));
    let mut engine = prepared.engine(Intervals::default);
    let run = &prepared.experiment.run;
    engine.advance(Time((run.warmup + run.duration).0 / 2 * 3), &mut |_, _| true);
    engine.finish().remove(0)
}

#[test]
fn intervals_are_not_empty_and_do_not_overlap() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/characterisation/experiments");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let is_toml = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "toml");
    names.retain(|name| is_toml(name) && !name.starts_with("graph-"));
    names.sort();
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for name in &names {
        let found = intervals(&folder, name);
        assert!(found.faults.is_empty(), "{name}: {:#?}", &found.faults[..found.faults.len().min(10)]);
        found.ends.keys().for_each(|(kind, _)| *kinds.entry(*kind).or_default() += 1);
    }
    let all = [Kind::Transmitted, Kind::Stalled, Kind::Blocked, Kind::RateLimited, Kind::BlockedByCc];
    assert!(all.iter().all(|kind| kinds.get(kind).is_some_and(|&places| places > 10)), "{kinds:?}");
}

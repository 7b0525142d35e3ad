//! What several tests of this crate use.

use std::path::Path;

use fabricsim_model::{LossCause, Observer, Packet};
use fabricsim_units::{Time, Vl};

use crate::{Engine, PrepareError, Prepared};

/// Builds the experiment of a TOML text, with overrides.
pub(crate) fn prepare(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    try_prepare(text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// As [`prepare`], where the experiment may not be possible; its text must be readable.
pub(crate) fn try_prepare(text: &str, overrides: &[(&str, &str)]) -> Result<Prepared, PrepareError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "test.toml", &overrides);
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    Prepared::new(experiment, Path::new("."), "test.toml")
}

/// Everything that hosts and links do.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
    /// Begins of stalls.
    pub(crate) stalls: Vec<Time>,
    /// Packets with data that hosts sent.
    pub(crate) sent: Vec<Packet>,
    /// Packets with data that hosts accepted.
    pub(crate) delivered: Vec<Packet>,
}

impl Observer for Log {
    fn injected(&mut self, now: Time, packet: &Packet) {
        self.sent.push(*packet);
        self.lines.push(format!("{now} injected {packet:?}"));
    }

    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.delivered.push(*packet);
        self.lines.push(format!("{now} delivered {packet:?}"));
    }

    fn lost(&mut self, now: Time, packet: &Packet, cause: LossCause) {
        self.lines.push(format!("{now} lost {packet:?} {cause:?}"));
    }

    fn transmitted(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        self.lines.push(format!("{start} transmitted {port} {lane:?} {bytes} {end}"));
    }

    fn stalled(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        self.stalls.push(start);
        self.lines.push(format!("{start} stalled {port} {lane:?} {end}"));
    }
}

/// What happens up to `end`, in order of the lines.
pub(crate) fn log(mut engine: Engine<Log>, end: Time) -> Vec<String> {
    engine.advance(end, &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let mut log: Vec<String> = engine.finish().into_iter().flat_map(|log| log.lines).collect();
    log.sort();
    log
}

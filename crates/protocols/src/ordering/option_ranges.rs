//! Allowed values of options: those of the fields of an experiment's `transport`.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use fabricsim_spec as spec;
use fabricsim_units::Time;
use thiserror::Error;

use super::{SequenceSpace, SourceOptions, TargetOptions};

/// An option that is out of range: its name, and the problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option} {problem}")]
pub struct OptionError {
    /// The field.
    pub option: &'static str,
    /// Description of the problem and of the allowed values.
    pub problem: String,
}

/// Ranges of options, as the fields of an experiment's `transport` state them; read once, since every host checks its options.
struct Ranges {
    streams: RangeInclusive<u64>,
    connections: RangeInclusive<u64>,
    sequence_bits: RangeInclusive<u64>,
    fast_from: RangeInclusive<u64>,
    target_connections: RangeInclusive<u64>,
    reorder_capacity: RangeInclusive<u64>,
    reorder_ring: RangeInclusive<u64>,
    replay: RangeInclusive<u64>,
}

static RANGES: LazyLock<Ranges> = LazyLock::new(|| {
    let range = |field: &str| spec::numbers_at(&format!("transport.{field}"));
    Ranges {
        streams: range("streams"),
        connections: range("connections"),
        sequence_bits: range("sequence_bits"),
        fast_from: range("fast_from"),
        target_connections: range("target.connections"),
        reorder_capacity: range("target.reorder_buffer"),
        reorder_ring: range("target.reorder_ring"),
        replay: range("target.replay_buffers"),
    }
});

fn within(option: &'static str, value: u32, range: &RangeInclusive<u64>) -> Result<(), OptionError> {
    if range.contains(&u64::from(value)) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(OptionError { option, problem: format!("is {value}: must be from {least} to {most}") })
}

impl SourceOptions {
    /// Checks that all options are in range, and that they fit together.
    pub fn check(&self) -> Result<(), OptionError> {
        within("streams", u32::from(self.streams), &RANGES.streams)?;
        within("connections", u32::from(self.connections), &RANGES.connections)?;
        within("sequence_bits", u32::from(self.sequence_bits), &RANGES.sequence_bits)?;
        let half = SequenceSpace::new(self.sequence_bits).half();
        if u32::from(self.outstanding) > half || self.outstanding == 0 {
            let bits = self.sequence_bits;
            let problem = format!(
                "is {}: with {bits} bits of SEQ must be from 1 to {half}, half of the sequence numbers",
                self.outstanding
            );
            return Err(OptionError { option: "outstanding", problem });
        }
        let fast_from = *RANGES.fast_from.start()..=u64::from(self.outstanding);
        within("fast_from", u32::from(self.fast_from), &fast_from)?;
        for (option, time) in [("timeout", self.timeout), ("lifetime", self.lifetime)] {
            if time == Time::ZERO {
                return Err(OptionError { option, problem: "is 0: must be longer".to_owned() });
            }
        }
        Ok(())
    }
}

impl TargetOptions {
    /// Checks that all options are in range.
    pub fn check(&self) -> Result<(), OptionError> {
        within("connections", self.connections, &RANGES.target_connections)?;
        within("reorder_capacity", u32::from(self.reorder_capacity), &RANGES.reorder_capacity)?;
        within("replay", u32::from(self.replay), &RANGES.replay)?;
        within("sequence_bits", u32::from(self.sequence_bits), &RANGES.sequence_bits)?;
        let ring = &RANGES.reorder_ring;
        if !self.reorder_ring.is_power_of_two() || !ring.contains(&u64::from(self.reorder_ring)) {
            let (least, most) = (ring.start(), ring.end());
            let problem = format!("is {}: must be a power of two from {least} to {most}", self.reorder_ring);
            return Err(OptionError { option: "reorder_ring", problem });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_allowed() {
        assert_eq!(SourceOptions::default().check(), Ok(()));
        assert_eq!(TargetOptions::default().check(), Ok(()));
    }

    #[test]
    fn the_sequence_space_has_to_hold_the_cap_twice() {
        let options = SourceOptions { outstanding: 25, sequence_bits: 5, ..SourceOptions::default() };
        let error = options.check().expect_err("32 numbers are too few for 25 packets");
        assert_eq!(
            error.to_string(),
            "outstanding is 25: with 5 bits of SEQ must be from 1 to 16, half of the sequence numbers"
        );
        assert_eq!(SourceOptions { sequence_bits: 6, ..options }.check(), Ok(()));
    }

    #[test]
    fn sizes_are_checked() {
        let target = TargetOptions::default();
        let told = |options: TargetOptions| options.check().map_err(|error| error.to_string());
        for (options, message) in [
            (
                TargetOptions { reorder_capacity: 0, ..target },
                "reorder_capacity is 0: must be from 1 to 32767",
            ),
            (TargetOptions { replay: 0, ..target }, "replay is 0: must be from 1 to 32767"),
            (TargetOptions { connections: 0, ..target }, "connections is 0: must be from 1 to 16777216"),
            (TargetOptions { sequence_bits: 2, ..target }, "sequence_bits is 2: must be from 3 to 16"),
            (TargetOptions { sequence_bits: 17, ..target }, "sequence_bits is 17: must be from 3 to 16"),
            (
                TargetOptions { reorder_ring: 50, ..target },
                "reorder_ring is 50: must be a power of two from 1 to 65536",
            ),
            (
                TargetOptions { reorder_ring: 0, ..target },
                "reorder_ring is 0: must be a power of two from 1 to 65536",
            ),
        ] {
            assert_eq!(told(options), Err(message.to_owned()));
        }
        let source = SourceOptions::default();
        let told = |options: SourceOptions| options.check().map_err(|error| error.to_string());
        for (options, message) in [
            (SourceOptions { connections: 0, ..source }, "connections is 0: must be from 1 to 32767"),
            (
                SourceOptions { connections: 40_000, ..source },
                "connections is 40000: must be from 1 to 32767",
            ),
            (SourceOptions { streams: 0, ..source }, "streams is 0: must be from 1 to 32767"),
            (SourceOptions { streams: 40_000, ..source }, "streams is 40000: must be from 1 to 32767"),
            (SourceOptions { timeout: Time::ZERO, ..source }, "timeout is 0: must be longer"),
            (SourceOptions { lifetime: Time::ZERO, ..source }, "lifetime is 0: must be longer"),
            (
                SourceOptions { outstanding: 0, ..source },
                "outstanding is 0: with 16 bits of SEQ must be from 1 to 32768, half of the sequence numbers",
            ),
        ] {
            assert_eq!(told(options), Err(message.to_owned()));
        }
    }

    /// The reference of keys lists the experiment's defaults; the state machines and the sockets start from these.
    #[test]
    fn defaults_are_those_of_an_experiment() {
        let transport = spec::Transport::default();
        let (source, target) = (SourceOptions::default(), TargetOptions::default());
        assert_eq!((source.timeout, source.lifetime), (transport.timeout, transport.lifetime));
        assert_eq!((source.timeout, source.lifetime), (Time::ms(1), Time::ms(1)));
        assert_eq!((target.connections, target.reorder_capacity, target.replay), (4096, 256, 1024));
        assert_eq!((target.reorder_ring, target.reorder_cache), (512, 8));
        assert_eq!((source.streams, source.connections, source.outstanding), (64, 256, 128));
        assert_eq!((source.sequence_bits, target.sequence_bits), (16, 16));
        assert_eq!((source.check(), target.check()), (Ok(()), Ok(())));
    }

    #[test]
    fn a_lifetime_without_end_is_allowed() {
        let options = SourceOptions { lifetime: Time::MAX, ..SourceOptions::default() };
        assert_eq!((options.check(), options.quiet_time()), (Ok(()), Time::MAX));
    }
}

//! Captures of what crosses links.

use fabricsim_model::{Crossing, CrossingContent, ExtensionHeaders, Packet};
use fabricsim_units::{Time, Vl};

/// Links and times of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Sending ports, in any order.
    pub ports: Vec<u32>,
    /// Time from which on it captures.
    pub from: Time,
    /// Time at which it ends.
    pub until: Time,
}

/// Something that has begun to cross a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time at which its first byte left.
    pub time: Time,
    /// Sending port.
    pub port: u32,
    /// What it is.
    pub content: CapturedContent,
}

/// Content of a [`Captured`]: [`CrossingContent`], owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapturedContent {
    /// A simulated packet, its lane and which of its destination's LIDs it is sent to, with its label and echo, if it has any.
    Packet(Packet, (Vl, u8), Option<Box<ExtensionHeaders>>),
    /// Bytes of a packet, from LRH to VCRC, and a comment.
    Bytes(Box<[u8]>, Box<str>),
    /// Bytes of a flow-control packet, and a comment.
    FlowControl(Box<[u8]>, Box<str>),
}

impl From<CrossingContent<'_>> for CapturedContent {
    fn from(content: CrossingContent<'_>) -> Self {
        match content {
            CrossingContent::Packet { packet, lane, path, label, transport, payload, echo } => {
                let (label, transport, echo) = (label.copied(), transport.copied(), echo.copied());
                let content = payload.map(Into::into);
                let headers = ExtensionHeaders {
                    label,
                    transport,
                    content,
                    echo,
                    telemetry: Vec::new(),
                    arrivals: Vec::new(),
                };
                let headers = (!headers.is_empty()).then(|| Box::new(headers));
                Self::Packet(*packet, (lane, path), headers)
            }
            CrossingContent::Bytes { bytes, comment } => Self::Bytes(bytes.into(), comment.into()),
            CrossingContent::FlowControl { bytes, comment } => {
                Self::FlowControl(bytes.into(), comment.into())
            }
        }
    }
}

/// Captures of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    /// By sending port, a bit each.
    ports: Vec<u64>,
    from: Time,
    until: Time,
    /// What was captured since the last call of [`Tap::take`].
    records: Vec<Captured>,
    /// True if nothing more is kept.
    counts_only: bool,
    missed: u64,
}

impl Tap {
    pub(crate) fn new(filter: &CaptureFilter) -> Self {
        let words = filter.ports.iter().max().map_or(0, |&last| last as usize / 64 + 1);
        let mut ports = vec![0; words];
        filter.ports.iter().for_each(|&port| ports[port as usize / 64] |= 1 << (port % 64));
        let &CaptureFilter { from, until, .. } = filter;
        Self { ports, from, until, records: Vec::new(), counts_only: false, missed: 0 }
    }

    /// True if it captures what begins to cross the link of a port at `time`.
    #[inline]
    pub(crate) fn captures(&self, time: Time, port: u32) -> bool {
        let is_chosen = self.ports.get(port as usize / 64).is_some_and(|word| word >> (port % 64) & 1 == 1);
        is_chosen && self.from <= time && time < self.until
    }

    pub(crate) fn add(&mut self, crossing: &Crossing<'_>) {
        if self.counts_only {
            self.missed += 1;
            return;
        }
        let &Crossing { time, port, content } = crossing;
        self.records.push(Captured { time, port, content: content.into() });
    }

    /// Moves what crossed before `until` to the end of `all`. The rest stays.
    pub(crate) fn take(&mut self, until: Time, all: &mut Vec<Captured>) {
        all.extend(self.records.extract_if(.., |record| record.time < until));
    }

    /// From now on counts what it would capture.
    pub(crate) fn count_only(&mut self) {
        self.counts_only = true;
        self.missed += self.records.len() as u64;
        self.records = Vec::new();
    }

    /// Crossings that were counted and not kept.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tap() -> Tap {
        Tap::new(&CaptureFilter { ports: vec![70, 3], from: Time(10), until: Time(20) })
    }

    fn bytes(time: u64, port: u32) -> Crossing<'static> {
        Crossing { time: Time(time), port, content: CrossingContent::Bytes { bytes: &[1], comment: "mad" } }
    }

    #[test]
    fn chosen_ports_and_times_are_captured() {
        let tap = tap();
        let captured: Vec<u32> = (0..200).filter(|&port| tap.captures(Time(10), port)).collect();
        assert_eq!(captured, [3, 70]);
        assert!(tap.captures(Time(19), 3) && !tap.captures(Time(9), 3) && !tap.captures(Time(20), 3));
        assert!(!Tap::new(&CaptureFilter::default()).captures(Time(0), 0));
    }

    #[test]
    fn what_is_to_come_stays() {
        let (mut tap, mut all) = (tap(), Vec::new());
        for (time, port) in [(10, 3), (15, 3), (12, 70)] {
            tap.add(&bytes(time, port));
        }
        tap.take(Time(15), &mut all);
        let times = |all: &[Captured]| all.iter().map(|record| record.time.0).collect::<Vec<_>>();
        assert_eq!(times(&all), [10, 12]);
        assert_eq!(all[1].content, CapturedContent::Bytes([1].into(), "mad".into()));
        tap.take(Time(16), &mut all);
        assert_eq!((times(&all), tap.missed()), (vec![10, 12, 15], 0));
    }

    #[test]
    fn a_tap_that_only_counts_keeps_nothing() {
        let (mut tap, mut all) = (tap(), Vec::new());
        tap.add(&bytes(10, 3));
        tap.count_only();
        tap.add(&bytes(11, 3));
        tap.take(Time::MAX, &mut all);
        assert_eq!((all.len(), tap.missed()), (0, 2));
    }
}

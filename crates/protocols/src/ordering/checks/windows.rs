//! Messages that are longer than their window, offered as a host does it: each transfer has to end whatever is lost.
//!
//! Windows hold 1 to 4 packets, messages one packet more. Acknowledged packets fill a window as long as copies of them may be in
//! the network, which only timers can decide after a loss.

use super::model::Configuration;
use super::plan::Planned;
use super::world::Fault;
use crate::explore::{Verdict, explore};
use crate::ordering::Mode;

pub(super) const MODES: [Mode; 8] = [
    Mode::Unordered,
    Mode::SourceOrdered,
    Mode::Ordered,
    Mode::SourceSynchronized,
    Mode::Synchronized,
    Mode::GoBackN,
    Mode::Selective,
    Mode::SelectiveOrdered,
];

/// A message of `kept` + 1 packets through a window of `kept`.
pub(super) fn through(mode: Mode, kept: u16, outstanding: u16) -> Configuration {
    let packets = kept as u8 + 1;
    let name = format!("{mode:?}: {packets} packets, window of {kept}, {outstanding} outstanding");
    // Cumulative answers do not name the copy that they answer: numbers must not come around while one is in flight.
    let is_cumulative = matches!(mode, Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered);
    let bits = if is_cumulative { 4 } else { 3 };
    Configuration::new(&name, &[Planned::new(mode, false, packets)])
        .source(|source| {
            (source.kept, source.outstanding, source.sequence_bits) = (kept, outstanding, bits);
        })
        .target(|target| target.sequence_bits = bits)
}

/// Two losses; with one packet outstanding, an early time-out besides.
pub(super) fn small() -> Vec<Configuration> {
    let of = |mode| {
        let narrow = (1..=4).map(move |kept| through(mode, kept, 1).with(2, 1));
        let losses = |kept| if kept < 3 { 2 } else { 1 };
        // A go-back-N source takes any time for its time-outs, so that its states are many.
        let most = if mode == Mode::GoBackN { 2 } else { 4 };
        narrow.chain((2..=most).map(move |kept| through(mode, kept, kept).with(losses(kept), 0)))
    };
    MODES.into_iter().flat_map(of).collect()
}

/// Three losses and an early time-out; two losses in a window of 4 with 4 outstanding.
pub(super) fn large() -> Vec<Configuration> {
    let of = |mode| {
        let narrow = (1..=4).map(move |kept| through(mode, kept, 1).with(3, 1));
        let most = if mode == Mode::GoBackN { 2 } else { 3 };
        let wide = (2..=most).map(move |kept| through(mode, kept, kept).with(3, 1));
        let widest = (mode != Mode::GoBackN).then(|| through(mode, 4, 4).with(2, 0));
        narrow.chain(wide).chain(widest)
    };
    MODES.into_iter().flat_map(of).collect()
}

/// A network that makes a copy of a packet, beside a loss.
fn copied(mode: Mode) -> Configuration {
    let configuration = through(mode, 2, 1).with(1, 0);
    Configuration { name: format!("{}, a copy", configuration.name), duplicates: 1, ..configuration }
}

/// Modes that need no connection stand copies made by the network.
pub(super) fn duplicated() -> Vec<Configuration> {
    [Mode::Unordered, Mode::SourceSynchronized].map(copied).to_vec()
}

/// The others rest on a network that makes no copies: a source that has an answer to each packet that it sent closes the
/// connection, and a copy that arrives later opens another one.
#[test]
fn a_network_that_makes_copies_breaks_order_and_exactly_once_delivery() {
    for (mode, fault) in [
        (Mode::SourceOrdered, Fault::Order),
        (Mode::Ordered, Fault::Order),
        (Mode::Synchronized, Fault::ExactlyOnce),
        (Mode::GoBackN, Fault::ExactlyOnce),
        (Mode::Selective, Fault::ExactlyOnce),
        (Mode::SelectiveOrdered, Fault::ExactlyOnce),
    ] {
        let verdict = explore(&copied(mode), 100_000);
        assert!(matches!(verdict, Verdict::Broken(found, _) if found == fault), "{mode:?}: {verdict:?}");
    }
}

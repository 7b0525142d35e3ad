//! Warnings of starving lanes: their packets could be sent, and others are sent in their place.
//!
//! A lane can send while the head of its queue is ready and has credits. At some times of the run (about 10, each at 1.5 times
//! the one before), heads are noted that have been ready since the time before and were passed over since. The queue was never
//! empty between two of these times if the later head was in it at the earlier one, and the packets that were ahead of it then are
//! those that the queue has sent. Over such a spell a lane starves if it got less than one packet's share of
//! [`PACKETS`] and of [`TURNS`] rounds. A lane of low rate has no such spell: its packets leave before the next look.

use std::collections::BTreeMap;

use fabricsim_analysis::{PassedOver, passed};
use fabricsim_engine::{Prepared, Snapshot};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Time, Vl};

/// Packets of the output's link that fit into the time in which a starving lane sends less than one. No fair share is as small,
/// but for switches with more queues.
const PACKETS: u64 = 1000;

/// The same in rounds, in which each queue of the switch sends a packet: a starving lane gets less than a tenth of an equal share.
const TURNS: u64 = 10;

/// Consecutive looks of a spell in which the lane sent something. Whether a head has credits is known at the looks only, and a lane that
/// mostly lacks them has some at a look by chance: by [`TURNS`] at one look in 10, so at six in a row once in 10^6. For a spell in
/// which it sent nothing two looks are enough.
const LOOKS: u32 = 6;

/// Part of the time until the end of the measurement for which a lane starves at least: 1 in 4.
const PART: u64 = 4;

/// Maximum number of warnings in full; the others are counted.
const SHOWN: usize = 3;

/// Output, input and virtual lane of a queue.
type Queue = (u32, u32, Vl);

/// An interval in which a queue continuously had a packet that could be sent.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct WaitingPeriod {
    head: PassedOver,
    since: Time,
    until: Time,
    /// Packets that it sent.
    sent: u64,
    looks: u32,
}

/// The heads of queues at some times of the run.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Waiting {
    last: Time,
    /// Spells up to the last look.
    spells: Vec<WaitingPeriod>,
    /// The longest spell of each queue that starved.
    starved: BTreeMap<Queue, WaitingPeriod>,
}

impl Waiting {
    /// Records the heads that have waited since the previous look.
    pub(crate) fn look(&mut self, snapshot: &Snapshot, prepared: &Prepared) {
        let now = snapshot.now;
        if now == self.last {
            return;
        }
        let before = std::mem::take(&mut self.spells);
        let heads = passed(snapshot, self.last).into_iter();
        self.spells = heads.map(|head| continued(head, &before, now)).collect();
        self.last = now;
        for spell in &self.spells {
            if spell.starves(prepared) {
                let queue = (spell.head.output, spell.head.input, spell.head.lane);
                let longest = self.starved.entry(queue).or_insert_with(|| spell.clone());
                if spell.waited() >= longest.waited() {
                    longest.clone_from(spell);
                }
            }
        }
    }

    /// The lanes that starved for a good part of the time until `measured`, one line each.
    pub(crate) fn warnings(&self, graph: &Graph, measured: Time) -> Vec<String> {
        let is_long = |spell: &&WaitingPeriod| spell.waited().0 >= measured.0 / PART;
        let found: Vec<&WaitingPeriod> = self.starved.values().filter(is_long).collect();
        let mut lines: Vec<String> =
            found.iter().take(SHOWN).map(|spell| spell.line(graph, self.last)).collect();
        if found.len() > SHOWN {
            let more = found.len() - SHOWN;
            lines.push(if more == 1 {
                "1 more queue starves".to_owned()
            } else {
                format!("{more} more queues starve")
            });
        }
        lines
    }
}

/// The spell that `head` continues, else one that begins `now`.
fn continued(head: PassedOver, before: &[WaitingPeriod], now: Time) -> WaitingPeriod {
    let queue = |of: &PassedOver| (of.output, of.input, of.lane);
    let first = before.partition_point(|spell| queue(&spell.head) < queue(&head));
    let same = before[first..].iter().take_while(|spell| queue(&spell.head) == queue(&head));
    let found = same.into_iter().find_map(|spell| Some((spell, rank(&head, &spell.head)?)));
    match found {
        Some((spell, ahead)) => WaitingPeriod {
            head,
            since: spell.since,
            until: now,
            sent: spell.sent + ahead,
            looks: spell.looks + 1,
        },
        None => WaitingPeriod { head, since: now, until: now, sent: 0, looks: 1 },
    }
}

/// Packets that were ahead of `head` in its queue when `before` was the head; `None` if it was not near.
fn rank(head: &PassedOver, before: &PassedOver) -> Option<u64> {
    let mut packets = std::iter::once(&before.packet).chain(&before.behind);
    packets.position(|&packet| packet == head.packet).map(|ahead| ahead as u64)
}

impl WaitingPeriod {
    fn waited(&self) -> Time {
        self.until.saturating_sub(self.since)
    }

    fn starves(&self, prepared: &Prepared) -> bool {
        if self.looks < 2 || self.sent > 0 && self.looks < LOOKS {
            return false;
        }
        let graph = &prepared.graph;
        let link = &graph.links[(self.head.output / 2) as usize];
        let sender = if self.head.output.is_multiple_of(2) { link.a } else { link.b };
        let ports = match sender.node {
            Node::Switch(switch) => graph.switches[switch.index()].ports.len() as u64,
            Node::Host(_) => 1,
        };
        let queues = ports * u64::from(prepared.experiment.switch.virtual_lanes);
        let mtu = u32::try_from(prepared.experiment.host.mtu.0).unwrap_or(u32::MAX);
        let packet = link.parameters.rate.byte_time().duration(mtu);
        self.waited() > packet * (PACKETS.max(TURNS * queues) * (self.sent + 1))
    }

    fn line(&self, graph: &Graph, end: Time) -> String {
        let place = format!(
            "lane {} of {} starves at {}",
            self.head.lane.0,
            graph.port_name(self.head.input),
            graph.port_name(self.head.output)
        );
        if self.sent == 0 && self.until == end {
            let waited = end.saturating_sub(self.head.ready);
            return format!(
                "{place}: its next packet has been ready for {waited}, there is space ahead, and other packets are sent"
            );
        }
        let sent = match self.sent {
            0 => "nothing".to_owned(),
            1 => "1 packet".to_owned(),
            more => format!("{more} packets"),
        };
        format!(
            "{place}: from {} to {} it sent {sent}, though packets were ready and there was space ahead; other packets were sent",
            self.since, self.until
        )
    }
}

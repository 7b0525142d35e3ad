//! Warnings of packets that are not chosen for long, though they could be sent.

use fabricsim_engine::{Engine, Passed};
use fabricsim_measure::Recorder;
use fabricsim_topology::Graph;
use fabricsim_units::Time;

/// Packets of the output's link that must fit into the time for which a packet waits.
const PACKETS: u64 = 1000;

/// Warnings in full; the others are counted.
const SHOWN: usize = 3;

/// The heads of queues at some times of the run, which show whether one of them moved.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Two looks before: the time, and the heads that waited then.
    before: (Time, Vec<Passed>),
    last: (Time, Vec<Passed>),
}

impl Waiting {
    /// Notes the heads that have waited since the look before.
    pub(crate) fn look(&mut self, engine: &Engine<Recorder>) {
        let heads = engine.passed(self.last.0);
        self.before = std::mem::replace(&mut self.last, (engine.now(), heads));
    }

    /// The heads of the look before the last that wait still, at the end, one line each.
    pub(crate) fn warnings(&self, engine: &Engine<Recorder>, graph: &Graph, mtu: u32) -> Vec<String> {
        let (since, heads) = &self.before;
        let now = engine.now();
        let waited = now.saturating_sub(*since);
        let is_long = |head: &Passed| {
            let rate = graph.links[(head.output / 2) as usize].parameters.rate;
            waited > rate.byte_time().duration(mtu) * PACKETS
        };
        let mut found = engine.passed(*since);
        found.retain(|head| is_long(head) && heads.binary_search(head).is_ok());
        let mut lines: Vec<String> = found.iter().take(SHOWN).map(|head| line(head, graph, now)).collect();
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

fn line(head: &Passed, graph: &Graph, now: Time) -> String {
    format!(
        "lane {} of {} starves at {}: its next packet has been ready for {}, there is space ahead, and other packets are sent",
        head.lane.0,
        graph.port_name(head.input),
        graph.port_name(head.output),
        now.saturating_sub(head.ready),
    )
}

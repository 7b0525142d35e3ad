//! A world in which a test decides what arrives when.

use fabricsim_units::Time;

use super::plan::Planned;
use super::world::{InFlight, World};
use crate::ordering::{Kind, Seq, Source, SourceOptions, TargetOptions};

/// A world with one network in which the test decides what arrives when.
pub(super) struct Stage {
    pub(super) world: World,
    pub(super) plan: Vec<Planned>,
    pub(super) now: Time,
}

impl Stage {
    pub(super) fn new(source: SourceOptions, target: TargetOptions, plan: &[Planned]) -> Self {
        Self { world: World::new(source, target, plan, false), plan: plan.to_vec(), now: Time::ZERO }
    }

    /// Time-out and quiet time are over at the same time.
    pub(super) fn of(plan: &[Planned]) -> Self {
        let source =
            SourceOptions { timeout: Time::us(10), lifetime: Time::us(5), ..SourceOptions::default() };
        Self::new(source, TargetOptions::default(), plan)
    }

    /// Everything that can be sent is.
    pub(super) fn send_all(&mut self) -> Vec<(Kind, u16)> {
        let mut sent = Vec::new();
        for source in 0..self.world.sources.len() {
            while let Some(packet) = self.world.send(source, self.now) {
                sent.push((packet.header.kind, packet.header.seq.0));
            }
        }
        sent
    }

    pub(super) fn place(&self, kind: Kind, seq: u16) -> usize {
        let is = |packet: &InFlight| packet.header.kind == kind && packet.header.seq == Seq(seq);
        let found = self.world.network.iter().position(is);
        found.unwrap_or_else(|| panic!("no {kind:?} {seq} in {:?}", self.world.network))
    }

    pub(super) fn arrive(&mut self, kind: Kind, seq: u16) {
        let packet = self.world.leave(self.place(kind, seq));
        self.world.arrive(packet, &self.plan, true);
        assert_eq!(self.world.fault, None);
    }

    pub(super) fn lose(&mut self, kind: Kind, seq: u16) {
        self.world.leave(self.place(kind, seq));
    }

    /// Time passes until the next timer.
    pub(super) fn wait(&mut self) {
        self.now = self.world.sources.iter().map(Source::wake_at).min().unwrap_or(self.now);
        assert_ne!(self.now, Time::MAX, "no timer runs");
        (0..self.world.sources.len()).for_each(|source| self.world.expire(source, self.now, &self.plan));
    }

    /// Content of the network, in the order in which it is written down.
    pub(super) fn network(&self) -> Vec<(Kind, u16)> {
        self.world.network.iter().map(|packet| (packet.header.kind, packet.header.seq.0)).collect()
    }

    pub(super) fn delivered(&self, stream: usize) -> u128 {
        self.world.records[stream].delivered
    }

    /// All that is left goes by itself, without losses.
    pub(super) fn finish(&mut self) {
        for _ in 0..1000 {
            self.send_all();
            if self.world.network.is_empty() {
                if self.world.is_done(&self.plan) {
                    return;
                }
                self.wait();
                continue;
            }
            let packet = self.world.leave(0);
            self.world.arrive(packet, &self.plan, true);
            assert_eq!(self.world.fault, None);
        }
        panic!("it does not end: {:?}", self.world);
    }

    pub(super) fn packet(&self, kind: Kind, seq: u16) -> InFlight {
        self.world.network[self.place(kind, seq)]
    }

    /// One answer was lost, so FIN waits for the quiet time.
    pub(super) fn lose_nothing_until_quiet(&mut self) {
        assert_eq!(self.send_all(), []);
        self.wait();
    }
}

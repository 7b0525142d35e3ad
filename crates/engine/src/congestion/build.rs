//! From the experiment to detectors and endpoints.

use std::sync::Arc;

use fabricsim_fabric::congestion::{
    Detection, Detector, Red, RedRule, Starvation, Threshold, ThresholdRule, fill,
};
use fabricsim_fabric::{Sender, Switch};
use fabricsim_protocols::pacing::{
    AnyPacer, DcqcnRules, DcqcnSource, Destination, FeedbackMode, HpccRules, HpccSource, InfiniBandRules,
    InfiniBandSource, NsccRules, NsccSource, SwiftRules, SwiftSource,
};
use fabricsim_routing::Router;
use fabricsim_spec::{
    CongestionAlgorithm, ControlPer, Dcqcn, Experiment, InfiniBandCongestion, NotifyBy, Nscc, PortCongestion,
    ThresholdOn, VictimMask,
};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_workload::StreamInfo;

use super::ports;
use crate::adapter::{Pacing, PacingRules};
use crate::round_trip::round_trip;

/// The service class of each stream.
pub(crate) fn service_classes(streams: &[StreamInfo]) -> Arc<[u8]> {
    streams.iter().map(|stream| stream.service_class).collect()
}

/// Builder of the parts of an algorithm for switches and hosts.
pub(crate) struct Builder<'a> {
    experiment: &'a Experiment,
    graph: &'a Graph,
    rules: Arc<PacingRules>,
    algorithm: Algorithm<'a>,
    /// Round trip without queues, for algorithms with windows.
    base_rtt: Time,
}

enum Algorithm<'a> {
    InfiniBand(&'a InfiniBandCongestion, Arc<InfiniBandRules>),
    Dcqcn(&'a Dcqcn, Arc<DcqcnRules>),
    Swift(Arc<SwiftRules>),
    Hpcc(Arc<HpccRules>),
    Nscc(&'a Nscc, Arc<NsccRules>),
}

impl<'a> Builder<'a> {
    /// `None` without congestion control.
    pub(crate) fn new(
        experiment: &'a Experiment,
        graph: &'a Graph,
        router: &Router,
        streams: &[StreamInfo],
    ) -> Option<Self> {
        let control = &experiment.congestion_control;
        let base_rtt = match control.base_rtt {
            Some(given) => given,
            None if control.algorithm.has_windows() => round_trip(experiment, graph, router),
            None => Time::ZERO,
        };
        let mtu = experiment.host.mtu.0 as u32;
        let algorithm = match control.algorithm {
            CongestionAlgorithm::None => return None,
            CongestionAlgorithm::Infiniband => {
                let spec = &control.infiniband;
                Algorithm::InfiniBand(spec, Arc::new(InfiniBandRules::new(spec)))
            }
            CongestionAlgorithm::Dcqcn => {
                Algorithm::Dcqcn(&control.dcqcn, Arc::new(DcqcnRules::new(&control.dcqcn)))
            }
            CongestionAlgorithm::Swift => {
                Algorithm::Swift(Arc::new(SwiftRules::new(&control.swift, base_rtt, mtu)))
            }
            CongestionAlgorithm::Hpcc => Algorithm::Hpcc(Arc::new(HpccRules::new(&control.hpcc, base_rtt))),
            CongestionAlgorithm::Nscc => {
                Algorithm::Nscc(&control.nscc, Arc::new(NsccRules::new(&control.nscc, base_rtt, mtu)))
            }
        };
        let notification = &control.notification;
        let rules = PacingRules {
            feedback_mode: feedback_mode(experiment),
            bytes: notification.size.0 as u32,
            service_class: notification.service_class,
            first: notification.first,
            delay: notification.delay,
            control: match control.algorithm {
                CongestionAlgorithm::Infiniband => control.infiniband.control,
                _ => ControlPer::QueuePair,
            },
            timeout: experiment.transport.timeout,
            classes: streams.iter().map(|stream| stream.service_class).collect(),
        };
        Some(Self { experiment, graph, rules: Arc::new(rules), algorithm, base_rtt })
    }

    /// Returns the switch with the features that the algorithm needs: a congestion detector, telemetry, or none.
    pub(crate) fn equip(&self, switch: Switch, outputs: &[Sender]) -> Switch {
        match &self.algorithm {
            Algorithm::Swift(_) => switch,
            Algorithm::Hpcc(_) => switch.with_telemetry(),
            Algorithm::InfiniBand(..) | Algorithm::Dcqcn(..) | Algorithm::Nscc(..) => {
                switch.with_detector(self.detector(outputs))
            }
        }
    }

    /// Returns the congestion detector of a switch with these outputs.
    fn detector(&self, outputs: &[Sender]) -> Detector {
        let lanes = usize::from(self.experiment.switch.virtual_lanes);
        let red = |rule| Detector::new(outputs.len(), lanes, Detection::Red(Red::new(rule)));
        match &self.algorithm {
            Algorithm::InfiniBand(spec, _) => self.thresholds(spec, outputs, lanes),
            Algorithm::Dcqcn(Dcqcn { k_min, k_max, p_max, .. }, _) => {
                red(RedRule { k_min: self.blocks(k_min.0), k_max: self.blocks(k_max.0), p_max: *p_max })
            }
            Algorithm::Nscc(spec, _) => {
                let bytes =
                    outputs.iter().map(|output| self.line(output) * self.base_rtt.0 as f64 * 1e-6 / 8.0);
                let product = bytes.fold(f64::INFINITY, f64::min);
                let of = |given: Option<Bytes>, part: f64| {
                    self.blocks(given.map_or((part * product) as u64, |bytes| bytes.0)).max(1)
                };
                let (k_min, k_max) = (of(spec.k_min, 0.2), of(spec.k_max, 0.8));
                red(RedRule { k_min, k_max: k_max.max(k_min), p_max: 1.0 })
            }
            Algorithm::Swift(_) | Algorithm::Hpcc(_) => unreachable!("these mark nothing"),
        }
    }

    fn blocks(&self, bytes: u64) -> u32 {
        (bytes / self.experiment.switch.flow_control_unit.0).min(u64::from(u32::MAX)) as u32
    }

    /// Rate of a link, Mb/s.
    fn line(&self, sender: &Sender) -> f64 {
        let rate = self.graph.links[(sender.channel / 2) as usize].parameters.rate;
        rate.bits_per_second() as f64 * 1e-6
    }

    fn thresholds(&self, spec: &InfiniBandCongestion, outputs: &[Sender], lanes: usize) -> Detector {
        // A switch's input buffers belong to the links whose other direction its outputs send on.
        let buffers: Vec<u32> = outputs.iter().map(|output| self.buffer(output.channel)).collect();
        let largest = buffers.iter().copied().max().unwrap_or_default();
        let mut rules = Vec::new();
        for output in outputs {
            let names = ports::names(self.graph, output.channel);
            for lane in 0..lanes as u8 {
                let settings = Settings::of(spec, &names, lane, self.leads_to_host(output.channel));
                match spec.threshold_on {
                    ThresholdOn::Output => rules.push(Threshold::new(settings.rule(largest))),
                    ThresholdOn::Buffer => {
                        rules.extend(buffers.iter().map(|&buffer| Threshold::new(settings.rule(buffer))));
                    }
                }
            }
        }
        let detection = match spec.threshold_on {
            ThresholdOn::Output => Detection::Output(rules),
            ThresholdOn::Buffer => Detection::Buffer(rules),
        };
        let detector = Detector::new(outputs.len(), lanes, detection);
        let threshold = spec.credit_starvation_threshold;
        if threshold == 0 || spec.credit_starvation_return_delay.multiplier == 0 {
            return detector;
        }
        let from = buffers.iter().flat_map(|&buffer| vec![fill(buffer, threshold); lanes]).collect();
        detector.with_starvation(Starvation::new(from, spec.credit_starvation_return_delay))
    }

    /// Blocks of a lane's buffer at the ends of a link.
    fn buffer(&self, channel: u32) -> u32 {
        let unit = self.experiment.switch.flow_control_unit.0;
        let buffer = self.graph.links[(channel / 2) as usize].parameters.buffer.0;
        (buffer / unit).min(u64::from(u32::MAX)) as u32
    }

    fn leads_to_host(&self, channel: u32) -> bool {
        let link = &self.graph.links[(channel / 2) as usize];
        let far = if channel.is_multiple_of(2) { link.b } else { link.a };
        matches!(far.node, Node::Host(_))
    }

    /// Returns the pacing of a host.
    pub(crate) fn pacing(&self, host: HostId, sender: &Sender) -> Pacing {
        let line = self.line(sender);
        let pacer = match &self.algorithm {
            Algorithm::InfiniBand(_, rules) => {
                let mtu_time = sender.byte_time.duration(self.experiment.host.mtu.0 as u32);
                AnyPacer::InfiniBand(InfiniBandSource::new(Arc::clone(rules), mtu_time))
            }
            Algorithm::Dcqcn(_, rules) => AnyPacer::Dcqcn(DcqcnSource::new(Arc::clone(rules), line)),
            Algorithm::Swift(rules) => AnyPacer::Swift(SwiftSource::new(Arc::clone(rules), line)),
            Algorithm::Hpcc(rules) => AnyPacer::Hpcc(HpccSource::new(Arc::clone(rules), line)),
            Algorithm::Nscc(_, rules) => AnyPacer::Nscc(NsccSource::new(Arc::clone(rules), line)),
        };
        Pacing::new(host, pacer, Destination::new(self.rules.feedback_mode), Arc::clone(&self.rules))
    }
}

/// Returns the feedback of destinations.
fn feedback_mode(experiment: &Experiment) -> FeedbackMode {
    let control = &experiment.congestion_control;
    if control.algorithm.has_windows() {
        return FeedbackMode::Packets {
            every: u32::from(control.notification.every),
            timeout: control.notification.timeout,
        };
    }
    match control.notification.by {
        NotifyBy::Acknowledgement => FeedbackMode::Messages,
        NotifyBy::Cnp if control.algorithm == CongestionAlgorithm::Dcqcn => {
            FeedbackMode::Marks { interval: control.dcqcn.cnp_interval }
        }
        NotifyBy::Cnp => FeedbackMode::Marks { interval: Time::ZERO },
    }
}

/// The parameters of an output's lane, exceptions included.
struct Settings {
    threshold: u8,
    reset: u8,
    unmarked: u16,
    packet_size: u32,
    victim_mask: bool,
}

impl Settings {
    fn of(spec: &InfiniBandCongestion, port: &[impl AsRef<str>], lane: u8, to_host: bool) -> Self {
        let masked = match spec.victim_mask {
            VictimMask::Hosts => to_host,
            VictimMask::None => false,
            VictimMask::All => true,
        };
        let mut all = PortCongestion {
            threshold: Some(spec.threshold),
            reset_threshold: spec.reset_threshold,
            marking_rate: Some(spec.marking_rate),
            packet_size: Some(spec.packet_size),
            victim_mask: Some(masked),
            ..PortCongestion::default()
        };
        for exception in spec.ports.iter().filter(|exception| ports::is_about(exception, port, lane)) {
            if exception.threshold.is_some() {
                (all.threshold, all.reset_threshold) = (exception.threshold, None);
            }
            all.reset_threshold = exception.reset_threshold.or(all.reset_threshold);
            all.marking_rate = exception.marking_rate.or(all.marking_rate);
            all.packet_size = exception.packet_size.or(all.packet_size);
            all.victim_mask = exception.victim_mask.or(all.victim_mask);
        }
        let threshold = all.threshold.unwrap_or(spec.threshold);
        Self {
            threshold,
            reset: all.reset_threshold.unwrap_or(threshold + 1),
            unmarked: spec.marking_rate_counts.unmarked(all.marking_rate.unwrap_or(spec.marking_rate)),
            packet_size: u32::from(all.packet_size.unwrap_or(spec.packet_size)),
            victim_mask: all.victim_mask.unwrap_or(masked),
        }
    }

    /// Returns the threshold rule for a buffer of `buffer` blocks.
    fn rule(&self, buffer: u32) -> ThresholdRule {
        ThresholdRule {
            enter: (self.threshold > 0).then(|| fill(buffer, self.threshold)),
            leave: fill(buffer, self.reset),
            unmarked: self.unmarked,
            packet_size: self.packet_size,
            victim_mask: self.victim_mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_spec::MarkingRateCounts;

    use super::*;

    fn spec() -> InfiniBandCongestion {
        InfiniBandCongestion {
            threshold: 2,
            reset_threshold: Some(3),
            marking_rate: 7,
            ports: vec![
                PortCongestion {
                    ports: vec!["SW1*->*".to_owned()],
                    threshold: Some(8),
                    ..PortCongestion::default()
                },
                PortCongestion {
                    ports: vec!["SW11->SW12".to_owned()],
                    lanes: Some(vec![1]),
                    marking_rate: Some(9),
                    victim_mask: Some(true),
                    ..PortCongestion::default()
                },
            ],
            ..InfiniBandCongestion::default()
        }
    }

    fn rule(port: &str, lane: u8, to_host: bool) -> ThresholdRule {
        Settings::of(&spec(), &[port], lane, to_host).rule(1000)
    }

    #[test]
    fn exceptions_replace_what_they_name() {
        let usual =
            ThresholdRule { enter: Some(875), leave: 812, unmarked: 7, packet_size: 1, victim_mask: false };
        assert_eq!(rule("SW21->SW22", 0, false), usual);
        assert_eq!(rule("SW21->H211", 0, true), ThresholdRule { victim_mask: true, ..usual });
        let first = ThresholdRule { enter: Some(500), leave: 437, ..usual };
        assert_eq!(rule("SW11->SW12", 0, false), first);
        let second = ThresholdRule { unmarked: 9, victim_mask: true, ..first };
        assert_eq!(rule("SW11->SW12", 1, false), second);
    }

    #[test]
    fn the_marking_rate_counts_in_two_ways() {
        let unmarked = |counts, marking_rate| {
            let spec = InfiniBandCongestion { marking_rate_counts: counts, marking_rate, ..spec() };
            Settings::of(&spec, &["A->B"], 0, false).rule(1000).unmarked
        };
        assert_eq!([0, 1, 10].map(|rate| unmarked(MarkingRateCounts::Between, rate)), [0, 1, 10]);
        assert_eq!([0, 1, 10].map(|rate| unmarked(MarkingRateCounts::FromMarkToMark, rate)), [0, 0, 9]);
    }

    #[test]
    fn threshold_zero_never_begins() {
        let spec = InfiniBandCongestion { threshold: 0, ..InfiniBandCongestion::default() };
        assert_eq!(Settings::of(&spec, &["A->B"], 0, false).rule(1000).enter, None);
    }
}

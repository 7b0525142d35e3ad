//! Warnings about settings that are allowed and change nothing.

use fabricsim_units::Time;

use crate::Algorithm::{self, Auto, Dal, Par, Par62, Piggyback, UgalG, UgalL, UpDownAdaptive};
use crate::{
    CongestionAlgorithm, Drain, Experiment, FlowControlBy, InfiniBandCongestion, Load, OrderingMode,
    OutOfOrder, Pause, Queueing, Staging, Switch, Transport, name,
};

/// Algorithms that choose by load.
const BY_LOAD: [Algorithm; 7] = [UpDownAdaptive, UgalL, UgalG, Piggyback, Par, Par62, Dal];

/// A text for each setting that changes nothing, and for each entry of the traffic list that sends nothing.
pub(super) fn warnings(experiment: &Experiment) -> Vec<String> {
    let of_sections = [
        load(experiment),
        switch(&experiment.switch),
        transport(experiment),
        congestion(experiment),
        queue_pairs(experiment),
        adapter(experiment),
    ];
    of_sections.into_iter().flatten().chain(silent(experiment)).chain(late_failures(experiment)).collect()
}

fn load(experiment: &Experiment) -> Option<String> {
    let routing = &experiment.routing;
    if routing.load == Load::default() || BY_LOAD.contains(&routing.algorithm) {
        return None;
    }
    // No topology has one of these by default.
    let of = if routing.algorithm == Auto {
        "default algorithm".to_owned()
    } else {
        format!("algorithm `{}`", name(&routing.algorithm))
    };
    Some(format!("routing.load has no effect: the {of} does not choose by load"))
}

fn switch(switch: &Switch) -> Option<String> {
    let default = Switch::default();
    if switch.staging != Staging::default() && switch.queueing != Queueing::Cioq {
        return Some(format!(
            "switch.staging has no effect: staging buffers are those of `queueing = \"cioq\"`, and it is `{}`",
            name(&switch.queueing)
        ));
    }
    if switch.pause != Pause::default() && switch.flow_control != FlowControlBy::Pause {
        return Some(
            "switch.pause has no effect: its thresholds are those of `flow_control = \"pause\"`".to_owned(),
        );
    }
    if switch.flow_control == FlowControlBy::Packets {
        return None;
    }
    let keys = [
        ("flow_control_period", switch.flow_control_period != default.flow_control_period),
        ("retraining_time", switch.retraining_time != default.retraining_time),
    ];
    let (key, _) = keys.into_iter().find(|(_, is_given)| *is_given)?;
    Some(format!("switch.{key} has no effect: it is that of `flow_control = \"packets\"`"))
}

fn transport(experiment: &Experiment) -> Option<String> {
    let spec = &experiment.transport;
    let is_used = spec.mode != OrderingMode::None
        || experiment.traffic.iter().any(|of| of.ordering.is_some_and(|mode| mode != OrderingMode::None));
    // Windows of congestion control count packets as lost by its time-out.
    let has_windows = experiment.congestion_control.algorithm.has_windows();
    let timeout = if has_windows { spec.timeout } else { Transport::default().timeout };
    let but = if has_windows { " but for its `timeout`" } else { "" };
    (!is_used && *spec != Transport { timeout, ..Transport::default() }).then(|| {
        format!(
            "transport has no effect{but}: neither `transport.mode` nor an entry of the traffic list sets a mode"
        )
    })
}

fn congestion(experiment: &Experiment) -> Option<String> {
    let control = &experiment.congestion_control;
    let is_off = control.algorithm == CongestionAlgorithm::None;
    (is_off && control.infiniband != InfiniBandCongestion::default()).then(|| {
        "congestion_control.infiniband has no effect: `congestion_control.algorithm` is `none`".to_owned()
    })
}

fn queue_pairs(experiment: &Experiment) -> Option<String> {
    let spec = experiment.queue_pairs.as_ref()?;
    let is_given = spec.reorder_packets != crate::QueuePairs::default().reorder_packets;
    (is_given && spec.out_of_order == OutOfOrder::Drop).then(|| {
        "queue_pairs.reorder_packets has no effect: with `out_of_order = \"drop\"` packets are not kept"
            .to_owned()
    })
}

fn adapter(experiment: &Experiment) -> Option<String> {
    let adapter = &experiment.adapter;
    (adapter.reorder_packets.is_some() && adapter.out_of_order == OutOfOrder::Drop).then(|| {
        "adapter.reorder_packets has no effect: with `out_of_order = \"drop\"` packets are not kept"
            .to_owned()
    })
}

/// Entries that begin when the run is over, or stop before they begin.
fn silent(experiment: &Experiment) -> impl Iterator<Item = String> + '_ {
    let end = end(experiment);
    experiment.traffic.iter().enumerate().filter_map(move |(number, entry)| {
        let key = if entry.name.is_empty() { number.to_string() } else { entry.name.clone() };
        let begin = entry.start;
        if begin >= end {
            return Some(format!(
                "traffic.{key} sends nothing: it starts at {begin}, and the measurement ends at {end} (run.warmup and run.duration)"
            ));
        }
        let stop = entry.stop.filter(|&stop| stop <= begin)?;
        Some(format!("traffic.{key} sends nothing: it stops at {stop}, and starts at {begin}"))
    })
}

fn late_failures(experiment: &Experiment) -> impl Iterator<Item = String> + '_ {
    let end = end(experiment);
    // While packets drain a failure has an effect, and a steady state may be found later.
    let ends = experiment.run.drain == Drain::None && experiment.run.steady_state.is_none();
    let late = experiment.faults.plan.iter().enumerate().filter(move |(_, fault)| ends && fault.at >= end);
    late.map(move |(number, fault)| {
        format!(
            "faults.plan.{number} has no effect: it begins at {}, and the measurement ends at {end} (run.warmup and run.duration)",
            fault.at
        )
    })
}

/// Latest end of the run.
fn end(experiment: &Experiment) -> Time {
    experiment.run.warmup.saturating_add(experiment.run.duration)
}

#[cfg(test)]
mod tests {
    use crate::{read, warnings};

    /// A key, a value, the warning, and settings that give it an effect.
    type Case<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)]);

    const BASE: &str = "topology.mesh.dimensions = [3, 3]\n\
        traffic = [{ name = 'a', pattern = 'uniform', load = 0.3, message = '2 KiB' }]\n\
        run = { warmup = '1 us', duration = '5 us' }\n";

    fn of(overrides: &[(&str, &str)]) -> Vec<String> {
        let overrides: Vec<_> =
            overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        warnings(&read(BASE, "e.toml", &overrides).unwrap())
    }

    #[test]
    fn each_setting_without_effect_is_named_and_not_where_it_has_one() {
        let fat = ("topology", "{ fat-tree = { arity = 2, levels = 2 } }");
        let adaptive = ("routing.algorithm", "'up-down-adaptive'");
        let packets = ("switch.flow_control", "'packets'");
        let pause = [("switch.flow_control", "'pause'")];
        let cases: [Case; 9] = [
            ("switch.pause.xoff", "'8 KiB'", "switch.pause has no effect", &pause),
            ("routing.load", "'credits'", "routing.load has no effect: the default", &[fat, adaptive]),
            (
                "switch.staging.buffer",
                "'8 KiB'",
                "`queueing = \"cioq\"`, and it is `voq`",
                &[("switch.queueing", "'cioq'")],
            ),
            ("switch.flow_control_period", "'1 us'", "switch.flow_control_period has no", &[packets]),
            ("switch.retraining_time", "'2 ms'", "switch.retraining_time has no", &[packets]),
            (
                "transport.timeout",
                "'7 us'",
                "transport has no effect",
                &[("traffic.0.ordering", "'ordered'")],
            ),
            (
                "congestion_control.infiniband.threshold",
                "3",
                "congestion_control.infiniband has no",
                &[("congestion_control.algorithm", "'infiniband'")],
            ),
            (
                "traffic.0.start",
                "'6 us'",
                "traffic.a sends nothing: it starts at 6 us",
                &[("run.duration", "'6 us'")],
            ),
            ("traffic.0.stop", "'0 ns'", "it stops at 0", &[("traffic.0.stop", "'1 ns'")]),
        ];
        for (key, value, text, others) in cases {
            let found = of(&[(key, value)]);
            assert!(found.len() == 1 && found[0].contains(text), "{key}: {found:?}");
            assert_eq!(of(&[&[(key, value)], others].concat()), Vec::<String>::new(), "{key}");
        }
        let swift = ("congestion_control.algorithm", "'swift'");
        assert_eq!(of(&[swift, ("transport.timeout", "'7 us'")]), Vec::<String>::new());
        let found = of(&[swift, ("transport.timeout", "'7 us'"), ("transport.streams", "8")]);
        assert!(found.len() == 1 && found[0].contains("no effect but for its `timeout`"), "{found:?}");
        let ahead = [("adapter.reorder_packets", "16")];
        assert!(of(&ahead)[0].contains("adapter.reorder_packets has no effect"));
        assert_eq!(of(&[ahead[0], ("adapter.out_of_order", "'hold'")]), Vec::<String>::new());
        let drop = [("queue_pairs.reorder_packets", "16"), ("queue_pairs.out_of_order", "'drop'")];
        assert!(of(&drop)[0].contains("queue_pairs.reorder_packets has no effect"));
        assert_eq!(of(&[drop[0], ("queue_pairs.out_of_order", "'hold'")]), Vec::<String>::new());
        assert_eq!(of(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_failure_behind_the_end_is_named_unless_packets_drain() {
        let plan = |at: &str| format!("[{{ link = 'S(0,0)-S(1,0)', at = '{at}' }}]");
        let (late, early) = (plan("6 us"), plan("5999 ns"));
        let found = of(&[("faults.plan", &late)]);
        assert_eq!(
            found,
            [
                "faults.plan.0 has no effect: it begins at 6 us, and the measurement ends at 6 us (run.warmup and run.duration)"
            ]
        );
        assert_eq!(of(&[("faults.plan", &early)]), Vec::<String>::new());
        assert_eq!(of(&[("faults.plan", &late), ("run.drain", "'empty'")]), Vec::<String>::new());
    }
}

//! Arbitrary traffic lists: right ones run, wrong ones are refused by key, none panics.

use fabricsim_spec::{
    DrawPer, HotSpot, Injection, MessageSize, Pattern, Response, SelfFlows, SizeDistribution, Traffic,
    WeightedSize,
};
use fabricsim_units::{Bytes, Rate, Time};
use proptest::option::of;
use proptest::prelude::*;

use crate::testing::{experiment, grid, hosts};
use crate::{Workload, build};

fn any_list() -> impl Strategy<Value = Vec<String>> {
    let item =
        prop_oneof![4 => Just("*".to_owned()), 2 => "H[0-7]", 1 => Just("g".to_owned()), 1 => "[gH*9]{0,2}"];
    prop::collection::vec(item, 0..5)
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    let plain = [
        Pattern::Uniform,
        Pattern::UniformWithSelf,
        Pattern::Transpose,
        Pattern::BitComplement,
        Pattern::BitReverse,
        Pattern::BitShuffle,
        Pattern::Tornado,
        Pattern::Neighbour,
        Pattern::RandomPermutation,
    ];
    let fraction = prop_oneof![3 => 0.0..=1.0, 1 => any::<f64>()];
    prop_oneof![
        4 => prop::sample::select(plain.to_vec()),
        1 => any_list().prop_map(Pattern::Permutation),
        1 => "H[0-9]".prop_map(Pattern::To),
        2 => (any_list(), fraction).prop_map(|(hosts, fraction)| Pattern::HotSpot(HotSpot { hosts, fraction })),
    ]
}

/// Any number, small ones often.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..5000_u64, 4 => 0..10_000_000_u64, 1 => any::<u64>()]
}

fn any_size() -> impl Strategy<Value = MessageSize> {
    let bytes = || any_number().prop_map(Bytes);
    let weight = prop_oneof![4 => 0.0..10.0, 1 => any::<f64>()];
    let weighted = (bytes(), weight).prop_map(|(size, weight)| WeightedSize { size, weight });
    let drawn = prop_oneof![
        (bytes(), bytes()).prop_map(|(min, max)| SizeDistribution::Uniform { min, max }),
        (bytes(), bytes()).prop_map(|(mean, max)| SizeDistribution::Exponential { mean, max }),
        prop::collection::vec(weighted, 0..4).prop_map(SizeDistribution::Choice),
    ];
    prop_oneof![bytes().prop_map(MessageSize::Fixed), drawn.prop_map(MessageSize::Drawn)]
}

fn any_load() -> impl Strategy<Value = (Option<f64>, Option<Rate>)> {
    let load = || prop_oneof![4 => 0.0..1.0, 2 => 0.0..20.0, 1 => any::<f64>()];
    let rate = || any_number().prop_filter_map("a rate", |n| Rate::new(n.saturating_mul(100_000)));
    prop_oneof![
        3 => load().prop_map(|load| (Some(load), None)),
        2 => rate().prop_map(|rate| (None, Some(rate))),
        1 => (of(load()), of(rate())),
    ]
}

prop_compose! {
    fn any_traffic()(
        (sources, destinations) in (any_list(), any_list()),
        (pattern, message, (load, rate)) in (any_pattern(), any_size(), any_load()),
        (per_packet, own, consistent) in (any::<bool>(), any::<bool>(), prop::bool::weighted(0.7)),
        injection in prop::sample::select(vec![
            Injection::Bernoulli, Injection::Poisson, Injection::Constant, Injection::Saturating, Injection::OnOff,
            Injection::Window,
        ]),
        (window, response) in (prop::option::weighted(0.3, any_number()), of(any_size())),
        times in prop::array::uniform5(prop::option::weighted(0.3, any_number().prop_map(Time))),
        messages in prop::option::weighted(0.2, any_number()),
    ) -> Traffic {
        let [slot, on, off, start, stop] = times;
        let draw_per = if per_packet { DrawPer::Packet } else { DrawPer::Message };
        let self_flows = if own { SelfFlows::Send } else { SelfFlows::Skip };
        let traffic = Traffic {
            name: String::new(), sources, destinations, pattern, self_flows, draw_per, injection, load, rate, slot, on, off,
            message, start: start.unwrap_or_default(), stop, messages, service_class: 0,
            partition: None,
            window: window.map(|n| n.min(u64::from(u32::MAX)) as u32),
            response: response.map(|message| Response { message, service_class: 0, delay: Time::ZERO }),
            ordering: None, packet_load: None,
        };
        if consistent { made_consistent(traffic) } else { traffic }
    }
}

/// Without the keys that contradict each other; values may be out of range still.
fn made_consistent(mut traffic: Traffic) -> Traffic {
    let all = || vec!["*".to_owned()];
    if traffic.sources.is_empty() {
        traffic.sources = all();
    }
    if matches!(traffic.pattern, Pattern::RandomPermutation | Pattern::GroupOffset(_)) {
        traffic.self_flows = SelfFlows::Skip;
    }
    if !matches!(traffic.pattern, Pattern::Uniform | Pattern::UniformWithSelf | Pattern::HotSpot(_)) {
        traffic.destinations = all();
    }
    if let MessageSize::Drawn(SizeDistribution::Uniform { min, max }) = &mut traffic.message {
        (*min, *max) = (*min.min(max), *min.max(max));
    }
    if traffic.stop.is_some_and(|stop| stop <= traffic.start) {
        traffic.stop = None;
    }
    let injection = traffic.injection;
    traffic.slot = traffic.slot.filter(|_| injection == Injection::Bernoulli);
    traffic.on = (injection == Injection::OnOff).then_some(traffic.on.unwrap_or(Time::us(10)));
    traffic.off = traffic.off.filter(|_| injection == Injection::OnOff);
    traffic.window = traffic.window.filter(|_| injection == Injection::Window);
    if injection == Injection::Saturating || injection == Injection::Window || traffic.off.is_some() {
        (traffic.load, traffic.rate) = (None, None);
    } else if traffic.rate.is_none() {
        traffic.load = Some(traffic.load.unwrap_or(0.5));
    } else {
        traffic.load = None;
    }
    traffic
}

/// Runs every source for some messages, then finishes it.
fn run(mut workload: Workload) -> Result<(), TestCaseError> {
    for source in &mut workload.sources {
        let mut now = Time::ZERO;
        for _ in 0..10 {
            let Some(next) = source.next(now) else { break };
            now = now.max(next);
            let message = source.take(now);
            prop_assert!(message.created <= now && message.bytes > 0);
            prop_assert!(message.destination.index() < 8);
            if source.draws_per_packet(message.stream) {
                prop_assert!(source.destination(message.stream).index() < 8);
            }
        }
        prop_assert!(source.nominal_load() >= 0.0);
        source.set_window(Time::ZERO, now);
        let mut last = Time::ZERO;
        let mut in_order = true;
        source.finish(now.saturating_add(Time(100)), |message| {
            in_order &= message.created >= last;
            last = message.created;
        });
        prop_assert!(in_order);
        prop_assert_eq!(source.offered().map(|(_, bytes)| bytes).sum::<u64>(), source.offered_bytes());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn no_traffic_panics(traffic in prop::collection::vec(any_traffic(), 1..3), on_grid in any::<bool>()) {
        let mut experiment = experiment("[groups]\ng = ['H1', 'H2']");
        experiment.traffic = traffic;
        let hosts = if on_grid { grid(&[2, 2], 2) } else { hosts(8) };
        if fabricsim_spec::check(&experiment, "any.toml").is_err() {
            return Ok(());
        }
        match build(&experiment, &hosts, "any.toml") {
            Ok(workload) => run(workload)?,
            Err(error) => prop_assert!(error.to_string().starts_with("any.toml: traffic."), "{}", error),
        }
    }
}

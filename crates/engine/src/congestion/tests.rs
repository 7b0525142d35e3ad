use fabricsim_model::NullObserver;

use crate::testing::prepare;

/// Three hosts at a switch, one of them by a slower link.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 3
[links.all]
rate = "80 Gb/s"
latency = "100 ns"
buffer = "4 KiB"
[links.named."S0-H2"]
rate = "8 Gb/s"
buffer = "2 KiB"
[switch]
virtual_lanes = 2
flow_control_unit = "16 B"
[host]
mtu = "1000 B"
[congestion_control]
algorithm = "nscc"
base_rtt = "10 us"
[run]
duration = "1 ms"
"#;

/// The congestion detector of the switch.
fn detector(overrides: &[(&str, &str)]) -> String {
    let prepared = prepare(FABRIC, overrides);
    let engine = prepared.engine(|| NullObserver);
    format!("{:?}", engine.partitions[0].switches[0].detector().expect("it has one"))
}

/// Marking begins at 20 % and ends at 80 % of the bandwidth-delay product of the slowest output: 1 B/ns for 10 us are 10 000 B.
#[test]
fn marks_of_nscc_begin_at_a_part_of_the_bandwidth_delay_product() {
    let (min, max) = ("congestion_control.nscc.k_min", "congestion_control.nscc.k_max");
    let by_itself = detector(&[]);
    assert_eq!(by_itself, detector(&[(min, "2000 B"), (max, "8000 B")]));
    assert_ne!(by_itself, detector(&[(min, "1984 B"), (max, "8000 B")]));
    assert_ne!(by_itself, detector(&[(min, "2000 B"), (max, "8016 B")]));
    // Not below a block, and the end not before the begin.
    assert_eq!(detector(&[(min, "15 B")]), detector(&[(min, "16 B"), (max, "8000 B")]));
    assert_eq!(detector(&[(min, "9000 B")]), detector(&[(min, "9000 B"), (max, "9000 B")]));
}

/// DCQCN notifies at most once in an interval, InfiniBand of every marked packet, if there are notifications.
#[test]
fn notifications_have_the_interval_of_dcqcn() {
    let feedback = |algorithm: &str, by: &str| {
        let overrides = [
            ("congestion_control.algorithm", algorithm),
            ("congestion_control.notification.by", by),
            ("congestion_control.dcqcn.cnp_interval", "7 us"),
        ];
        let engine = prepare(FABRIC, &overrides).engine(|| NullObserver);
        let pacing = format!("{:?}", engine.partitions[0].adapters[0].chain.pacing);
        let mode = pacing.split("feedback_mode: ").nth(1).expect("pacing has a mode").to_owned();
        mode.split(", sources").next().unwrap().to_owned()
    };
    let seven = format!("Marks {{ interval: {:?} }}", fabricsim_units::Time::us(7));
    assert_eq!(feedback("dcqcn", "cnp"), seven);
    assert_eq!(
        feedback("infiniband", "cnp"),
        format!("Marks {{ interval: {:?} }}", fabricsim_units::Time::ZERO)
    );
    assert_eq!(feedback("infiniband", "acknowledgement"), "Messages");
}

/// Without a threshold, or without a delay, credits are never late.
#[test]
fn credits_are_late_with_a_threshold_and_a_delay() {
    let infiniband = |threshold: &str, delay: &str| {
        let found = detector(&[
            ("congestion_control.algorithm", "infiniband"),
            ("congestion_control.infiniband.credit_starvation_threshold", threshold),
            ("congestion_control.infiniband.credit_starvation_return_delay", delay),
        ]);
        !found.contains("starvation: None")
    };
    assert_eq!(
        [("8", "1:3"), ("0", "1:3"), ("8", "0:0"), ("0", "0:0")].map(|(w, delay)| infiniband(w, delay)),
        [true, false, false, false]
    );
}

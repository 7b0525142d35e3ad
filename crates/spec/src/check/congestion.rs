//! Service classes, and values of congestion control that the specification does not allow.

use super::Found;
use crate::{
    Allocation, Cct, CongestionAlgorithm, CongestionControl, Dcqcn, Experiment, InfiniBandCongestion,
    MOST_ENTRIES, PortCongestion, Switch,
};

const RESET: &str = "congestion_control.infiniband.reset_threshold";
const CCT: &str = "congestion_control.infiniband.cct";
pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    classes(experiment)?;
    notification(experiment)?;
    let CongestionControl { infiniband, dcqcn, .. } = &experiment.congestion_control;
    switch_side(infiniband)?;
    source_side(infiniband)?;
    self::dcqcn(dcqcn)?;
    super::windows::check(&experiment.congestion_control)
}

/// A warning about a table of delays that does not grow.
pub(super) fn warnings(experiment: &Experiment) -> Vec<String> {
    let mut warnings = Vec::new();
    let table = experiment.congestion_control.infiniband.cct.table();
    let delays: Vec<f64> = table.iter().map(|entry| entry.packet_times()).collect();
    if let Some(at) = delays.windows(2).position(|pair| pair[1] < pair[0]) {
        warnings.push(format!(
            "{CCT}: the delay at index {} ({} packet times) is less than that at index {at} ({}): more notifications \
             can make a source faster",
            at + 1,
            delays[at + 1],
            delays[at]
        ));
    }
    warnings.extend(super::switch::warning(&experiment.switch));
    warnings
}

fn fail<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Found> {
    Err((key.into(), message.into()))
}

fn classes(experiment: &Experiment) -> Result<(), Found> {
    let Switch { virtual_lanes, service_classes, priority_classes, .. } = &experiment.switch;
    let (lanes, classes) = (*virtual_lanes, *service_classes);
    if classes == 0 || lanes % classes != 0 {
        let message = format!(
            "{classes} is not allowed: {lanes} virtual lanes must be divided into equal groups, one or more lanes each"
        );
        return fail("switch.service_classes", message);
    }
    let levels = experiment.service_levels();
    let classes = levels.unwrap_or(classes);
    let in_range = |key: String, class: u8| {
        if class < classes {
            return Ok(());
        }
        let what = if levels.is_some() { "service levels" } else { "service classes" };
        let message = format!("{class} is not allowed: {what} are 0 to {}", classes - 1);
        fail(key, message)
    };
    if !priority_classes.is_empty() && experiment.switch.allocation == Allocation::Separable {
        return fail(
            "switch.priority_classes",
            "`allocation = \"separable\"` has no priorities: use `maximal`",
        );
    }
    for (i, &class) in priority_classes.iter().enumerate() {
        in_range(format!("switch.priority_classes.{i}"), class)?;
    }
    for (i, traffic) in experiment.traffic.iter().enumerate() {
        in_range(format!("traffic.{i}.service_class"), traffic.service_class)?;
        if let Some(response) = &traffic.response {
            in_range(format!("traffic.{i}.response.service_class"), response.service_class)?;
        }
    }
    for (i, job) in experiment.jobs.iter().enumerate() {
        in_range(format!("jobs.{i}.service_class"), job.service_class)?;
    }
    let class = experiment.congestion_control.notification.service_class;
    in_range("congestion_control.notification.service_class".to_owned(), class)
}

fn notification(experiment: &Experiment) -> Result<(), Found> {
    let CongestionControl { algorithm, notification, .. } = &experiment.congestion_control;
    if *algorithm == CongestionAlgorithm::None {
        return Ok(());
    }
    let (size, mtu) = (notification.size, experiment.host.mtu);
    if size > mtu {
        let message = format!("{size} is not allowed: give at least 1 B and at most the MTU of {mtu}");
        return fail("congestion_control.notification.size", message);
    }
    Ok(())
}

fn switch_side(infiniband: &InfiniBandCongestion) -> Result<(), Found> {
    thresholds(infiniband.threshold, infiniband.reset_threshold, RESET)?;
    for (i, port) in infiniband.ports.iter().enumerate() {
        let PortCongestion { threshold, reset_threshold, .. } = port;
        let key = |name: &str| format!("congestion_control.infiniband.ports.{i}.{name}");
        let threshold = threshold.unwrap_or(infiniband.threshold);
        let reset = reset_threshold.or(infiniband.reset_threshold.filter(|_| port.threshold.is_none()));
        thresholds(threshold, reset, &key("reset_threshold"))?;
        if port.ports.is_empty() {
            return fail(key("ports"), "name the ports, for example [\"SW11->SW12\"] or [\"*->H*\"]");
        }
    }
    Ok(())
}

fn thresholds(threshold: u8, reset: Option<u8>, reset_key: &str) -> Result<(), Found> {
    match reset {
        Some(reset) if reset < threshold => {
            let message = format!(
                "{reset} is not allowed: give {threshold} (the threshold) to 16; a larger number is a lower fill"
            );
            fail(reset_key, message)
        }
        _ => Ok(()),
    }
}

fn source_side(infiniband: &InfiniBandCongestion) -> Result<(), Found> {
    entries(&infiniband.cct)?;
    let last = infiniband.cct.table().len() - 1;
    let limit = infiniband.ccti_limit.map_or(last, usize::from);
    if limit > last {
        let message = format!("{limit} is beyond the table, whose last index is {last}: give 0 to {last}");
        return fail("congestion_control.infiniband.ccti_limit", message);
    }
    if usize::from(infiniband.ccti_min) > limit {
        let message = format!("{} is not allowed: give 0 to {limit}, the limit", infiniband.ccti_min);
        return fail("congestion_control.infiniband.ccti_min", message);
    }
    Ok(())
}

fn entries(cct: &Cct) -> Result<(), Found> {
    match cct {
        Cct::Entries(entries) if entries.is_empty() || entries.len() > usize::from(MOST_ENTRIES) => {
            let message = format!(
                "the table has {} entries: give 1 to {MOST_ENTRIES}, for example [\"0:0\", \"3:1\", \"3:2\"]",
                entries.len()
            );
            fail(format!("{CCT}.entries"), message)
        }
        _ => Ok(()),
    }
}

fn dcqcn(dcqcn: &Dcqcn) -> Result<(), Found> {
    if dcqcn.k_max < dcqcn.k_min {
        let message = format!("{} is less than k_min, {}", dcqcn.k_max, dcqcn.k_min);
        return fail("congestion_control.dcqcn.k_max", message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[run]
duration = '1 ms'
";

    fn checked(key: &str, value: &str) -> Result<Vec<String>, String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let experiment = crate::read(SMALL, "e.toml", &overrides).map_err(|e| e.to_string())?;
        let told = |e: crate::SpecError| e.located(SMALL, &overrides).to_string();
        crate::check(&experiment, "e.toml").map_err(told)?;
        Ok(super::warnings(&experiment))
    }

    /// A key, a value that is refused, and a part of the message.
    const REFUSED: [(&str, &str, &str); 23] = [
        (
            "congestion_control.infiniband.threshold",
            "16",
            "threshold: 16 is not allowed: give 0 (marks nothing)",
        ),
        ("congestion_control.infiniband.reset_threshold", "1", "reset_threshold: 1 is not allowed: give 2"),
        ("congestion_control.infiniband.credit_starvation_threshold", "99", "99 is not allowed"),
        ("congestion_control.infiniband.marking_rate", "65536", "a whole number from 0 to 65535"),
        ("congestion_control.infiniband.marking_rate", "-1", "a whole number from 0 to 65535"),
        (
            "congestion_control.infiniband.ccti_limit",
            "128",
            "128 is beyond the table, whose last index is 127",
        ),
        (
            "congestion_control.infiniband",
            "{ ccti_limit = 5, ccti_min = 6 }",
            "ccti_min: 6 is not allowed: give 0 to 5, the limit",
        ),
        (
            "congestion_control.infiniband.ccti_timer",
            "70000",
            "give a whole number of 1.024 us from 0 to 65535",
        ),
        (
            "congestion_control.infiniband.ccti_timer",
            "68 ms",
            "68 ms is not allowed: give at most 67107.84 us",
        ),
        ("congestion_control.infiniband.cct", "{ entries = [] }", "cct.entries: the table has 0 entries"),
        ("congestion_control.infiniband.cct", "{ entries = ['4:1'] }", "`4:1` is no entry"),
        ("congestion_control.infiniband.cct", "{ entries = ['0:16384'] }", "`0:16384` is no entry"),
        ("congestion_control.infiniband.cct", "{ linear = { step = 0.0 } }", "linear.step: 0 is not allowed"),
        (
            "congestion_control.infiniband.ports",
            "[{ ports = ['*'], threshold = 17 }]",
            "infiniband.ports.0.threshold: 17 is not allowed",
        ),
        (
            "congestion_control.infiniband.ports",
            "[{ ports = [] }]",
            "infiniband.ports.0.ports: name the ports",
        ),
        (
            "congestion_control",
            "{ algorithm = 'infiniband', notification.size = '0 B' }",
            "notification.size: 0 B is not allowed",
        ),
        (
            "congestion_control",
            "{ algorithm = 'dcqcn', notification.size = '4 KiB' }",
            "notification.size: 4096 B is not allowed: give at least 1 B and at most the MTU of 2048 B",
        ),
        (
            "congestion_control.notification.service_class",
            "1",
            "1 is not allowed: service classes are 0 to 0",
        ),
        ("congestion_control.dcqcn.g", "0.0", "dcqcn.g: 0 is not allowed"),
        ("congestion_control.dcqcn.k_max", "1 B", "k_max: 1 B is less than k_min"),
        ("congestion_control.algorithm", "infinband", "`infiniband`"),
        ("switch.service_classes", "2", "1 virtual lanes must be divided into equal groups"),
        ("switch.service_classes", "0", "switch.service_classes: 0 is not allowed"),
    ];

    #[test]
    fn what_the_specification_does_not_allow_is_refused() {
        for (key, value, expected) in REFUSED {
            let error = checked(key, value).unwrap_err();
            assert!(error.starts_with("e.toml") && error.contains(expected), "{key} = {value}: {error}");
        }
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed() {
        for (key, value) in [
            ("congestion_control.infiniband.threshold", "15"),
            ("congestion_control.infiniband.threshold", "0"),
            ("congestion_control.infiniband.marking_rate", "65535"),
            ("congestion_control.infiniband.ccti_timer", "0"),
            ("congestion_control.infiniband.ccti_timer", "65535"),
            ("congestion_control.infiniband.ccti_timer", "20 us"),
            ("congestion_control.infiniband.ccti_limit", "127"),
            ("congestion_control.infiniband.cct", "{ entries = ['0:0'] }"),
            ("switch", "{ virtual_lanes = 4, service_classes = 2, priority_classes = [1] }"),
        ] {
            assert_eq!(checked(key, value), Ok(Vec::new()), "{key} = {value}");
        }
    }

    /// `PortInfo.HOQLife` has 4.096 us · 2^n, n 0 to 19.
    #[test]
    fn a_lifetime_that_no_port_has_is_worth_a_warning() {
        for (value, part) in [
            ("1 us", "ports of InfiniBand have 4.096 us times a power of two; the least is 4.096 us"),
            ("20 us", "the nearest are 16.384 us and 32.768 us"),
            ("3 s", "the largest is 2147483.648 us"),
        ] {
            let found = checked("switch.head_of_queue_lifetime", value).unwrap();
            assert!(found.len() == 1 && found[0].contains(part), "{value}: {found:?}");
        }
        for value in ["4096 ns", "16.384 us", "2147483648 ns"] {
            assert_eq!(checked("switch.head_of_queue_lifetime", value), Ok(Vec::new()), "{value}");
        }
    }

    #[test]
    fn a_table_that_falls_is_worth_a_warning() {
        let warnings =
            checked("congestion_control.infiniband.cct", "{ entries = ['0:0', '0:4', '0:3'] }").unwrap();
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("the delay at index 2 (3 packet times) is less than that at index 1 (4)")
        );
        assert_eq!(checked("congestion_control.infiniband.cct", "psm2").unwrap().len(), 1);
    }
}

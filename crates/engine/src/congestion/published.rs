//! Parameters of DCQCN as published, on links of another rate than those that they were published for.

use fabricsim_spec::{CongestionAlgorithm, Dcqcn};
use fabricsim_units::{Bytes, Rate};

use crate::prepare::Prepared;

/// Gb/s of the links of Zhu et al., SIGCOMM 2015, whose parameters are the defaults.
const PUBLISHED_GBPS: u64 = 40;
/// Factor between rates from which on parameters for one are not taken to be meant for the other.
const FAR: u64 = 4;

/// A warning, if thresholds and steps of DCQCN are the defaults and the hosts' links are much faster or slower than those that they are for.
pub fn dcqcn_warning(prepared: &Prepared) -> Option<String> {
    let control = &prepared.experiment.congestion_control;
    if control.algorithm != CongestionAlgorithm::Dcqcn || !is_default(&control.dcqcn) {
        return None;
    }
    let graph = &prepared.graph;
    let published = PUBLISHED_GBPS * 1_000_000_000;
    let is_far = |rate: &u64| *rate > published * FAR || *rate * FAR < published;
    let links = graph.hosts.iter().map(|host| &graph.links[host.link.index()]);
    let rate = links.map(|link| link.parameters.rate.bits_per_second()).find(is_far)?;
    let bytes = |of: Bytes| Bytes((u128::from(of.0) * u128::from(rate) / u128::from(published)) as u64);
    let step = |of: Rate| {
        let scaled = u128::from(of.bits_per_second()) * u128::from(rate) / u128::from(published);
        Rate::new(scaled as u64).unwrap_or(of)
    };
    let Dcqcn { k_min, k_max, byte_counter, additive_increase, hyper_increase, .. } = control.dcqcn;
    Some(format!(
        "congestion_control.dcqcn: the defaults were published for links of {PUBLISHED_GBPS} Gb/s, and hosts have {}; in proportion: \
         k_min = \"{}\", k_max = \"{}\", byte_counter = \"{}\", additive_increase = \"{}\", hyper_increase = \"{}\"",
        Rate::new(rate)?,
        bytes(k_min),
        bytes(k_max),
        bytes(byte_counter),
        step(additive_increase),
        step(hyper_increase),
    ))
}

/// True if what goes with the rate of links is as published.
fn is_default(of: &Dcqcn) -> bool {
    let published = Dcqcn::default();
    (of.k_min, of.k_max, of.byte_counter) == (published.k_min, published.k_max, published.byte_counter)
        && (of.additive_increase, of.hyper_increase)
            == (published.additive_increase, published.hyper_increase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prepare;

    const INCAST: &str = r#"
[topology.mesh]
dimensions = [2]
[links.all]
rate = "400 Gb/s"
[congestion_control]
algorithm = "dcqcn"
[[traffic]]
pattern = "uniform"
load = 0.1
message = "1 KiB"
[run]
duration = "1 us"
"#;

    fn warning(overrides: &[(&str, &str)]) -> Option<String> {
        dcqcn_warning(&prepare(INCAST, overrides))
    }

    #[test]
    fn defaults_are_for_links_of_40_gbps() {
        let found = warning(&[]).unwrap();
        assert!(found.contains("hosts have 400 Gb/s"), "{found}");
        assert!(found.contains("k_min = \"50 kB\", k_max = \"2 MB\", byte_counter = \"100 MB\""), "{found}");
        assert!(found.contains("additive_increase = \"400 Mb/s\", hyper_increase = \"4 Gb/s\""), "{found}");
        for (rate, is_far) in
            [("\"161 Gb/s\"", true), ("\"160 Gb/s\"", false), ("\"10 Gb/s\"", false), ("\"9 Gb/s\"", true)]
        {
            assert_eq!(warning(&[("links.all.rate", rate)]).is_some(), is_far, "{rate}");
        }
    }

    #[test]
    fn parameters_that_were_given_are_meant() {
        for (key, value) in [("k_max", "\"1 MB\""), ("additive_increase", "\"100 Mb/s\"")] {
            assert_eq!(warning(&[(&format!("congestion_control.dcqcn.{key}"), value)]), None, "{key}");
        }
        assert_eq!(warning(&[("congestion_control.algorithm", "\"swift\"")]), None);
    }
}

//! Congestion control for a fabric manager: lines for OpenSM's options file.
//!
//! Names and formats are those of OpenSM (`osm_subnet.c`, `osm_congestion_control.c`, as of 2025). One set of values holds for
//! all switches and hosts of a fabric, and `CCTI_Limit` is the last entry of the table.

use std::collections::BTreeSet;
use std::fmt::Write;

use fabricsim_spec::{
    CctEntry, CctiTimer, CongestionAlgorithm, ControlPer, Experiment, InfiniBandCongestion, SpecError,
    VictimMask,
};
use fabricsim_topology::{Graph, Node};

/// Maximum number of entries of OpenSM's table (`OSM_CCT_ENTRY_MAX`).
const MOST_ENTRIES: usize = 128;

/// Bytes of a mask of ports (`IB_CC_PORT_MASK_DATA_SIZE`).
const MASK_BYTES: usize = 32;

/// The unit of `packet_size`: a block of credits.
const BLOCK: u64 = 64;

const SECTION: &str = "congestion_control.infiniband";

/// Bits of `cc_sw_cong_setting_control_map`: which of the switches' settings are valid.
mod valid {
    pub(super) const VICTIM_MASK: u32 = 1;
    pub(super) const CREDIT_MASK: u32 = 1 << 1;
    pub(super) const THRESHOLD: u32 = 1 << 2;
    pub(super) const CREDIT_STARVATION: u32 = 1 << 3;
    pub(super) const MARKING_RATE: u32 = 1 << 4;
}

/// A mask of a switch's ports: bit n is port n. InfiniBand counts external ports from 1, the graph from 0.
type Mask = [u8; MASK_BYTES];

/// Returns lines for OpenSM's options file with the congestion control of the experiment. `file` names it in messages.
///
/// # Errors
///
/// The experiment has no InfiniBand congestion control, or a value that OpenSM cannot hold.
pub fn opensm(experiment: &Experiment, graph: &Graph, file: &str) -> Result<String, SpecError> {
    let wrong = |key: &str, message: String| SpecError::at_key(file, key, message);
    if experiment.congestion_control.algorithm != CongestionAlgorithm::Infiniband {
        let message = "OpenSM sets InfiniBand's congestion control only: give \"infiniband\"".to_owned();
        return Err(wrong("congestion_control.algorithm", message));
    }
    let settings = &experiment.congestion_control.infiniband;
    let at = |name: &str| format!("{SECTION}.{name}");
    let byte = |name: &str, value: u64| {
        u8::try_from(value)
            .map_err(|_| wrong(&at(name), format!("OpenSM holds at most 255 here, not {value}")))
    };
    let bytes = u64::from(settings.packet_size) * experiment.switch.flow_control_unit.get();
    let options = Options {
        settings,
        packet_size: byte("packet_size", bytes.div_ceil(BLOCK))?,
        trigger_threshold: byte("trigger_threshold", u64::from(settings.trigger_threshold))?,
        ccti_min: byte("ccti_min", u64::from(settings.ccti_min))?,
        ccti_timer: timer(settings),
        victims: mask(graph, settings.victim_mask).map_err(|message| wrong(&at("victim_mask"), message))?,
        all: mask(graph, VictimMask::All).map_err(|message| wrong(SECTION, message))?,
        table: table(settings).map_err(|message| wrong(&at("cct"), message))?,
        classes: experiment.switch.service_classes.max(1),
        notes: notes(settings, graph),
    };
    let mut text = String::new();
    options.write(&mut text).unwrap_or_else(|_| unreachable!("writing to a string does not fail"));
    Ok(text)
}

/// The entries up to the limit.
fn table(settings: &InfiniBandCongestion) -> Result<Vec<CctEntry>, String> {
    let mut entries = settings.cct.table();
    if let Some(limit) = settings.ccti_limit {
        entries.truncate(usize::from(limit) + 1);
    }
    if entries.len() > MOST_ENTRIES {
        let message = "OpenSM holds at most 128 entries, not";
        return Err(format!("{message} {}: give a smaller table, or a smaller ccti_limit", entries.len()));
    }
    Ok(entries)
}

/// The timer in its unit, to the nearest, but 1 at least; 0: it never expires.
fn timer(settings: &InfiniBandCongestion) -> u64 {
    let unit = CctiTimer::UNIT.0;
    settings.ccti_timer.period().map_or(0, |period| ((period.0 + unit / 2) / unit).max(1))
}

/// Ports of any switch that are of a kind.
fn mask(graph: &Graph, which: VictimMask) -> Result<Mask, String> {
    let mut mask = [0; MASK_BYTES];
    if which == VictimMask::None {
        return Ok(mask);
    }
    for link in &graph.links {
        for (end, other) in [(link.a, link.b), (link.b, link.a)] {
            let chosen = which == VictimMask::All || matches!(other.node, Node::Host(_));
            if chosen && matches!(end.node, Node::Switch(_)) {
                let bit = usize::from(end.port.0) + 1;
                if bit > 254 {
                    return Err(format!("port {bit} of a switch is beyond InfiniBand's 254"));
                }
                mask[bit / 8] |= 1 << (bit % 8);
            }
        }
    }
    Ok(mask)
}

/// True if some port is to a host at one switch and to a switch at another.
fn ports_differ(graph: &Graph) -> bool {
    let (mut to_hosts, mut to_switches) = (BTreeSet::new(), BTreeSet::new());
    for link in &graph.links {
        for (end, other) in [(link.a, link.b), (link.b, link.a)] {
            match (end.node, other.node) {
                (Node::Switch(_), Node::Host(_)) => to_hosts.insert(end.port.0),
                (Node::Switch(_), Node::Switch(_)) => to_switches.insert(end.port.0),
                (Node::Host(_), _) => false,
            };
        }
    }
    !to_hosts.is_disjoint(&to_switches)
}

/// Notes on settings that an options file cannot express.
fn notes(settings: &InfiniBandCongestion, graph: &Graph) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if settings.victim_mask != VictimMask::None {
        notes.push("masks of ports are those of the simulated switches: compare them with your own");
    }
    if settings.victim_mask == VictimMask::Hosts && ports_differ(graph) {
        notes.push(
            "one mask holds for all switches, but ports to hosts of some are ports to switches of others",
        );
    }
    if settings.reset_threshold.is_some_and(|reset| reset != settings.threshold) {
        notes.push("reset_threshold belongs to the switch: no option sets it");
    }
    if settings.ccti_timer.period().is_some_and(|period| period.0 % CctiTimer::UNIT.0 != 0) {
        notes.push("ccti_timer is rounded: the experiment's is no whole number of 1.024 us");
    }
    if !settings.ports.is_empty() {
        notes.push("values of single ports are left out: OpenSM sets all ports alike");
    }
    notes
}

/// Content of the options file.
struct Options<'a> {
    settings: &'a InfiniBandCongestion,
    packet_size: u8,
    trigger_threshold: u8,
    ccti_min: u8,
    ccti_timer: u64,
    victims: Mask,
    all: Mask,
    table: Vec<CctEntry>,
    classes: u8,
    notes: Vec<&'static str>,
}

impl Options<'_> {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "# InfiniBand congestion control, for OpenSM's options file (opensm -F FILE)")?;
        for note in &self.notes {
            writeln!(text, "# note: {note}")?;
        }
        writeln!(text, "\ncongestion_control TRUE\ncc_key 0x{:016x}\ncc_max_outstanding_mads 500\n", 0)?;
        self.write_switch(text)?;
        self.write_sources(text)?;
        let entries: Vec<String> = self.table.iter().map(ToString::to_string).collect();
        writeln!(text, "# shift:multiplier; the last entry is CCTI_Limit\ncc_cct {}", entries.join(","))
    }

    fn write_switch(&self, text: &mut String) -> std::fmt::Result {
        let starvation = self.settings.credit_starvation_threshold;
        let mut control = valid::VICTIM_MASK | valid::THRESHOLD | valid::MARKING_RATE;
        if starvation > 0 {
            control |= valid::CREDIT_MASK | valid::CREDIT_STARVATION;
        }
        let credit_mask = if starvation > 0 { self.all } else { [0; MASK_BYTES] };
        let mut line = |name: &str, value: String| writeln!(text, "cc_sw_cong_setting_{name} {value}");
        line("control_map", format!("0x{control:X}"))?;
        line("victim_mask", hex(&self.victims))?;
        line("credit_mask", hex(&credit_mask))?;
        line("threshold", format!("0x{:02X}", self.settings.threshold))?;
        line("packet_size", self.packet_size.to_string())?;
        line("credit_starvation_threshold", format!("0x{starvation:02X}"))?;
        line("credit_starvation_return_delay", self.settings.credit_starvation_return_delay.to_string())?;
        // OpenSM has the specification's meaning: packets between two marked ones.
        let unmarked = self.settings.marking_rate_counts.unmarked(self.settings.marking_rate);
        line("marking_rate", unmarked.to_string())?;
        writeln!(text)
    }

    fn write_sources(&self, text: &mut String) -> std::fmt::Result {
        let by_level = u8::from(self.settings.control == ControlPer::ServiceLevel);
        let levels = (1_u32 << self.classes.min(16)) - 1;
        writeln!(text, "cc_ca_cong_setting_port_control 0x{by_level:04X}")?;
        writeln!(text, "cc_ca_cong_setting_control_map 0x{levels:04X}\n")?;
        writeln!(text, "# service level, value; the timer is in units of 1.024 us")?;
        for level in 0..self.classes.min(16) {
            let mut line =
                |name: &str, value: u64| writeln!(text, "cc_ca_cong_setting_{name} {level} {value}");
            line("ccti_timer", self.ccti_timer)?;
            line("ccti_increase", u64::from(self.settings.ccti_increase))?;
            line("trigger_threshold", u64::from(self.trigger_threshold))?;
            line("ccti_min", u64::from(self.ccti_min))?;
        }
        writeln!(text)
    }
}

/// A mask as OpenSM reads it: one number of 256 bits.
fn hex(mask: &Mask) -> String {
    let digits: Vec<String> = mask.iter().rev().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{}", digits.concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "
[topology.mesh]
dimensions = [2, 2]
hosts_per_switch = 2
naming = 'thesis'
[congestion_control]
algorithm = 'infiniband'
[congestion_control.infiniband]
threshold = 9
reset_threshold = 10
marking_rate = 3
ccti_timer = '20 us'
ccti_limit = 3
cct = { entries = ['0:0', '3:1', '3:2', '1:5', '0:9'] }
[run]
duration = '1 ms'
";

    fn written(overrides: &[(&str, &str)]) -> Result<String, String> {
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let experiment = fabricsim_spec::read(TEXT, "e.toml", &overrides).unwrap();
        fabricsim_spec::check(&experiment, "e.toml").unwrap();
        let graph = fabricsim_topology::build(&experiment, Path::new("."), "e.toml").unwrap();
        opensm(&experiment, &graph, "e.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn the_marking_rate_has_the_meaning_of_the_specification() {
        let rate = |counts| {
            let text = written(&[("congestion_control.infiniband.marking_rate_counts", counts)]).unwrap();
            text.lines().find_map(|l| l.strip_prefix("cc_sw_cong_setting_marking_rate ")).map(str::to_owned)
        };
        assert_eq!(rate("between").as_deref(), Some("3"));
        assert_eq!(rate("from-mark-to-mark").as_deref(), Some("2"));
    }

    #[test]
    fn every_option_has_its_value() {
        let text = written(&[]).unwrap();
        // Graph ports 0 and 1 of each switch are to hosts: InfiniBand's ports 1 and 2, bits 1 and 2.
        let victims = format!("cc_sw_cong_setting_victim_mask 0x{}6", "0".repeat(63));
        let credits = format!("cc_sw_cong_setting_credit_mask 0x{}", "0".repeat(64));
        for line in [
            "congestion_control TRUE",
            "cc_key 0x0000000000000000",
            "cc_max_outstanding_mads 500",
            "cc_sw_cong_setting_control_map 0x15",
            &victims,
            &credits,
            "cc_sw_cong_setting_threshold 0x09",
            "cc_sw_cong_setting_packet_size 1",
            "cc_sw_cong_setting_credit_starvation_threshold 0x00",
            "cc_sw_cong_setting_credit_starvation_return_delay 0:0",
            "cc_sw_cong_setting_marking_rate 3",
            "cc_ca_cong_setting_port_control 0x0000",
            "cc_ca_cong_setting_control_map 0x0001",
            "cc_ca_cong_setting_ccti_timer 0 20",
            "cc_ca_cong_setting_ccti_increase 0 1",
            "cc_ca_cong_setting_trigger_threshold 0 1",
            "cc_ca_cong_setting_ccti_min 0 0",
            "cc_cct 0:0,3:1,3:2,1:5",
            "# note: ccti_timer is rounded: the experiment's is no whole number of 1.024 us",
            "# note: reset_threshold belongs to the switch: no option sets it",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn values_follow_the_experiment() {
        let text = written(&[
            ("congestion_control.infiniband.ccti_timer", "150"),
            ("congestion_control.infiniband.victim_mask", "all"),
            ("congestion_control.infiniband.control", "service-level"),
            ("congestion_control.infiniband.credit_starvation_threshold", "4"),
            ("congestion_control.infiniband.credit_starvation_return_delay", "1:7"),
            ("switch.virtual_lanes", "2"),
            ("switch.service_classes", "2"),
        ])
        .unwrap();
        let all = format!("_mask 0x{}1E", "0".repeat(62));
        assert_eq!(text.matches(&all).count(), 2, "{text}");
        for part in [
            "control_map 0x1F\n",
            "credit_starvation_threshold 0x04\n",
            "return_delay 1:7\n",
            "port_control 0x0001\n",
            "cc_ca_cong_setting_control_map 0x0003\n",
            "ccti_timer 0 150\n",
            "ccti_timer 1 150\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn what_opensm_cannot_hold_is_refused() {
        let cases = [
            ("congestion_control.algorithm", "none", "e.toml: congestion_control.algorithm: OpenSM sets"),
            (
                "congestion_control.infiniband.trigger_threshold",
                "256",
                "trigger_threshold: OpenSM holds at most 255",
            ),
        ];
        for (key, value, expected) in cases {
            let error = written(&[(key, value)]).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let table = ("congestion_control.infiniband.cct", "{ linear = { step = 0.1, entries = 200 } }");
        let limit = ("congestion_control.infiniband.ccti_limit", "199");
        let error = written(&[table, limit]).unwrap_err();
        assert!(error.contains("infiniband.cct: OpenSM holds at most 128 entries, not 200"), "{error}");
        assert!(written(&[table]).is_ok(), "up to the limit");
    }
}

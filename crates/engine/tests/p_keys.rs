//! P_Key tables of ports in operation: what a manager has not set is not accepted.

use std::path::Path;

use fabricsim_engine::{Advance, Prepared, SwitchPort, Totals};
use fabricsim_model::{LossCause, Observer};
use fabricsim_units::{HostId, Time, Vl};
use fabricsim_wire::ids::PKey;

const TEXT: &str = r#"
topology.single-switch = { hosts = 3 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[[partitions]]
name = "first"
key = 1
members = ["H0"]
limited = ["H1", "H2"]
[[traffic]]
sources = ["H1"]
pattern = { to = "H0" }
injection = "saturating"
message = "1 KiB"
partition = "first"
messages = 10
[run]
duration = "100 us"
"#;

/// Sending ports whose packets were lost at a port, with the cause.
#[derive(Default)]
struct Lost(Vec<(u32, LossCause)>);

impl Observer for Lost {
    fn lost_at(&mut self, _: Time, port: u32, _: Vl, cause: LossCause) {
        self.0.push((port, cause));
    }
}

/// Runs with tables of H0, and of the port of the switch to H1.
fn totals(host: &[PKey], port: Option<(HostId, &SwitchPort)>) -> (Totals, Vec<String>) {
    let experiment = fabricsim_spec::read(TEXT, "e.toml", &[]).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "e.toml").unwrap();
    let mut engine = prepared.engine(Lost::default);
    engine.set_p_keys_of_host(HostId(0), host);
    if let Some((host, port)) = port {
        engine.set_p_keys_of_switch_port(host, port);
    }
    assert_eq!(engine.advance(Time::us(100), &mut |_, _| true), Advance::Idle);
    engine.check_credits().unwrap();
    let totals = engine.totals();
    let lost = engine.finish().into_iter().flat_map(|of| of.0);
    let named = lost.map(|(port, cause)| format!("{} {cause:?}", prepared.graph.port_name(port)));
    (totals, named.collect())
}

#[test]
fn a_host_accepts_the_keys_of_its_table() {
    for (table, accepted) in
        [(vec![], 0), (vec![PKey(0x8002)], 0), (vec![PKey(1)], 0), (vec![PKey(0x8001)], 10)]
    {
        let (found, _) = totals(&table, None);
        assert_eq!((found.delivered, found.lost.p_key), (accepted, 10 - accepted), "{table:?}");
    }
}

/// A switch lets a host send with the key of the table of its port, limited or not, and counts what it discards apart.
#[test]
fn a_switch_lets_pass_the_keys_of_the_table_of_its_port() {
    let own = [PKey(0x8001)];
    for (table, inbound, passed) in [
        (vec![], true, 0),
        (vec![PKey(0x8002)], true, 0),
        (vec![PKey(1)], true, 10),
        (vec![PKey(0x8001)], true, 10),
        // The control: a port that does not check.
        (vec![], false, 10),
    ] {
        let port = SwitchPort { keys: table, inbound, outbound: false };
        let (found, lost) = totals(&own, Some((HostId(1), &port)));
        assert_eq!((found.delivered, found.lost.p_key_switch), (passed, 10 - passed), "{port:?}");
        assert!(found.is_balanced());
        // The port of the switch that has received them counts them.
        assert_eq!(lost, vec!["H1->S0 PartitionKeyAtSwitch"; 10 - passed as usize], "{port:?}");
    }
}

#[test]
fn a_switch_sends_what_the_table_of_its_port_accepts() {
    for (table, sent) in [(vec![PKey(0x8001)], 10), (vec![PKey(1)], 0), (vec![], 0)] {
        let port = SwitchPort { keys: table, inbound: false, outbound: true };
        let (found, lost) = totals(&[PKey(0x8001)], Some((HostId(0), &port)));
        assert_eq!((found.delivered, found.lost.p_key_switch), (sent, 10 - sent), "{port:?}");
        assert_eq!(lost, vec!["S0->H0 PartitionKeyAtSwitch"; 10 - sent as usize], "{port:?}");
    }
}

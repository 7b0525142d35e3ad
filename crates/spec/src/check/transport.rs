//! Checks of the settings of the ordering protocols.

use super::Found;
use crate::{DrawPer, Experiment, OrderingMode, Transport};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let transport = &experiment.transport;
    sizes(transport)?;
    sequence(transport)?;
    target(transport)?;
    modes(experiment)?;
    let (answer, mtu) = (transport.answer, experiment.host.mtu);
    let orders = transport.mode != OrderingMode::None;
    if orders && answer > mtu {
        return fail(
            "answer",
            format!("{answer} is not allowed: give at least 1 B and at most the MTU of {mtu}"),
        );
    }
    let classes = experiment.service_levels().unwrap_or(experiment.switch.service_classes);
    if transport.service_class >= classes {
        let given = transport.service_class;
        let message = format!("{given} is not allowed: service classes are 0 to {}", classes - 1);
        return fail("service_class", message);
    }
    Ok(())
}

fn fail<T>(key: &str, message: impl Into<String>) -> Result<T, Found> {
    Err((format!("transport.{key}"), message.into()))
}

fn sizes(transport: &Transport) -> Result<(), Found> {
    let identifiers = (1_u32 << transport.cid_bits).min(0x7fff);
    let bits = transport.cid_bits;
    for (key, value) in [("streams", transport.streams), ("connections", transport.connections)] {
        if u32::from(value) > identifiers {
            let message = format!(
                "{value} is not allowed: {bits} bits (`transport.cid_bits`) make {identifiers} connection identifiers; \
                 give a number from 1 to {identifiers}"
            );
            return fail(key, message);
        }
    }
    Ok(())
}

fn sequence(transport: &Transport) -> Result<(), Found> {
    let half = transport.most_outstanding();
    let outstanding = transport.outstanding;
    if u32::from(outstanding) > half {
        let message = format!(
            "{outstanding} is not allowed: with {} bits of SEQ (`transport.sequence_bits`) give a number from 1 to {half}, half \
             of the sequence numbers",
            transport.sequence_bits
        );
        return fail("outstanding", message);
    }
    if transport.fast_from > outstanding {
        let message =
            format!("{} is not allowed: give a number from 1 to {outstanding}", transport.fast_from);
        return fail("fast_from", message);
    }
    Ok(())
}

fn target(transport: &Transport) -> Result<(), Found> {
    let target = &transport.target;
    let ring = target.ring();
    if !ring.is_power_of_two() {
        let message = format!("{ring} is not allowed: give a power of two up to 65536");
        return fail("target.reorder_ring", message);
    }
    if target.reorder_cache > target.reorder_buffer {
        let message = format!(
            "{} is not allowed: the cache is a part of the reorder buffer, which holds {} packets",
            target.reorder_cache, target.reorder_buffer
        );
        return fail("target.reorder_cache", message);
    }
    Ok(())
}

fn modes(experiment: &Experiment) -> Result<(), Found> {
    let transport = &experiment.transport;
    let orders = transport.mode != OrderingMode::None;
    if !orders && transport.loss > 0.0 {
        return fail("loss", "with `mode = \"none\"` no host retransmits lost packets: choose another mode");
    }
    if !orders && experiment.measure.exchanges > 0 {
        let message = "with `transport.mode = \"none\"` no exchanges occur: choose another mode";
        return Err(("measure.exchanges".to_owned(), message.to_owned()));
    }
    for (i, traffic) in experiment.traffic.iter().enumerate() {
        let mode = traffic.ordering.unwrap_or(transport.mode);
        if let Some(given) = traffic.ordering
            && (given == OrderingMode::None) == orders
        {
            let message = if orders {
                "`none` is only for all traffic: use `unordered`"
            } else {
                "set `transport.mode` to something else than `none` first: all hosts have a transport, or none"
            };
            return Err((format!("traffic.{i}.ordering"), message.to_owned()));
        }
        if mode != OrderingMode::None && traffic.draw_per == DrawPer::Packet {
            let message = "`packet` is not for ordered messages: all packets of a stream go to one host";
            return Err((format!("traffic.{i}.draw_per"), message.to_owned()));
        }
        if transport.exactly_once && !keeps_results(mode) {
            return fail("exactly_once", EXACTLY_ONCE);
        }
        if traffic.packet_load.is_some() && mode == OrderingMode::None {
            let key = format!("traffic.{i}.packet_load");
            return Err((key, "is for messages of a transport: set `transport.mode`".to_owned()));
        }
    }
    if transport.exactly_once && !keeps_results(transport.mode) {
        return fail("exactly_once", EXACTLY_ONCE);
    }
    Ok(())
}

const EXACTLY_ONCE: &str = "is for the modes `ordered`, `source-ordered`, `synchronized` and `source-synchronized`, whose connections keep \
     results in replay buffers";

fn keeps_results(mode: OrderingMode) -> bool {
    matches!(
        mode,
        OrderingMode::Ordered
            | OrderingMode::SourceOrdered
            | OrderingMode::Synchronized
            | OrderingMode::SourceSynchronized
    )
}

#[cfg(test)]
mod tests {
    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[transport]
mode = 'ordered'
[[traffic]]
pattern = 'uniform'
load = 0.1
message = '64 KiB'
[run]
duration = '1 ms'
";

    fn checked(key: &str, value: &str) -> Result<(), String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let experiment = crate::read(SMALL, "e.toml", &overrides).unwrap();
        crate::check(&experiment, "e.toml").map_err(|e| e.located(SMALL, &overrides).to_string())
    }

    #[test]
    fn what_the_protocols_cannot_work_with_is_refused() {
        let cases = [
            ("transport.streams", "0", "transport.streams: 0 is not allowed"),
            (
                "transport",
                "{ mode = 'ordered', cid_bits = 4, streams = 17 }",
                "4 bits (`transport.cid_bits`) make 16 connection identifiers",
            ),
            (
                "transport",
                "{ mode = 'ordered', cid_bits = 4, streams = 16 }",
                "transport.connections: 256 is not allowed",
            ),
            (
                "transport",
                "{ mode = 'ordered', sequence_bits = 5, outstanding = 25 }",
                "give a number from 1 to 16, half of the sequence numbers",
            ),
            ("transport.target.reorder_buffer", "0", "it must hold at least one packet"),
            ("transport.target.reorder_ring", "100", "give a power of two up to 65536"),
            (
                "transport.target",
                "{ reorder_buffer = 2, reorder_cache = 3 }",
                "the cache is a part of the reorder buffer",
            ),
            ("transport.target.connections", "0", "give a number from 1 to 16777216"),
            ("transport.target.replay_buffers", "0", "give a number from 1 to 32767"),
            ("transport.timeout", "0 ns", "transport.timeout: 0 is not allowed"),
            ("transport.lifetime", "2 s", "transport.lifetime: 2 s is not allowed"),
            ("transport.loss", "1.0", "give a number from 0 to less than 1"),
            ("transport", "{ loss = 0.5 }", "no host retransmits lost packets"),
            ("transport.answer", "0 B", "transport.answer: 0 B is not allowed"),
            ("transport.answer", "4 KiB", "at most the MTU of 2048 B"),
            ("transport.service_class", "1", "service classes are 0 to 0"),
            ("transport", "{ mode = 'go-back-n', exactly_once = true }", "is for the modes `ordered`"),
            ("traffic.0.ordering", "none", "use `unordered`"),
            ("traffic.0.draw_per", "packet", "all packets of a stream go to one host"),
            ("traffic.0.packet_load", "0", "give a number above 0 and at most 1"),
            ("traffic.0.packet_load", "1.5", "traffic.0.packet_load: 1.5 is not allowed"),
            ("measure.exchanges", "1000001", "measure.exchanges: 1000001 is not allowed"),
        ];
        for (key, value, expected) in cases {
            let error = checked(key, value).unwrap_err();
            assert!(error.contains(expected), "{key} = {value}: {error}");
        }
        assert!(checked("transport", "{}").is_ok());
        let error = crate::read(SMALL, "e.toml", &[("transport.mode".to_owned(), "orderd".to_owned())]);
        assert!(error.unwrap_err().to_string().contains("ordered"), "the nearest name is given");
    }

    #[test]
    fn part_of_the_traffic_may_have_its_own_mode() {
        assert_eq!(checked("traffic.0.ordering", "selective"), Ok(()));
        let overrides = [
            ("transport".to_owned(), "{}".to_owned()),
            ("traffic.0.ordering".to_owned(), "ordered".to_owned()),
        ];
        let experiment = crate::read(SMALL, "e.toml", &overrides).unwrap();
        let error = crate::check(&experiment, "e.toml").unwrap_err().to_string();
        assert!(error.contains("set `transport.mode` to something else"), "{error}");
        let overrides = [
            ("transport".to_owned(), "{}".to_owned()),
            ("traffic.0.packet_load".to_owned(), "0.5".to_owned()),
        ];
        let experiment = crate::read(SMALL, "e.toml", &overrides).unwrap();
        let error = crate::check(&experiment, "e.toml").unwrap_err().to_string();
        assert!(error.contains("is for messages of a transport"), "{error}");
    }
}

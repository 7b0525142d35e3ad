//! Virtual lanes by service level.

use super::Found;
use crate::{Arbiter, Experiment, RoutingEngine};

/// Most service levels.
const MOST: usize = 16;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let (switch, routing) = (&experiment.switch, &experiment.routing);
    if let Some(lanes) = &switch.sl2vl {
        lanes_exist(lanes, switch.virtual_lanes)?;
    }
    if experiment.service_levels().is_none() {
        return Ok(());
    }
    let fail = |key: &str, message: &str| Err((key.to_owned(), message.to_owned()));
    let has_engine = routing.engine == Some(RoutingEngine::Torus2Qos);
    if [switch.sl2vl.is_some(), routing.sl2vl.is_some(), has_engine]
        .into_iter()
        .filter(|&given| given)
        .count()
        > 1
    {
        return fail(
            "switch.sl2vl",
            "tables come from one place: `switch.sl2vl`, `routing.sl2vl` or the engine `torus-2QoS`",
        );
    }
    if switch.service_classes > 1 {
        return fail(
            "switch.service_classes",
            "with SL2VL tables the service levels are the classes: leave it at 1",
        );
    }
    if !switch.priority_classes.is_empty() {
        return fail(
            "switch.priority_classes",
            "service levels may share lanes, so lanes have the priorities: use `switch.vl_arbitration`",
        );
    }
    if switch.arbiter == Arbiter::AgeBased {
        return fail(
            "switch.arbiter",
            "`age-based` counts requests and responses by service class, not by service level",
        );
    }
    Ok(())
}

fn lanes_exist(lanes: &[u8], virtual_lanes: u8) -> Result<(), Found> {
    let fail = |key: String, message: String| Err((key, message));
    if lanes.is_empty() || lanes.len() > MOST {
        let message = format!("{} service levels: give the lanes of 1 to {MOST}", lanes.len());
        return fail("switch.sl2vl".to_owned(), message);
    }
    match lanes.iter().enumerate().find(|(_, lane)| **lane >= virtual_lanes) {
        Some((level, lane)) => {
            let message = format!(
                "lane {lane} is not allowed: links have {virtual_lanes} virtual lanes, 0 to {}",
                virtual_lanes.saturating_sub(1)
            );
            fail(format!("switch.sl2vl.{level}"), message)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(keys: &str) -> String {
        let text = format!("topology.mesh = {{ dimensions = [2, 2] }}\nrun.duration = \"1 us\"\n{keys}");
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// What follows from levels that are wrong is not listed as another mistake.
    #[test]
    fn no_levels_are_one_mistake() {
        let text = "topology.mesh = { dimensions = [2, 2] }\nrun.duration = \"1 us\"\nswitch.sl2vl = []\n\
                    [[traffic]]\npattern = \"uniform\"\nload = 0.1\nmessage = \"1 KiB\"\n";
        let found = crate::mistakes(text, "e.toml", &[]);
        assert_eq!(found.iter().map(|one| one.key.as_deref()).collect::<Vec<_>>(), [Some("switch.sl2vl")]);
    }

    #[test]
    fn service_levels_need_lanes_and_nothing_else_that_divides_them() {
        let two = "switch.virtual_lanes = 2\nswitch.sl2vl = [0, 1, 0]\n";
        let entry = "pattern = \"uniform\"\nload = 0.1\nmessage = \"1 KiB\"\n";
        assert_eq!(message(&format!("{two}[[traffic]]\n{entry}service_class = 2")), "");
        for (keys, expected) in [
            (
                "switch.sl2vl = [0, 1]".to_owned(),
                "switch.sl2vl.1: lane 1 is not allowed: links have 1 virtual lanes",
            ),
            ("switch.sl2vl = []".to_owned(), "0 service levels: give the lanes of 1 to 16"),
            (
                format!("{two}[[traffic]]\n{entry}service_class = 3"),
                "traffic.0.service_class: 3 is not allowed",
            ),
            (format!("{two}switch.service_classes = 2"), "leave it at 1"),
            (format!("{two}switch.priority_classes = [0]"), "use `switch.vl_arbitration`"),
            (format!("{two}switch.arbiter = \"age-based\""), "`age-based` counts"),
            (format!("{two}routing.sl2vl = \"x\""), "tables come from one place"),
        ] {
            assert!(message(&keys).contains(expected), "{keys}: {}", message(&keys));
        }
    }
}

//! Multicast groups: what does not depend on the network.

use fabricsim_units::nearest;

use super::Found;
use crate::{Experiment, Injection, OrderingMode, Pattern, Traffic};

/// Number of multicast LIDs, 0xC000 to 0xFFFE.
const MOST_GROUPS: usize = 0x3fff;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let groups = &experiment.multicast_groups;
    if groups.len() > MOST_GROUPS {
        let message = format!("{} groups: there are {MOST_GROUPS} multicast LIDs", groups.len());
        return Err(("multicast_groups".to_owned(), message));
    }
    for (number, group) in groups.iter().enumerate() {
        if groups[..number].iter().any(|other| other.name == group.name) {
            let message = format!("a second group `{}`: give each another name", group.name);
            return Err((format!("multicast_groups.{number}.name"), message));
        }
    }
    for (number, traffic) in experiment.traffic.iter().enumerate() {
        if let Pattern::Multicast(name) = &traffic.pattern {
            of_traffic(experiment, traffic, name)
                .map_err(|(key, message)| (format!("traffic.{number}.{key}"), message))?;
        }
    }
    Ok(())
}

/// Checks an entry whose packets go to the group `name`; the key of an error is relative to the entry.
fn of_traffic(experiment: &Experiment, traffic: &Traffic, name: &str) -> Result<(), (&'static str, String)> {
    let names = || experiment.multicast_groups.iter().map(|group| group.name.as_str());
    if !names().any(|known| known == name) {
        let hint = nearest(name, names()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(("pattern.multicast", format!("no multicast group `{name}`{hint}")));
    }
    let refuse = |key, why: &str| Err((key, format!("not with a multicast pattern: {why}; leave it out")));
    if traffic.response.is_some() {
        return refuse("response", "a message to a group has many receivers");
    }
    if traffic.injection == Injection::Window {
        return refuse("injection", "`window` waits for responses");
    }
    if experiment.transport.mode != OrderingMode::None {
        let message = "not with `transport.mode`: multicast is for datagrams, which are not acknowledged";
        return Err(("pattern.multicast", message.to_owned()));
    }
    if experiment.queue_pairs.is_some() {
        let message = "not with `queue_pairs`: multicast is for datagrams, which are not acknowledged";
        return Err(("pattern.multicast", message.to_owned()));
    }
    if experiment.congestion_control.algorithm.has_windows() {
        let algorithm = crate::name(&experiment.congestion_control.algorithm);
        let message = format!(
            "not with `congestion_control.algorithm = \"{algorithm}\"`, which acknowledges every packet: multicast is for datagrams"
        );
        return Err(("pattern.multicast", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(text: &str, traffic: &str) -> String {
        let text = format!(
            "topology.mesh = {{ dimensions = [2, 2] }}\n{text}\n[run]\nduration = \"1 us\"\n\
             [[multicast_groups]]\nname = \"all\"\nmembers = [\"*\"]\n\
             [[traffic]]\npattern = {{ multicast = \"all\" }}\nmessage = \"1 KiB\"\n{traffic}"
        );
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn multicast_is_for_datagrams() {
        const SECOND: &str = "load = 0.1\n[[multicast_groups]]\nname = \"all\"\nmembers = [\"*\"]";
        const UNKNOWN: &str =
            "load = 0.1\n[[traffic]]\npattern = { multicast = \"al\" }\nmessage = \"1 KiB\"\nload = 0.1";
        const ANSWERED: &str = "load = 0.1\nresponse = { message = \"8 B\" }";
        const WINDOW: &str = "injection = \"window\"\nwindow = 2";
        for (text, traffic, part) in [
            ("", "load = 0.1", ""),
            ("", SECOND, "multicast_groups.1.name: a second group `all`"),
            ("", UNKNOWN, "traffic.1.pattern.multicast: no multicast group `al`; did you mean `all`?"),
            ("", ANSWERED, "traffic.0.response: not with a multicast pattern"),
            ("", WINDOW, "traffic.0.injection: not with a multicast pattern"),
            (
                "transport.mode = \"ordered\"",
                "load = 0.1",
                "traffic.0.pattern.multicast: not with `transport.mode`",
            ),
            ("congestion_control.algorithm = \"infiniband\"", "load = 0.1", ""),
            (
                "congestion_control.algorithm = \"swift\"",
                "load = 0.1",
                "traffic.0.pattern.multicast: not with `congestion_control.algorithm = \"swift\"`",
            ),
        ] {
            let message = message(text, traffic);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{traffic}: {message}");
        }
    }
}

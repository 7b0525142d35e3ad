//! Partitions: what does not depend on the network.

use fabricsim_units::nearest;

use super::Found;
use crate::{Experiment, PartitionEnforcement};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let partitions = &experiment.partitions;
    if partitions.is_empty() && experiment.switch.partition_enforcement != PartitionEnforcement::Off {
        let message = "only for experiments with `partitions`: state them, or leave it out".to_owned();
        return Err(("switch.partition_enforcement".to_owned(), message));
    }
    for (number, partition) in partitions.iter().enumerate() {
        let fail = |key: &str, message: String| Err((format!("partitions.{number}.{key}"), message));
        let before = &partitions[..number];
        if before.iter().any(|other| other.name == partition.name) {
            return fail("name", format!("a second partition `{}`: give each another name", partition.name));
        }
        if let Some(other) = before.iter().find(|other| other.key == partition.key) {
            return fail(
                "key",
                format!("{} is that of `{}`: give each another key", partition.key, other.name),
            );
        }
        if partition.members.is_empty() && partition.limited.is_empty() {
            return fail("members", "none: name at least one host in `members` or `limited`".to_owned());
        }
    }
    let named = |(number, name): (usize, &String)| {
        let names = || partitions.iter().map(|partition| partition.name.as_str());
        if names().any(|known| known == name) {
            return Ok(());
        }
        let hint = nearest(name, names()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Err((format!("traffic.{number}.partition"), format!("no partition `{name}`{hint}")))
    };
    let traffic = experiment.traffic.iter().enumerate();
    traffic.filter_map(|(number, entry)| Some((number, entry.partition.as_ref()?))).try_for_each(named)
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(text: &str) -> String {
        let text = format!("topology.mesh = {{ dimensions = [2, 2] }}\nrun.duration = \"1 us\"\n{text}");
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn names_and_keys_are_unique_and_known() {
        const ONE: &str = "[[partitions]]\nname = \"storage\"\nkey = 1\nmembers = [\"*\"]\n";
        let second = |name: &str, key: u16| {
            format!("{ONE}{}", ONE.replace("storage", name).replace("= 1", &format!("= {key}")))
        };
        let traffic = |name: &str| {
            format!(
                "{ONE}[[traffic]]\npattern = \"uniform\"\nload = 0.1\nmessage = \"1 KiB\"\npartition = \"{name}\""
            )
        };
        let enforced = "switch.partition_enforcement = \"both\"\n";
        for (text, part) in [
            (format!("{enforced}{ONE}"), ""),
            (enforced.to_owned(), "switch.partition_enforcement: only for experiments with `partitions`"),
            (ONE.to_owned(), ""),
            (second("other", 2), ""),
            (second("storage", 2), "partitions.1.name: a second partition `storage`"),
            (second("other", 1), "partitions.1.key: 1 is that of `storage`"),
            (ONE.replace("= 1", "= 0"), "partitions.0.key: 0 is not allowed"),
            (ONE.replace("= 1", "= 32767"), "partitions.0.key: 32767 is not allowed"),
            (ONE.replace("members = [\"*\"]", ""), "partitions.0.members: none"),
            (traffic("storage"), ""),
            (traffic("storag"), "traffic.0.partition: no partition `storag`; did you mean `storage`?"),
        ] {
            let message = message(&text);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{text}: {message}");
        }
    }
}

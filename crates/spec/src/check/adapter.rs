//! Checks of channel adapters.

use super::Found;
use crate::Experiment;

/// Checks the sizes that are powers of two.
pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let adapter = &experiment.adapter;
    if let Some(pcie) = &adapter.pcie {
        power_of_two("adapter.pcie.lanes", pcie.lanes.into(), &pcie.lanes.to_string())?;
        power_of_two("adapter.pcie.payload", pcie.payload.0, &pcie.payload.to_string())?;
        power_of_two("adapter.pcie.read_request", pcie.read_request.0, &pcie.read_request.to_string())?;
    }
    match &adapter.translation_cache {
        Some(cache) => power_of_two("adapter.translation_cache.page", cache.page.0, &cache.page.to_string()),
        None => Ok(()),
    }
}

fn power_of_two(key: &str, value: u64, text: &str) -> Result<(), Found> {
    if value.is_power_of_two() {
        return Ok(());
    }
    Err((key.to_owned(), format!("{text} is not allowed: give a power of two")))
}

#[cfg(test)]
mod tests {
    use crate::read;

    #[test]
    fn sizes_are_powers_of_two() {
        let with = |adapter: &str| {
            let text = format!(
                "topology.single-switch = {{ hosts = 2 }}\nrun.duration = \"1 us\"\n[adapter]\n{adapter}\n"
            );
            let experiment = read(&text, "x.toml", &[]).unwrap();
            crate::check(&experiment, "x.toml").map_err(|error| error.to_string())
        };
        let pcie = |rest: &str| with(&format!("pcie = {{ generation = 3, {rest} }}"));
        assert_eq!(pcie("lanes = 8, payload = \"256 B\", read_request = \"1 KiB\"").err(), None);
        let wrong = [
            ("lanes = 12, payload = \"256 B\"", "adapter.pcie.lanes: 12 is not allowed"),
            ("lanes = 8, payload = \"300 B\"", "adapter.pcie.payload: 300 B is not allowed"),
            (
                "lanes = 8, payload = \"256 B\", read_request = \"600 B\"",
                "read_request: 600 B is not allowed",
            ),
        ];
        for (rest, message) in wrong {
            assert!(pcie(rest).unwrap_err().contains(message), "{rest}");
        }
        assert_eq!(with("translation_cache = { entries = 64 }").err(), None);
        let error = with("translation_cache = { entries = 64, page = \"5 KiB\" }").unwrap_err();
        assert!(error.contains("adapter.translation_cache.page: 5120 B is not allowed: give a power of two"));
    }
}

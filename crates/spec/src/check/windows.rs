//! Checks of congestion control with windows.

use super::Found;
use crate::CongestionControl;

pub(super) fn check(control: &CongestionControl) -> Result<(), Found> {
    let CongestionControl { swift, nscc, .. } = control;
    if swift.fs_max_cwnd <= swift.fs_min_cwnd {
        let (given, least) = (swift.fs_max_cwnd, swift.fs_min_cwnd);
        let message = format!("{given} is not allowed: give more than fs_min_cwnd, {least}");
        return fail("swift.fs_max_cwnd", message);
    }
    if let (Some(k_min), Some(k_max)) = (nscc.k_min, nscc.k_max)
        && k_max < k_min
    {
        return fail("nscc.k_max", format!("{k_max} is less than k_min, {k_min}"));
    }
    Ok(())
}

fn fail<T>(key: &str, message: String) -> Result<T, Found> {
    Err((format!("congestion_control.{key}"), message))
}

#[cfg(test)]
mod tests {
    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[run]
duration = '1 ms'
";

    fn refusal(key: &str, value: &str) -> Option<String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let experiment = match crate::read(SMALL, "e.toml", &overrides) {
            Ok(experiment) => experiment,
            Err(error) => return Some(error.to_string()),
        };
        crate::check(&experiment, "e.toml").err().map(|e| e.located(SMALL, &overrides).to_string())
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key_and_what_can() {
        for (key, value, says) in [
            ("base_rtt", "'0 s'", "base_rtt: 0 is not allowed: give a time above 0"),
            ("notification.every", "0", "every: 0 is not allowed"),
            ("swift.base_target", "'2 s'", "base_target: 2 s is not allowed"),
            ("swift.fs_max_cwnd", "0.05", "fs_max_cwnd: 0.05 is not allowed: give more than fs_min_cwnd"),
            ("swift.beta", "1.5", "beta: 1.5 is not allowed: give a number from 0 to 1"),
            ("swift.min_cwnd", "0", "min_cwnd: 0 is not allowed"),
            ("swift.ai", "nan", "ai: NaN is not allowed"),
            ("hpcc.eta", "0", "eta: 0 is not allowed: give a number from 0.01 to 1"),
            ("hpcc.flows", "0", "flows: 0 is not allowed"),
            ("hpcc.additive_increase", "'0 B'", "additive_increase: 0 B is not allowed"),
            ("nscc", "{ k_min = '2 KiB', k_max = '1 KiB' }", "k_max: 1024 B is less than k_min, 2048 B"),
            ("nscc.max_window", "0", "max_window: 0 is not allowed"),
            ("nscc.gama", "0.5", "did you mean `gamma`"),
        ] {
            let told = refusal(&format!("congestion_control.{key}"), value);
            assert!(told.as_ref().is_some_and(|told| told.contains(says)), "{key} = {value}: {told:?}");
        }
        assert_eq!(refusal("congestion_control.algorithm", "'nscc'"), None);
        assert_eq!(refusal("congestion_control.swift.hop_target", "'0 s'"), None);
    }
}

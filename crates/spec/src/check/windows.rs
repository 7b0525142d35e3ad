//! Checks of congestion control with windows.

use fabricsim_units::{Bytes, Time};

use super::Found;
use crate::{CongestionControl, Hpcc, Nscc, Swift};

/// Longest time of a round trip or of a target.
const LONGEST: Time = Time::ms(1000);

pub(super) fn check(control: &CongestionControl) -> Result<(), Found> {
    time("base_rtt", control.base_rtt)?;
    if control.notification.every == 0 {
        return fail(
            "notification.every",
            "0 is not allowed: give a whole number of packets from 1 to 65535".into(),
        );
    }
    swift(&control.swift)?;
    hpcc(&control.hpcc)?;
    nscc(&control.nscc)
}

fn fail<T>(key: &str, message: String) -> Result<T, Found> {
    Err((format!("congestion_control.{key}"), message))
}

fn time(key: &str, given: Option<Time>) -> Result<(), Found> {
    match given {
        Some(time) if time == Time::ZERO || time > LONGEST => {
            fail(key, format!("{time} is not allowed: give a time above 0, at most 1 s"))
        }
        _ => Ok(()),
    }
}

/// Checks that `value` is from `least` to `most`.
fn number(key: &str, value: f64, (least, most): (f64, f64)) -> Result<(), Found> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    fail(key, format!("{value} is not allowed: give a number from {least} to {most}"))
}

fn swift(swift: &Swift) -> Result<(), Found> {
    let Swift { fs_min_cwnd, fs_max_cwnd, ai, beta, max_mdf, min_cwnd, max_cwnd, .. } = *swift;
    time("swift.base_target", swift.base_target)?;
    for (name, given) in [("hop_target", Some(swift.hop_target)), ("fs_range", swift.fs_range)] {
        if given.is_some_and(|given| given > LONGEST) {
            let given = given.unwrap_or_default();
            return fail(&format!("swift.{name}"), format!("{given} is not allowed: give at most 1 s"));
        }
    }
    number("swift.fs_min_cwnd", fs_min_cwnd, (0.001, 1e6))?;
    number("swift.fs_max_cwnd", fs_max_cwnd, (0.001, 1e6))?;
    if fs_max_cwnd <= fs_min_cwnd {
        let message = format!("{fs_max_cwnd} is not allowed: give more than fs_min_cwnd, {fs_min_cwnd}");
        return fail("swift.fs_max_cwnd", message);
    }
    number("swift.ai", ai, (0.0, 1000.0))?;
    number("swift.beta", beta, (0.0, 1.0))?;
    number("swift.max_mdf", max_mdf, (0.0, 1.0))?;
    number("swift.min_cwnd", min_cwnd, (0.0001, 1.0))?;
    number("swift.max_cwnd", max_cwnd, (1.0, 1e6))
}

fn hpcc(hpcc: &Hpcc) -> Result<(), Found> {
    number("hpcc.eta", hpcc.eta, (0.01, 1.0))?;
    if hpcc.max_stage > 1000 {
        return fail("hpcc.max_stage", format!("{} is not allowed: give 0 to 1000", hpcc.max_stage));
    }
    if hpcc.additive_increase == Some(Bytes(0)) {
        return fail(
            "hpcc.additive_increase",
            "0 B is not allowed: a flow could not grow; give at least 1 B".into(),
        );
    }
    if hpcc.flows == 0 {
        return fail("hpcc.flows", "0 is not allowed: give a whole number from 1 to 65535".into());
    }
    Ok(())
}

fn nscc(nscc: &Nscc) -> Result<(), Found> {
    time("nscc.target_delay", nscc.target_delay)?;
    if let (Some(k_min), Some(k_max)) = (nscc.k_min, nscc.k_max)
        && k_max < k_min
    {
        return fail("nscc.k_max", format!("{k_max} is less than k_min, {k_min}"));
    }
    number("nscc.gamma", nscc.gamma, (0.0, 1.0))?;
    number("nscc.delay_weight", nscc.delay_weight, (0.0001, 1.0))?;
    number("nscc.proportional_increase", nscc.proportional_increase, (0.0, 1000.0))?;
    number("nscc.fair_increase", nscc.fair_increase, (0.0, 1000.0))?;
    number("nscc.eta", nscc.eta, (0.0, 1000.0))?;
    number("nscc.fast_increase", nscc.fast_increase, (0.0, 10.0))?;
    number("nscc.quick_adapt", nscc.quick_adapt, (1.0, 1000.0))?;
    number("nscc.max_window", nscc.max_window, (0.1, 100.0))
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
            ("base_rtt", "'0 s'", "base_rtt: 0 ns is not allowed: give a time above 0"),
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

//! Rules between the keys of a switch.

use fabricsim_units::{Bytes, Time};

use super::Problem;
use crate::{
    Allocation, Arbiter, Experiment, FlowControlBy, Queueing, RateMismatch, Switch, Switching, name,
};

/// Priorities of Ethernet.
const PRIORITIES: u8 = 8;

pub(super) fn check(switch: &Switch) -> Result<(), Problem> {
    head_delay(switch)?;
    unit_interval(switch)?;
    rate_mismatch(switch)?;
    lifetimes(switch)?;
    flow_control(switch)?;
    switch.vl_arbitration.as_ref().map_or(Ok(()), |tables| super::vl_arbitration::check(switch, tables))?;
    if switch.allocation == Allocation::Maximal {
        if !switch.speculative {
            let message = "false is only for `allocation = \"separable\"`";
            return Err(("switch.speculative", message.to_owned()));
        }
        return Ok(());
    }
    if switch.queueing != Queueing::Fifo {
        return Err(("switch.allocation", "`separable` is for `queueing = \"fifo\"` only".to_owned()));
    }
    if !matches!(switch.arbiter, Arbiter::RoundRobin | Arbiter::OldestFirst) {
        let message = "`separable` is for the arbiters `round-robin` and `oldest-first` only";
        return Err(("switch.allocation", message.to_owned()));
    }
    Ok(())
}

fn head_delay(switch: &Switch) -> Result<(), Problem> {
    const KEY: &str = "switch.head_delay";
    if switch.head_delay > switch.router_delay {
        let message = format!(
            "{} is not allowed: it is part of `switch.router_delay`, so at most {}",
            switch.head_delay, switch.router_delay
        );
        return Err((KEY, message));
    }
    if switch.head_delay > Time::ZERO && switch.queueing == Queueing::Cioq {
        let message = "not for `queueing = \"cioq\"`: give `switch.staging.delay` instead";
        return Err((KEY, message.to_owned()));
    }
    Ok(())
}

fn unit_interval(switch: &Switch) -> Result<(), Problem> {
    const KEY: &str = "switch.unit_interval";
    let fits = switch.queueing != Queueing::Cioq && switch.allocation == Allocation::Maximal;
    if switch.unit_interval > Time::ZERO && !fits {
        let message = "only for `queueing = \"fifo\"` and `\"voq\"` with `allocation = \"maximal\"`";
        return Err((KEY, message.to_owned()));
    }
    Ok(())
}

fn rate_mismatch(switch: &Switch) -> Result<(), Problem> {
    const KEY: &str = "switch.rate_mismatch";
    if switch.rate_mismatch == RateMismatch::DelayStart {
        return Ok(());
    }
    if switch.switching == Switching::StoreAndForward {
        let message = "\"hold-output\" is not for `switching = \"store-and-forward\"`: no packet leaves before its tail has arrived";
        return Err((KEY, message.to_owned()));
    }
    if switch.queueing == Queueing::Cioq {
        let message = "\"hold-output\" is not for `queueing = \"cioq\"`: use \"fifo\" or \"voq\"";
        return Err((KEY, message.to_owned()));
    }
    Ok(())
}

fn lifetimes(switch: &Switch) -> Result<(), Problem> {
    if switch.vl_stall_count > 0 && switch.head_of_queue_lifetime.is_none() {
        let message = "`head_of_queue_lifetime` is missing: it says which packets are counted";
        return Err(("switch.vl_stall_count", message.to_owned()));
    }
    if switch.has_lifetimes() && switch.allocation == Allocation::Separable {
        let key = match switch.head_of_queue_lifetime {
            Some(_) => "switch.head_of_queue_lifetime",
            None => "switch.lifetime_limit",
        };
        return Err((key, "not with `allocation = \"separable\"`: use \"maximal\"".to_owned()));
    }
    Ok(())
}

/// A lifetime at the head of queues that no port of InfiniBand has: `PortInfo.HOQLife` n of 0 to 19 stands for 4.096 us · 2^n.
pub(super) fn warning(switch: &Switch) -> Option<String> {
    /// 4.096 us.
    const UNIT: Time = Time::ns(4096);
    const MOST: u32 = 19;
    let given = switch.head_of_queue_lifetime?;
    let value = |n: u32| Time(UNIT.0 << n);
    let above = (0..=MOST).find(|&n| value(n) >= given);
    let nearest = match above {
        Some(n) if value(n) == given => return None,
        Some(0) => format!("the least is {UNIT}"),
        Some(n) => format!("the nearest are {} and {}", value(n - 1), value(n)),
        None => format!("the largest is {}", value(MOST)),
    };
    Some(format!(
        "switch.head_of_queue_lifetime: {given}: ports of InfiniBand have 4.096 us times a power of two; {nearest}"
    ))
}

fn flow_control(switch: &Switch) -> Result<(), Problem> {
    const KEY: &str = "switch.flow_control";
    if switch.allocation == Allocation::Separable && switch.flow_control != FlowControlBy::Ideal {
        let message = format!("\"{}\" is not for `allocation = \"separable\"`", name(&switch.flow_control));
        return Err((KEY, message));
    }
    match switch.flow_control {
        FlowControlBy::Ideal => return Ok(()),
        FlowControlBy::Pause => return pause(switch),
        FlowControlBy::Packets => {}
    }
    if switch.flow_control_unit != Bytes(64) {
        let unit = switch.flow_control_unit;
        let message = format!("`flow_control_unit` is {unit}: flow-control packets count blocks of 64 B");
        return Err((KEY, message));
    }
    Ok(())
}

/// A host with admission control does not say when it has space.
pub(super) fn pauses_of_hosts(experiment: &Experiment) -> Result<(), Problem> {
    if experiment.switch.flow_control == FlowControlBy::Pause && experiment.host.response_queue.is_some() {
        let message = "not with `switch.flow_control = \"pause\"`: hosts with admission control pause nothing; leave it out";
        return Err(("host.response_queue", message.to_owned()));
    }
    Ok(())
}

fn pause(switch: &Switch) -> Result<(), Problem> {
    if switch.virtual_lanes > PRIORITIES {
        let lanes = switch.virtual_lanes;
        let message = format!(
            "{lanes} lanes are more than the {PRIORITIES} priorities of Ethernet (`flow_control = \"pause\"`)"
        );
        return Err(("switch.virtual_lanes", message));
    }
    if switch.rate_mismatch == RateMismatch::HoldOutput {
        let message = "\"pause\" is not for `rate_mismatch = \"hold-output\"`";
        return Err(("switch.flow_control", message.to_owned()));
    }
    match (switch.pause.xon, switch.pause.xoff) {
        (Some(xon), Some(xoff)) if xon > xoff => {
            Err(("switch.pause.xon", format!("{xon} is more than `xoff`, {xoff}")))
        }
        _ => Ok(()),
    }
}

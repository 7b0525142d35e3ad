//! Packets and credits.

use fabricsim_spec::{LinkErrors, PartitionEnforcement};
use serde_json::Value;

use super::{Failure, Seen, ensure};

/// Injected packets are delivered, in flight, or lost.
pub fn packets(seen: &Seen) -> Result<(), Failure> {
    let invariants = serde_json::to_value(&seen.outcome.invariants).unwrap_or(Value::Null);
    let holds = seen.outcome.invariants.packets_ok && adds_up(&invariants);
    ensure("packets balance", holds, || format!("{invariants}"))?;
    let totals = &seen.outcome.totals;
    ensure("packets balance", invariants["injected"] == totals.injected, || {
        format!("{invariants}, {totals:?}")
    })
}

/// Every number is a part of `injected` and `replicated`, but these themselves, and `dropped`, the sum of `lost`.
fn adds_up(invariants: &Value) -> bool {
    let Some(numbers) = invariants.as_object() else { return false };
    let whole = ["injected", "replicated", "dropped"];
    let parts = numbers.iter().filter(|(key, _)| !whole.contains(&key.as_str())).map(|(_, value)| sum(value));
    sum(&invariants["injected"]) + sum(&invariants["replicated"]) == parts.sum::<u64>()
        && invariants["dropped"] == sum(&invariants["lost"])
}

fn sum(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::Object(parts) => parts.values().map(sum).sum(),
        _ => 0,
    }
}

/// Credits of every link and lane add up, and the run names no defect.
pub fn credits(seen: &Seen) -> Result<(), Failure> {
    ensure("credits balance", seen.outcome.invariants.credits_ok, || seen.outcome.defect.clone())?;
    ensure("no defect", seen.outcome.defect.is_empty(), || seen.outcome.defect.clone())
}

/// Packets that hosts count as lost are lost in the balance.
pub fn losses(seen: &Seen) -> Result<(), Failure> {
    let at_hosts = seen.tables.sum("transport", "lost")
        + seen.tables.sum("transport", "late")
        + seen.tables.sum("queue_pairs", "lost");
    let invariants = serde_json::to_value(&seen.outcome.invariants).unwrap_or(Value::Null);
    let lost = seen.outcome.totals.lost;
    let by_transports = lost.transport_loss + lost.lifetime;
    ensure("losses are counted", by_transports == at_hosts, || {
        format!("{at_hosts} lost at hosts, {invariants}")
    })?;
    let failed = lost.by_failures();
    let experiment = &seen.prepared.experiment;
    let may_fail = !experiment.faults.plan.is_empty();
    let trees_change = !experiment.multicast_groups.is_empty() && experiment.faults.reroute_after.is_some();
    let may_lack = experiment.subnet_manager.is_some() || trees_change;
    ensure("losses have causes", lost.no_route == 0 || may_lack, || {
        format!("{} lost without a route", lost.no_route)
    })?;
    let failed = failed - lost.no_route;
    ensure("losses have causes", failed == 0 || may_fail, || format!("{failed} lost without a failure"))?;
    let expired = lost.by_lifetimes();
    let switch = &experiment.switch;
    let may_expire = [
        (lost.head_of_queue_lifetime, switch.head_of_queue_lifetime.is_some()),
        (lost.vl_stalled, switch.vl_stall_count > 0),
        (lost.switch_lifetime, switch.lifetime_limit.is_some()),
    ];
    let may_err =
        [(lost.vcrc, experiment.links.errors == LinkErrors::Lose), (lost.icrc, switch.bit_error_rate > 0.0)];
    let may_refuse = !experiment.partitions.is_empty();
    ensure("losses have causes", lost.p_key == 0 || may_refuse, || {
        format!("{} lost without partitions", lost.p_key)
    })?;
    let enforces = switch.partition_enforcement != PartitionEnforcement::Off;
    ensure("losses have causes", lost.p_key_switch == 0 || enforces, || {
        format!("{} lost without enforcement", lost.p_key_switch)
    })?;
    ensure("losses have causes", lost.link_mtu == 0 || experiment.subnet_manager.is_some(), || {
        format!("{} lost for links whose MTU their sources know", lost.link_mtu)
    })?;
    ensure("pauses lose nothing", lost.buffer_overflow == 0, || {
        format!("{} lost in buffers with headroom", lost.buffer_overflow)
    })?;
    // What a port to a host refuses would be refused there. A manager may set one table, and not the other.
    let may_pass = !switch.partition_enforcement.is_outbound() || experiment.subnet_manager.is_some();
    ensure("losses have causes", lost.p_key == 0 || may_pass, || {
        format!("{} passed a port that enforces partitions", lost.p_key)
    })?;
    let holds = may_err.into_iter().all(|(lost, may)| lost == 0 || may);
    ensure("losses have causes", holds, || format!("{} lost without errors", lost.by_errors()))?;
    let holds = may_expire.into_iter().all(|(lost, may)| lost == 0 || may);
    ensure("losses have causes", holds, || format!("{expired} lost without a lifetime"))
}

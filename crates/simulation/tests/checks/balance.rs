//! Packets and credits.

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

/// Every number but `injected` is a part of it.
fn adds_up(invariants: &Value) -> bool {
    let Some(numbers) = invariants.as_object() else { return false };
    let parts =
        numbers.iter().filter(|(key, _)| *key != "injected").map(|(_, value)| sum(value)).sum::<u64>();
    invariants["injected"] == parts
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
    let at_hosts = seen.tables.sum("transport", "lost") + seen.tables.sum("transport", "late");
    let invariants = serde_json::to_value(&seen.outcome.invariants).unwrap_or(Value::Null);
    let kept = ["injected", "delivered", "in_flight"];
    let lost = invariants.as_object().map_or(0, |all| {
        all.iter().filter(|(key, _)| !kept.contains(&key.as_str())).map(|(_, value)| sum(value)).sum()
    });
    ensure("losses are counted", lost == at_hosts, || format!("{at_hosts} lost at hosts, {invariants}"))
}

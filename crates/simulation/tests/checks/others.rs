//! Congestion control, congestion trees, transports and jobs.

use fabricsim_spec::ControlPer;
use serde_json::Value;

use super::flows::equal;
use super::tables::close;
use super::{Failure, Seen, ensure};

/// Marks and notifications.
pub fn congestion(seen: &Seen) -> Result<(), Failure> {
    let Some(found) = &seen.outcome.summary.congestion else { return Ok(()) };
    let tables = &seen.tables;
    equal("marks", &[("summary", found.marked), ("links", tables.sum("links", "marked"))])?;
    equal("notifications", &[("summary", found.notified), ("flows", tables.sum("flows", "becn"))])?;
    for (column, value) in
        [("marked", found.marked), ("notified", found.notified), ("control_packets", found.control_packets)]
    {
        let all = tables.sum("run_series", column);
        let holds = if seen.is_whole() { all == value } else { all >= value };
        ensure("congestion over time", holds, || {
            format!("{column}: {all} in the series, {value} in the summary")
        })?;
    }
    let kept = tables.has("congestion_series") && !tables.whole("congestion_series", "becn").is_empty();
    if kept && tables.text("congestion_series", "flow").iter().all(|flow| flow != "*") {
        let (all, flows) = (tables.sum("run_series", "notified"), tables.sum("congestion_series", "becn"));
        ensure("congestion over time", flows <= all, || format!("{flows} of flows, {all} in all"))?;
    }
    // Of flows that are taken together the times add up.
    let control = &seen.prepared.experiment.congestion_control;
    let together = tables.text("flows", "destination").iter().any(|name| name == "*")
        || control.infiniband.control == ControlPer::ServiceLevel;
    let columns: &[&str] = if together { &["throttled"] } else { &["throttled", "held_back"] };
    for column in columns {
        for (row, &part) in tables.real("flows", column).iter().enumerate().filter(|_| seen.has_measured()) {
            let holds = (-1e-9..=1.0 + 1e-9).contains(&part);
            ensure("parts of the measurement", holds, || format!("flows, row {row}: {column} = {part}"))?;
        }
    }
    Ok(())
}

/// Roots, branches, contributors and victims of congestion.
pub fn trees(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let measured = seen.outcome.summary.measured_ns;
    if !seen.has_measured() {
        return Ok(());
    }
    let (roots, branches) = (tables.real("links", "root"), tables.real("links", "branch"));
    for (row, (root, branch)) in roots.iter().zip(branches).enumerate() {
        let holds = root.is_nan() || (*root >= 0.0 && *branch >= 0.0 && root + branch <= 1.0 + 1e-9);
        ensure("parts of the measurement", holds, || {
            format!("links, row {row}: root {root}, branch {branch}")
        })?;
    }
    for column in ["contributor_ns", "victim_ns"] {
        for (row, &time) in tables.real("congestion_flows", column).iter().enumerate() {
            ensure("parts of the measurement", time.is_nan() || time <= measured * (1.0 + 1e-9), || {
                format!("congestion_flows, row {row}: {column} = {time} of {measured}")
            })?;
        }
    }
    let [since, time, until] =
        ["since_ns", "time_ns", "until_ns"].map(|column| tables.real("congestion_trees", column));
    for (row, ((since, time), until)) in since.iter().zip(time).zip(until).enumerate() {
        ensure("congestion trees", since <= time && time <= until, || {
            format!("row {row}: from {since} to {until}, in full at {time}")
        })?;
    }
    Ok(())
}

/// Counters of transports.
pub fn transport(seen: &Seen) -> Result<(), Failure> {
    let Some(found) = &seen.outcome.summary.transport else { return Ok(()) };
    let tables = &seen.tables;
    let summary = serde_json::to_value(found).unwrap_or(Value::Null);
    let columns = tables.get("transport").map_or(&[][..], |table| &table.columns[..]);
    for name in columns.iter().map(|column| column.name).filter(|name| summary[*name].is_u64()) {
        let sum = tables.sum("transport", name);
        ensure("sums of transports", summary[name] == sum, || {
            format!("{name}: {sum} over hosts, {} in the summary", summary[name])
        })?;
    }
    equal("messages", &[("summary", found.messages), ("messages", tables.sum("messages", "messages"))])?;
    let of = |name| tables.sum("transport", name);
    let operations = of("delivered") - of("repeated");
    let shown = tables.sum("run_series", "packets");
    // With a delay of memory the last operations are not visible at the end.
    ensure("operations", shown <= operations, || format!("{shown} visible, {operations} delivered"))?;
    let known = of("received") + of("lost") + of("late");
    ensure("requests", of("received") <= of("requests"), || {
        format!("{known} arrived, {} sent", of("requests"))
    })?;
    ensure("requests", of("resent") <= of("requests"), || format!("{} resent", of("resent")))?;
    let times = tables.real("exchanges", "time_ns");
    ensure("exchanges are in order", times.is_sorted(), || {
        "a row is earlier than the one before".to_owned()
    })?;
    let limit = seen.prepared.experiment.measure.exchanges as usize;
    ensure("exchanges are in order", times.len() <= limit, || format!("{} rows of {limit}", times.len()))
}

/// Packets that are recorded link by link.
pub fn packet_hops(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let Some(table) = tables.get("packet_hops") else { return Ok(()) };
    let limit = seen.prepared.experiment.measure.packet_hops as usize;
    ensure("rows of packets", table.rows() <= limit, || format!("{} rows of {limit}", table.rows()))?;
    let of = |name| tables.real("packet_hops", name);
    let (ready, start, end) = (of("ready_ns"), of("start_ns"), of("end_ns"));
    let (waited, busy, input) = (of("waited_ns"), of("busy_ns"), of("input_ns"));
    ensure("packets are in order of time", start.is_sorted(), || {
        "a row is earlier than the one before".to_owned()
    })?;
    for row in 0..table.rows() {
        let is_ordered = ready[row] <= start[row] && start[row] < end[row];
        ensure("times of a packet", is_ordered, || {
            format!("row {row}: ready at {}, sent from {} to {}", ready[row], start[row], end[row])
        })?;
        let known = busy[row] + input[row];
        ensure("waits of a packet", known <= waited[row] + 1e-6, || {
            format!("row {row}: link or input were busy for {known} of {}", waited[row])
        })?;
    }
    Ok(())
}

/// Counters of queue pairs.
pub fn queue_pairs(seen: &Seen) -> Result<(), Failure> {
    let Some(found) = &seen.outcome.summary.queue_pairs else { return Ok(()) };
    let tables = &seen.tables;
    let summary = serde_json::to_value(found).unwrap_or(Value::Null);
    let columns = tables.get("queue_pairs").map_or(&[][..], |table| &table.columns[..]);
    let counters = columns.iter().map(|column| column.name).filter(|name| summary[*name].is_u64());
    for name in counters.filter(|name| *name != "messages") {
        let sum = tables.sum("queue_pairs", name);
        ensure("sums of queue pairs", summary[name] == sum, || {
            format!("{name}: {sum} over queue pairs, {} in the summary", summary[name])
        })?;
    }
    equal("messages", &[("summary", found.messages), ("messages", tables.sum("messages", "messages"))])?;
    let counts = &found.counts;
    let once = counts.packets - counts.retransmitted;
    ensure("each packet is executed once", counts.executed <= once, || format!("{once} sent, {counts:?}"))?;
    let shown = tables.sum("run_series", "packets");
    equal("executed", &[("queue pairs", counts.executed), ("run_series", shown)])?;
    let has_ended = seen.outcome.invariants.in_flight == 0 && counts.errors == 0;
    let failed = counts.failed == 0 || counts.errors > 0;
    ensure("messages fail with their queue pair", failed, || format!("{counts:?}"))?;
    let is_whole = seen.prepared.experiment.run.drain == fabricsim_spec::Drain::Empty && has_ended;
    ensure("all packets are executed", !is_whole || counts.executed == once, || format!("{once}: {counts:?}"))
}

/// Iterations of jobs.
pub fn jobs(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let (names, times) = (tables.text("jobs", "job"), tables.real("jobs", "time_ns"));
    let (starts, ends) = (tables.real("jobs", "start_ns"), tables.real("jobs", "end_ns"));
    for row in 0..names.len() {
        let holds = starts[row] <= ends[row] && close(times[row], ends[row] - starts[row]);
        ensure("times of jobs", holds || (times[row] - ends[row] + starts[row]).abs() < 1e-6, || {
            format!("row {row}: {} to {}, {}", starts[row], ends[row], times[row])
        })?;
    }
    for job in &seen.outcome.summary.jobs.jobs {
        let rows = names.iter().filter(|name| **name == job.job).count();
        ensure("iterations of jobs", job.done as usize == rows && job.done <= job.iterations, || {
            format!("{rows} rows, {job:?}")
        })?;
        let bytes = tables.whole("jobs", "bytes").iter().zip(names).filter(|(_, name)| **name == job.job);
        let bytes: i64 = bytes.map(|(bytes, _)| bytes).sum();
        ensure("bytes of jobs", bytes as u64 == job.bytes, || format!("{bytes} B in rows, {job:?}"))?;
    }
    let bounds = fabricsim_simulation::job_bounds(seen.prepared).unwrap_or_default();
    for (bound, job) in bounds.iter().zip(&seen.outcome.summary.jobs.jobs) {
        let holds = job.done < job.iterations || bound.time_ns <= job.time_ns + 1e-6;
        ensure("bounds of jobs", holds, || format!("{bound:?} {job:?}"))?;
        let computes = job.done == 0 || job.exposed_ns >= 0.0;
        ensure("exposed communication", computes, || format!("{job:?}"))?;
    }
    Ok(())
}

//! Captures: the same in every number of partitions, with right checksums, and without an effect on the run.

use fabricsim_simulation::{CapturePlan, CaptureReport, Capturing, Control, Outcome, simulate_captured};
use fabricsim_wire::dissect::dissect;

use super::{Failure, ensure, prepare};

const CHECK: &str = "capture";

/// Checks the capture of an experiment that has one; `alone` is its run without.
pub fn captured(text: &str, alone: &Outcome) -> Result<(), Failure> {
    let (outcome, report, file) = run(text, "1")?;
    ensure(CHECK, outcome.totals == alone.totals && outcome.end == alone.end, || {
        format!("{:?} with it, {:?} without", outcome.totals, alone.totals)
    })?;
    let records = dissect(&file, "capture").map_err(|error| failure(error.to_string()))?;
    ensure(CHECK, records.len() as u64 == report.packets, || format!("{} of {report:?}", records.len()))?;
    let wrong = records.iter().find(|record| {
        let packet = &record.packet;
        let is_right = match &packet.fcp {
            Some(fcp) => fcp.lpcrc.ok,
            None => packet.icrc.is_some_and(|sum| sum.ok) && packet.vcrc.is_some_and(|sum| sum.ok),
        };
        !is_right && packet.problem.is_none()
    });
    ensure(CHECK, wrong.is_none(), || format!("a checksum is wrong: {wrong:?}"))?;
    let cut = records.iter().filter(|record| record.packet.problem.is_some()).count();
    ensure(CHECK, cut as u64 == report.cut, || format!("{cut} packets are malformed, {report:?}"))?;
    let (_, other_report, other) = run(text, "3")?;
    ensure(CHECK, report == other_report && file == other, || {
        format!("{report:?}, in three partitions {other_report:?}")
    })
}

fn failure(message: String) -> Failure {
    Failure { check: CHECK, message }
}

fn run(text: &str, partitions: &str) -> Result<(Outcome, CaptureReport, Vec<u8>), Failure> {
    let overrides = [("run.allow_deadlock", "true"), ("run.partitions", partitions)];
    let prepared = prepare(text, &overrides).map_err(failure)?;
    let Some(capture) = &prepared.experiment.capture else { return Err(failure("there is none".to_owned())) };
    let plan = CapturePlan::new(capture, &prepared, "generated.toml").map_err(|e| failure(e.to_string()))?;
    let mut file = Vec::new();
    let done = simulate_captured(&prepared, &Control::default(), &plan, &mut file, Capturing::WholeRun);
    let (outcome, report) = done.map_err(|error| failure(error.to_string()))?;
    Ok((outcome, report, file))
}

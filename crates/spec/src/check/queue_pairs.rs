//! Checks of the settings of queue pairs.

use fabricsim_units::Bytes;

use super::Found;
use crate::queue_pairs::{PATH_MTUS, QUEUE_PAIR_HEADERS};
use crate::{DrawPer, Experiment, MessageVerb, OrderingMode, OutOfOrder, QueuePairs};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let Some(queue_pairs) = &experiment.queue_pairs else { return Ok(()) };
    path_mtu(queue_pairs, experiment.host.mtu)?;
    if experiment.transport.mode != OrderingMode::None {
        let message = "is not for queue pairs, which have a transport of their own: omit it or `queue_pairs`";
        return Err(("transport.mode".to_owned(), message.to_owned()));
    }
    if queue_pairs.out_of_order == OutOfOrder::Place && queue_pairs.verb != MessageVerb::Write {
        return fail("out_of_order", "`place` is for `verb = \"write\"`: give `hold`".to_owned());
    }
    for (i, traffic) in experiment.traffic.iter().enumerate() {
        if traffic.draw_per == DrawPer::Packet {
            let message = "`packet` is not for queue pairs: all packets of a message go to one host";
            return Err((format!("traffic.{i}.draw_per"), message.to_owned()));
        }
    }
    Ok(())
}

fn path_mtu(queue_pairs: &QueuePairs, largest: Bytes) -> Result<(), Found> {
    let known = PATH_MTUS.map(|mtu| mtu.to_string()).join(", ");
    if let Some(given) = queue_pairs.path_mtu {
        if !PATH_MTUS.contains(&given) {
            return fail("path_mtu", format!("{given} is not allowed: give one of {known}"));
        }
        let needed = Bytes(given.0 + QUEUE_PAIR_HEADERS);
        if needed > largest {
            let message =
                format!("packets take up to {needed} with their headers, more than `host.mtu` of {largest}");
            return fail("path_mtu", message);
        }
    }
    if queue_pairs.path_mtu(largest).is_none() {
        let least = Bytes(PATH_MTUS[0].0 + QUEUE_PAIR_HEADERS);
        let message =
            format!("{largest} is too small for queue pairs: give at least {least}, for a path MTU of 256 B");
        return Err(("host.mtu".to_owned(), message));
    }
    Ok(())
}

fn fail<T>(key: &str, message: String) -> Result<T, Found> {
    Err((format!("queue_pairs.{key}"), message))
}

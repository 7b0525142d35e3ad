//! Choice among the LIDs of a destination (LMC): each has routes of its own.

use fabricsim_spec::PathChoice;
use fabricsim_units::HostId;

/// The LIDs to which a host sends.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct PathChooser {
    #[state(fixed)]
    source: HostId,
    /// Number of LIDs of a destination: a power of two.
    #[state(fixed)]
    paths: u8,
    choice: Choice,
}

#[derive(Clone, Debug, fabricsim_state::Value)]
enum Choice {
    /// The next LID by destination.
    InTurn(Vec<u8>),
    /// By source, destination and stream.
    Hashed,
    /// Bytes sent to each LID.
    LeastLoaded(Vec<u64>),
}

impl PathChooser {
    /// The choice of a host among the `paths` LIDs of each of `hosts`; `None` if it sends to the first only.
    pub(crate) fn new(choice: PathChoice, (source, paths): (HostId, u8), hosts: usize) -> Option<Self> {
        let choice = match choice {
            PathChoice::InTurn => Choice::InTurn(vec![0; hosts]),
            PathChoice::Hashed => Choice::Hashed,
            PathChoice::LeastLoaded => Choice::LeastLoaded(vec![0; hosts * usize::from(paths)]),
            PathChoice::First | PathChoice::Addressed => return None,
        };
        (paths > 1).then_some(Self { source, paths, choice })
    }

    /// The LID, from 0, for the next packet of a stream to a destination; of a packet of the protocol itself without a stream.
    pub(crate) fn next(&self, destination: HostId, stream: Option<u16>) -> u8 {
        match &self.choice {
            Choice::InTurn(next) => next[destination.index()],
            Choice::Hashed => {
                let stream = stream.map_or(u64::from(u16::MAX), u64::from);
                let flow = u64::from(self.source.0) << 40 ^ u64::from(destination.0) << 16 ^ stream;
                (mixed(flow) >> 32) as u8 & (self.paths - 1)
            }
            Choice::LeastLoaded(sent) => {
                let first = destination.index() * usize::from(self.paths);
                let sent = &sent[first..][..usize::from(self.paths)];
                (0..self.paths).min_by_key(|&path| sent[usize::from(path)]).unwrap_or(0)
            }
        }
    }

    /// A packet is sent to the LID that [`PathChooser::next`] has returned.
    pub(crate) fn sent(&mut self, destination: HostId, path: u8, bytes: u32) {
        let destination = destination.index();
        match &mut self.choice {
            Choice::InTurn(next) => next[destination] = (path + 1) & (self.paths - 1),
            Choice::Hashed => {}
            Choice::LeastLoaded(sent) => {
                sent[destination * usize::from(self.paths) + usize::from(path)] += u64::from(bytes);
            }
        }
    }
}

/// A number whose bits all depend on all bits of `value` (the finaliser of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(chooser: &mut PathChooser, destination: u32, bytes: u32) -> u8 {
        let destination = HostId(destination);
        let path = chooser.next(destination, Some(0));
        chooser.sent(destination, path, bytes);
        path
    }

    fn chooser(choice: PathChoice) -> PathChooser {
        PathChooser::new(choice, (HostId(0), 4), 100).unwrap()
    }

    #[test]
    fn each_destination_has_its_turns() {
        let mut chooser = chooser(PathChoice::InTurn);
        let order = [1, 1, 2, 1, 2, 1, 1].map(|destination| sent(&mut chooser, destination, 64));
        assert_eq!(order, [0, 1, 0, 2, 1, 3, 0]);
    }

    #[test]
    fn the_least_loaded_has_the_fewest_bytes() {
        let mut chooser = chooser(PathChoice::LeastLoaded);
        let order = [1000, 100, 100, 500, 100, 100].map(|bytes| sent(&mut chooser, 7, bytes));
        assert_eq!(order, [0, 1, 2, 3, 1, 2]);
    }

    #[test]
    fn a_flow_has_one_path_and_flows_have_all() {
        let chooser = chooser(PathChoice::Hashed);
        let mut counts = [0; 4];
        for destination in 0..100 {
            for stream in 0..4 {
                counts[usize::from(chooser.next(HostId(destination), Some(stream)))] += 1;
            }
        }
        // 400 draws: 100 each, within four standard deviations of sqrt(400 * 3 / 16) = 8.7.
        assert!(counts.iter().all(|count| (65..=135).contains(count)), "{counts:?}");
        assert!(PathChooser::new(PathChoice::First, (HostId(0), 4), 1).is_none());
        assert!(PathChooser::new(PathChoice::InTurn, (HostId(0), 1), 1).is_none());
    }
}

//! Random streams of the workload.

use fabricsim_units::HostId;

/// Purpose of random numbers: each use has streams of its own. The tag keeps them apart from those of other parts
/// of the simulator.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    Timing = 0x776f_726b_6c6f_6100,
    Destination,
    Size,
    Permutation,
    Response,
    Placement,
}

/// Key of the random numbers of a stream of a host.
pub(crate) fn key(stream: u16, host: HostId) -> u64 {
    u64::from(stream) << 32 | u64::from(host.0)
}

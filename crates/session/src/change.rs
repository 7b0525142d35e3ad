use fabricsim_model::Observer;
use fabricsim_units::HostId;

use crate::Session;

/// A change of the fabric in operation, at the session's time. Links and switches that fail, and tables that are replaced, are
/// variants to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A host opens messages from now on, or not. Those that it has opened are sent in any case. What its sources create, and
    /// the caller injects, while it opens none waits until it does.
    Traffic {
        /// The host.
        host: HostId,
        /// True if it opens messages.
        sends: bool,
    },
}

/// Reason why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such host.
    #[error("host {host}: must be less than {hosts}")]
    NoHost {
        /// Its number.
        host: u32,
        /// Number of hosts.
        hosts: usize,
    },
}

impl<B: Observer> Session<B> {
    /// Makes a change now.
    ///
    /// # Errors
    ///
    /// The change names something that the fabric does not have.
    pub fn configure(&mut self, change: Change) -> Result<(), ChangeError> {
        match change {
            Change::Traffic { host, sends } => {
                let hosts = self.hosts;
                if host.index() >= hosts {
                    return Err(ChangeError::NoHost { host: host.0, hosts });
                }
                self.engine.set_traffic(host, sends);
                Ok(())
            }
        }
    }
}

//! Address handles, of datagrams.

use fabricsim_units::HostId;

use super::Device;
use crate::error::{VerbsError, invalid};
use crate::handles::{Ah, Pd};

impl Device {
    /// Creates an address handle for a host, or for a multicast group of which the port is a member (`ibv_create_ah`).
    pub fn create_ah(&mut self, pd: Pd, host: HostId) -> Result<Ah, VerbsError> {
        self.check_pd(pd)?;
        self.check_host(host).map_err(|text| invalid(format!("create_ah: {text}")))?;
        self.addresses.push(Some((pd, host)));
        Ok(Ah(self.addresses.len() as u32 - 1))
    }

    /// Destroys an address handle (`ibv_destroy_ah`). Datagrams that are posted keep their address.
    pub fn destroy_ah(&mut self, ah: Ah) -> Result<(), VerbsError> {
        self.address_of(ah)?;
        self.addresses[ah.0 as usize] = None;
        Ok(())
    }
}

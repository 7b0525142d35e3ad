//! Address handles, of datagrams; checks of address vectors and of P_Key indices.

use fabricsim_units::HostId;
use fabricsim_wire::ids::PKey;

use super::{AsyncEvent, Device};
use crate::error::{VerbsError, invalid};
use crate::handles::{Ah, Pd};
use crate::multicast::group_lid;
use crate::path::AddressVector;

impl Device {
    /// Creates an address handle for a host, or for a multicast group of which the port is a member (`ibv_create_ah`).
    pub fn create_ah(&mut self, pd: Pd, address: impl Into<AddressVector>) -> Result<Ah, VerbsError> {
        let address = address.into();
        self.check_pd(pd)?;
        self.check_address(address, "ah_attr").map_err(|text| invalid(format!("create_ah: {text}")))?;
        self.addresses.push(Some((pd, address)));
        Ok(Ah(self.addresses.len() as u32 - 1))
    }

    /// Destroys an address handle (`ibv_destroy_ah`). Datagrams that are posted keep their address.
    pub fn destroy_ah(&mut self, ah: Ah) -> Result<(), VerbsError> {
        self.address_of(ah)?;
        self.addresses[ah.0 as usize] = None;
        Ok(())
    }

    pub(super) fn check_host(&self, host: HostId) -> Result<(), String> {
        if let Some(group) = host.group() {
            return self.member_group(group_lid(group)).map(|_| ());
        }
        let hosts = self.port.hosts;
        if host.0 < hosts {
            Ok(())
        } else {
            Err(format!("there is no host {}: the fabric has {hosts}", host.0))
        }
    }

    /// Checks the path to a host, or to a multicast group, that is given as `name`.
    pub(super) fn check_address(&self, of: AddressVector, name: &str) -> Result<(), String> {
        self.check_host(of.host)?;
        check_level(of.sl, self.port.levels).map_err(|text| format!("{name}.{text}"))?;
        let paths = self.port.paths;
        match of.path {
            Some(path) if path >= paths => Err(format!("{name}.dlid: path {path}: {}", allowed_paths(paths))),
            _ if of.source_path >= paths => {
                Err(format!("{name}.src_path_bits = {}: {}", of.source_path, allowed_paths(paths)))
            }
            _ => Ok(()),
        }
    }

    /// The P_Key of the port with an index (`ibv_query_pkey`).
    pub fn query_pkey(&self, index: u16) -> Result<PKey, VerbsError> {
        self.p_key(index).map_err(|text| invalid(format!("query_pkey: {text}")))
    }

    /// Sets the P_Key table of the port, as a subnet manager does (`IBV_EVENT_PKEY_CHANGE`). A queue pair has the key at its index from now on;
    /// where there is none, no other port accepts its packets.
    pub fn set_p_keys(&mut self, table: Vec<PKey>) {
        let is_same = self.p_keys() == table;
        self.subnet.p_keys = table;
        if is_same {
            return;
        }
        for index in 0..self.qps.len() {
            let place = self.qps[index].as_ref().and_then(|qp| qp.attributes.p_key_index);
            let Some(key) = place.map(|place| self.p_key(place).unwrap_or_default()) else { continue };
            if let Some(qp) = &mut self.qps[index] {
                qp.set_p_key(key);
            }
        }
        self.events.push_back(AsyncEvent::PartitionKeysChanged);
    }

    /// The P_Key table of the port.
    fn p_keys(&self) -> &[PKey] {
        if self.subnet.p_keys.is_empty() { &[PKey::DEFAULT] } else { &self.subnet.p_keys }
    }

    /// The P_Key of the port with an index.
    pub(super) fn p_key(&self, index: u16) -> Result<PKey, String> {
        let table = self.p_keys();
        table.get(usize::from(index)).copied().ok_or_else(|| {
            let has = match table.len() {
                1 => "one entry, with index 0".to_owned(),
                entries => format!("{entries} entries, with indices 0 to {}", entries - 1),
            };
            format!("pkey_index = {index}: the port's table has {has}")
        })
    }
}

fn check_level(sl: u8, levels: u8) -> Result<(), String> {
    match levels {
        _ if sl < levels => Ok(()),
        1 => Err(format!(
            "sl = {sl}: must be 0: the experiment has one service level (`switch.sl2vl`, `switch.service_classes`)"
        )),
        _ => Err(format!("sl = {sl}: must be 0 to {}", levels - 1)),
    }
}

fn allowed_paths(paths: u8) -> String {
    match paths {
        1 => "must be 0: packets go to the first LID of a host (`routing.lmc`, `routing.paths`)".to_owned(),
        _ => format!("must be 0 to {}", paths - 1),
    }
}

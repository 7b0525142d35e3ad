//! Bytes of regions, as the program of an adapter has them.

use super::{Content, Memory, Region};
use crate::error::{VerbsError, invalid};
use crate::handles::Mr;

impl Memory {
    /// Copies bytes out of a region.
    pub(crate) fn read(&self, mr: Mr, offset: u64, length: u64) -> Result<Vec<u8>, VerbsError> {
        let region = self.get(mr)?;
        let start = within(region, mr, offset, length)?;
        match &region.content {
            Content::Real(bytes) => Ok(bytes[start..start + length as usize].to_vec()),
            Content::Void(_) => Err(invalid(format!("region {} holds no bytes", mr.0))),
        }
    }

    /// Copies bytes into a region.
    pub(crate) fn write(&mut self, mr: Mr, offset: u64, data: &[u8]) -> Result<(), VerbsError> {
        let region = self.get_mut(mr)?;
        let start = within(region, mr, offset, data.len() as u64)?;
        match &mut region.content {
            Content::Real(bytes) => bytes[start..start + data.len()].copy_from_slice(data),
            Content::Void(_) => return Err(invalid(format!("region {} holds no bytes", mr.0))),
        }
        Ok(())
    }

    /// Makes a region hollow, or not any more.
    pub(crate) fn set_hollow(&mut self, mr: Mr, is_hollow: bool) -> Result<(), VerbsError> {
        self.get_mut(mr)?.is_hollow = is_hollow;
        Ok(())
    }

    /// Takes the bytes of a region out.
    pub(crate) fn lend(&mut self, mr: Mr) -> Result<Vec<u8>, VerbsError> {
        match &mut self.get_mut(mr)?.content {
            Content::Real(bytes) => Ok(std::mem::take(bytes)),
            Content::Void(_) => Err(invalid(format!("region {} holds no bytes", mr.0))),
        }
    }

    /// Puts the bytes of a region back.
    pub(crate) fn take_back(&mut self, mr: Mr, lent: Vec<u8>) {
        if let Ok(Region { content: Content::Real(bytes), .. }) = self.get_mut(mr) {
            *bytes = lent;
        }
    }
}

fn within(region: &Region, mr: Mr, offset: u64, length: u64) -> Result<usize, VerbsError> {
    let is_in = offset.checked_add(length).is_some_and(|end| end <= region.len());
    let text = || {
        invalid(format!("{length} B from {offset} are not in region {}, which has {} B", mr.0, region.len()))
    };
    if is_in { Ok(offset as usize) } else { Err(text()) }
}

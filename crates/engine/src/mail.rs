//! What leaves an entity: events for the queue of its partition, and mail to other partitions.

use fabricsim_fabric::pause::PauseFrame;
use fabricsim_fabric::{NONE, Outbox, Ramp, Slot};
use fabricsim_model::{ExtensionHeaders, LossCause};
use fabricsim_units::{Time, Vl};

use crate::assembly::Directory;
use crate::calendar::{Calendar, Event, Kind};

/// Packet of the event of a port's flow control: there is none with this number.
pub(crate) const CONTROL: u32 = NONE - 1;

/// Packet of the event at which a pause frame takes effect at a sender.
pub(crate) const HEAR: u32 = NONE - 2;

/// Message from one partition to another.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) enum Mail {
    /// A packet that may be sent on at a switch from a time on.
    Packet { at: Time, channel: u32, slot: Slot, extensions: Option<Box<ExtensionHeaders>> },
    /// Credits for the sender of a channel.
    Credit { channel: u32, lane: Vl, ramp: Ramp },
    /// Blocks that leave the input buffer behind a channel, or will not come.
    Release { channel: u32, lane: Vl, ramp: Ramp },
    /// A pause frame for the sender of a channel, which takes effect at a time.
    Pause { at: Time, channel: u32, frame: PauseFrame },
    /// Load of an output, for all partitions.
    Published { epoch: u64, output: u32, blocks: u32 },
}

impl Mail {
    /// Partition and port that it is for; `None` if it is for all.
    #[inline]
    pub(crate) fn address(&self, directory: &Directory) -> Option<(u16, u32)> {
        match self {
            Self::Packet { channel, .. } | Self::Release { channel, .. } => {
                Some(directory.receiver[*channel as usize])
            }
            Self::Credit { channel, .. } | Self::Pause { channel, .. } => {
                Some(directory.sender[*channel as usize])
            }
            Self::Published { .. } => None,
        }
    }

    /// Time from which on it has an effect, for mail of a window that ends at `end`. Credits count from there on.
    #[inline]
    pub(crate) fn acts_at(&self, end: Time) -> Time {
        match self {
            Self::Packet { at, .. } | Self::Pause { at, .. } => *at,
            Self::Credit { .. } | Self::Release { .. } | Self::Published { .. } => end,
        }
    }
}

/// Outbox of a partition's entities: events go to its own queue, or as mail to other partitions.
#[derive(Clone, fabricsim_state::Value)]
pub(crate) struct PartitionOutbox {
    pub(crate) calendar: Calendar,
    pub(crate) mail: Vec<Mail>,
    /// Bytes of the smallest packet that has gone to another partition; [`u32::MAX`] before the first.
    pub(crate) smallest: u32,
    /// Packets that switches have discarded at the present time step.
    pub(crate) discarded: Vec<(u32, LossCause)>,
}

impl Outbox for PartitionOutbox {
    #[inline(always)]
    fn arrive(&mut self, at: Time, port: u32, packet: u32) {
        self.calendar.push(Event::new(at.0, Kind::Arrive, port, packet));
    }
    #[inline]
    fn deliver(&mut self, at: Time, port: u32, packet: u32) {
        self.calendar.push(Event::new(at.0, Kind::Deliver, port, packet));
    }
    #[inline]
    fn wake(&mut self, at: Time, port: u32) {
        self.calendar.push(Event::new(at.0, Kind::Wake, port, 0));
    }
    #[inline]
    fn look(&mut self, at: Time, port: u32) {
        self.calendar.push(Event::new(at.0, Kind::Look, port, NONE));
    }
    fn lose(&mut self, at: Time, port: u32, packet: u32) {
        self.calendar.push(Event::new(at.0, Kind::Look, port, packet));
    }
    fn control(&mut self, at: Time, port: u32) {
        self.calendar.push(Event::new(at.0, Kind::Look, port, CONTROL));
    }
    fn hear(&mut self, at: Time, port: u32) {
        self.calendar.push(Event::new(at.0, Kind::Look, port, HEAR));
    }
    fn remote_pause(&mut self, at: Time, channel: u32, frame: PauseFrame) {
        self.mail.push(Mail::Pause { at, channel, frame });
    }
    fn remote_release(&mut self, channel: u32, lane: Vl, ramp: Ramp) {
        self.mail.push(Mail::Release { channel, lane, ramp });
    }
    fn discard(&mut self, packet: u32, cause: LossCause) {
        self.discarded.push((packet, cause));
    }
    fn remote_packet(
        &mut self,
        at: Time,
        channel: u32,
        slot: Slot,
        extensions: Option<Box<ExtensionHeaders>>,
    ) {
        self.smallest = self.smallest.min(slot.packet.bytes);
        self.mail.push(Mail::Packet { at, channel, slot, extensions });
    }
    fn remote_credit(&mut self, channel: u32, lane: Vl, ramp: Ramp) {
        self.mail.push(Mail::Credit { channel, lane, ramp });
    }
}

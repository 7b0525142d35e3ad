use crate::record::record;

record! {
    /// Raw header of packets with an ethertype (IBA volume 1, section 5.3).
    RawHeader, RawHeaderView, 4 {
        /// Protocol of the payload.
        ethertype: u16 = 2:0, 16;
    }
}

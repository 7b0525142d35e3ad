use crate::record::record;

record! {
    /// Header of the reliable multi-packet protocol (section 13.6.2.1).
    Rmpp, RmppView, 12 {
        /// Version, 1.
        version: u8 = 0:0, 8;
        /// 0 not active, 1 data, 2 acknowledgement, 3 stop, 4 abort.
        kind: u8 = 1:0, 8;
        /// Longest time to a response: 4.096 us * 2^n; 31 for none.
        response_time: u8 = 2:0, 5;
        /// True for the last segment.
        is_last: bool = 2:5, 1;
        /// True for the first segment.
        is_first: bool = 2:6, 1;
        /// True if the protocol is in use.
        is_active: bool = 2:7, 1;
        /// Outcome of a stop or abort.
        status: u8 = 3:0, 8;
        /// Data and acknowledgement: number of the segment, from 1.
        data1: u32 = 4:0, 32;
        /// Data: bytes of payload. Acknowledgement: last segment of the window.
        data2: u32 = 8:0, 32;
    }
}

impl Rmpp {
    /// [`Rmpp::kind`] of data.
    pub const DATA: u8 = 1;
    /// [`Rmpp::kind`] of an acknowledgement.
    pub const ACK: u8 = 2;
    /// [`Rmpp::kind`] of the end of a transfer by its receiver.
    pub const STOP: u8 = 3;
    /// [`Rmpp::kind`] of the end of a transfer because of an error.
    pub const ABORT: u8 = 4;
}

//! Counters that are sampled over an interval.

use crate::field::Table;
use crate::record::record;

record! {
    /// Control of counters that are sampled (table 217).
    PortSamplesControl, PortSamplesControlView, 80 {
        /// Opcode that some counters count.
        op_code: u8 = 0:0, 8;
        /// The port.
        port_select: u8 = 1:0, 8;
        /// Unit of time of the port.
        tick: u8 = 2:0, 8;
        /// Width of the counters: 16 + 4 n bits.
        counter_width: u8 = 3:5, 3;
        /// Whether counters 0 to 9 exist and can be chosen.
        counter_masks0_to_9: Table<u8, 10> = 4:2, 3;
        /// Whether counters 10 to 14 exist and can be chosen.
        counter_masks10_to_14: Table<u8, 5> = 8:1, 3;
        /// Mechanisms of sampling, less 1.
        sample_mechanisms: u8 = 10:0, 8;
        /// 0 done, 1 started, 2 running.
        sample_status: u8 = 11:6, 2;
        /// Counters of the specification that the port has.
        option_mask: u64 = 12:0, 64;
        /// Counters of the vendor that the port has.
        vendor_mask: u64 = 20:0, 64;
        /// Ticks before the start.
        sample_start: u32 = 28:0, 32;
        /// Ticks that are sampled.
        sample_interval: u32 = 32:0, 32;
        /// Number of the sampling.
        tag: u16 = 36:0, 16;
        /// Counters that are sampled.
        counter_select: Table<u16, 15> = 38:0, 16;
        /// Counters that can only be sampled.
        samples_only_option_mask: u64 = 72:0, 64;
    }
}

record! {
    /// Sampled counters (table 218).
    PortSamplesResult, PortSamplesResultView, 64 {
        /// Number of the sampling.
        tag: u16 = 0:0, 16;
        /// 0 done, 1 started, 2 running.
        sample_status: u8 = 3:6, 2;
        /// The counters.
        counters: Table<u32, 15> = 4:0, 32;
    }
}

record! {
    /// Sampled counters with 64 bits (section 16.1.4.12).
    PortSamplesResultExtended, PortSamplesResultExtendedView, 132 {
        /// Number of the sampling.
        tag: u16 = 0:0, 16;
        /// 0 done, 1 started, 2 running.
        sample_status: u8 = 3:6, 2;
        /// Width of the counters: 1 48 bits, 2 64 bits.
        extended_width: u8 = 4:0, 2;
        /// The counters.
        counters: Table<u64, 15> = 8:0, 64;
    }
}

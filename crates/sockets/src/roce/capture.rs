//! Capture of a port's frames in libpcap's format (draft-ietf-opsawg-pcap).

use fabricsim_wire::capture::LinkType;

/// First word of a file with times in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;

/// Version 2.4.
const VERSION: u32 = 4 << 16 | 2;

/// Longest record.
const SNAPSHOT: u32 = 65535;

/// Capture file in memory.
#[derive(Clone, Debug)]
pub struct FrameRecorder {
    bytes: Vec<u8>,
}

impl Default for FrameRecorder {
    fn default() -> Self {
        let mut recorder = Self { bytes: Vec::new() };
        recorder.words(&[MAGIC, VERSION, 0, 0, SNAPSHOT, u32::from(LinkType::ETHERNET.0)]);
        recorder
    }
}

impl FrameRecorder {
    /// Adds a frame that was sent at `time_ns`, in nanoseconds after 1970 or after the start.
    pub fn record(&mut self, time_ns: u64, frame: &[u8]) {
        let (seconds, nanoseconds) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        let length = frame.len() as u32;
        self.words(&[seconds as u32, nanoseconds as u32, length, length]);
        self.bytes.extend_from_slice(frame);
    }

    /// Content of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_wire::capture;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut recorder = FrameRecorder::default();
        recorder.record(3_000_000_007, b"one frame");
        recorder.record(3_000_000_009, b"");
        let read = capture::read(recorder.bytes(), "memory").unwrap();
        assert_eq!(read.interfaces[0].link, LinkType::ETHERNET);
        let records: Vec<_> = read.records.iter().map(|record| (record.time_ns, record.data)).collect();
        assert_eq!(records, [(3_000_000_007, &b"one frame"[..]), (3_000_000_009, b"")]);
    }
}

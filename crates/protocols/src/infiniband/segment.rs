//! Messages cut into packets of the path MTU (IBA volume 1, section 9.4).

use fabricsim_wire::headers::Position;

/// A packet's part of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Place of the packet in its message.
    pub position: Position,
    /// First byte.
    pub offset: u32,
    /// Bytes.
    pub length: u32,
}

/// Number of packets of a message: one for a message without data.
#[inline]
pub fn packets(length: u32, mtu: u32) -> u32 {
    length.div_ceil(mtu).max(1)
}

/// The part of a message of `length` bytes that its `number`-th packet carries, from 0.
#[inline]
pub fn segment(length: u32, mtu: u32, number: u32) -> Segment {
    let last = packets(length, mtu) - 1;
    let position = match (number, last) {
        (_, 0) => Position::Only,
        (0, _) => Position::First,
        (number, last) if number == last => Position::Last,
        _ => Position::Middle,
    };
    let offset = number * mtu;
    Segment { position, offset, length: mtu.min(length - offset) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_data_is_a_packet() {
        assert_eq!(segment(0, 256, 0), Segment { position: Position::Only, offset: 0, length: 0 });
        assert_eq!(packets(256, 256), 1);
    }

    proptest::proptest! {
        #[test]
        fn segments_make_up_the_message(length in 0_u32..20_000, code in 1_u32..=5) {
            let mtu = 128 << code;
            let count = packets(length, mtu);
            let parts: Vec<Segment> = (0..count).map(|number| segment(length, mtu, number)).collect();
            let mut next = 0;
            for (number, part) in parts.iter().enumerate() {
                let (is_first, is_last) = (number == 0, number + 1 == parts.len());
                let position = match (is_first, is_last) {
                    (true, true) => Position::Only,
                    (true, false) => Position::First,
                    (false, true) => Position::Last,
                    (false, false) => Position::Middle,
                };
                proptest::prop_assert_eq!((part.position, part.offset), (position, next));
                proptest::prop_assert!(part.length == mtu || is_last && part.length < mtu);
                proptest::prop_assert!(part.length > 0 || length == 0);
                next += part.length;
            }
            proptest::prop_assert_eq!(next, length);
        }
    }
}

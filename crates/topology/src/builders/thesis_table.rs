//! Port numbers of the 3D mesh as printed: Zeru (2016), tables 3.1 (corners), 3.2 (edges), 3.3 (planes) and, for
//! the inner switches, the text before them. Numbers count from the first port behind the hosts.
//!
//! A position is the switch's subscripts y, x, z: `1` first, `m` last, `*` in between. The thesis' +y points up,
//! to smaller first subscripts.

/// Position, then ports towards +x, -x, +y, -y, +z, -z; [`N`] where the border is.
pub(super) type Row = (&'static str, [u16; 6]);

/// The border: no port.
pub(super) const N: u16 = u16::MAX;

/// Tables 3.1 to 3.3, in their order.
#[rustfmt::skip]
pub(super) const PORTS: [Row; 27] = [
    //       +x -x +y -y +z -z
    ("111", [1, N, N, 0, 2, N]),
    ("11m", [1, N, N, 0, N, 2]),
    ("1mm", [N, 0, N, 1, N, 2]),
    ("1m1", [N, 0, N, 1, 2, N]),
    ("m11", [1, N, 0, N, 2, N]),
    ("m1m", [1, N, 0, N, N, 2]),
    ("mm1", [N, 0, 1, N, 2, N]),
    ("mmm", [N, 0, 1, N, N, 2]),

    ("11*", [1, N, N, 0, 3, 2]),
    ("1*1", [1, 0, N, 2, 3, N]),
    ("1*m", [1, 0, N, 3, N, 2]),
    ("1m*", [N, 0, N, 1, 3, 2]),
    ("*11", [1, N, 0, 2, 3, N]),
    ("*1m", [3, N, 0, 1, N, 2]),
    ("*mm", [N, 3, 1, 2, N, 0]),
    ("*m1", [N, 0, 1, 2, 3, N]),
    ("m*1", [1, 0, 2, N, 3, N]),
    ("m1*", [1, N, 0, N, 3, 2]),
    ("m*m", [3, 1, 0, N, N, 2]),
    ("mm*", [N, 3, 1, N, 0, 2]),

    ("1**", [1, 0, N, 4, 3, 2]),
    ("m**", [1, 0, 4, N, 3, 2]),
    ("**1", [1, 0, 2, 3, 4, N]),
    ("**m", [1, 2, 0, 3, N, 4]),
    ("*1*", [4, N, 0, 1, 3, 2]),
    ("*m*", [N, 4, 1, 2, 3, 0]),

    ("***", [1, 0, 4, 5, 2, 3]),
];

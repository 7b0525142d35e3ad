//! Four packets over three roll-overs, as a table to read.

use std::fmt::Write;

use fabricsim_units::Time;

use super::super::{AgeHeader, Ager};

/// Period 16 cycles of 2 ns, so an age tick is 32 ns. What happens: arrivals (age, bias) and departures.
const STEPS: &[(u64, &str)] = &[
    (0, "A arrives 0+1"),
    (3200, ""),
    (8000, "B arrives 200+3"),
    (8160, ""),
    (8192, ""),
    (9000, "C arrives 5+2"),
    (10_000, "A leaves"),
    (16_352, ""),
    (16_384, ""),
    (16_900, "D arrives 0+1"),
    (17_000, "B leaves"),
    (17_002, ""),
    (17_032, ""),
    (17_034, ""),
    (20_000, "D leaves"),
    (25_226, ""),
    (25_900, "C leaves"),
    (25_940, ""),
];

const EXPECTED: &str =
    "   ns  what             timestamp epoch inhibit counts  A            B            C            D
    0  A arrives 0+1            0     0       -  1  0   0:0:001=  1  -            -            -
 3200                         100     0       -  1  0   0:0:001=101  -            -            -
 8000  B arrives 200+3        250     0       -  2  0   0:0:001=251  0:1:209=203  -            -
 8160                         255     0       -  2  0   0:0:001=255  0:1:209=208  -            -
 8192                           0     1       -  2  0   0:0:001=255  0:1:209=209  -            -
 9000  C arrives 5+2           25     1       -  2  1   0:0:001=255  0:1:209=234  1:1:238=  7  -
10000  A leaves                56     1       -  1  1   -            0:1:209=255  1:1:238= 38  -
16352                         255     1       -  1  1   -            0:1:209=255  1:1:238=237  -
16384                         255     1     yes  1  1   -            0:1:209=255  1:1:238=237  -
16900  D arrives 0+1          255     1     yes  1  2   -            0:1:209=255  1:1:238=237  1:1:002=  1
17000  B leaves               255     1     yes  0  2   -            -            1:1:238=237  1:1:002=  1
17002                         255     1       -  0  2   -            -            1:1:238=237  1:1:002=  1
17032                         255     1       -  0  2   -            -            1:1:238=237  1:1:002=  1
17034                           0     0       -  0  2   -            -            1:1:238=238  1:1:002=  2
20000  D leaves                92     0       -  0  1   -            -            1:1:238=255  -
25226                         255     0     yes  0  1   -            -            1:1:238=255  -
25900  C leaves               255     0     yes  0  0   -            -            -            -
25940                           0     1       -  0  0   -            -            -            -
";

#[test]
fn arrivals_and_ages_over_three_roll_overs() {
    let mut ager = Ager::new(16, Time::ns(2));
    let mut packets: [Option<AgeHeader>; 4] = [None; 4];
    let mut table = String::from(
        "   ns  what             timestamp epoch inhibit counts  A            B            C            D\n",
    );
    for &(ns, what) in STEPS {
        ager.advance(Time::ns(ns));
        act(&mut ager, &mut packets, what);
        let inhibit = if ager.inhibited() { "yes" } else { "-" };
        let [zero, one] = ager.counts();
        let (timestamp, epoch) = (ager.timestamp(), u8::from(ager.epoch()));
        write!(table, "{ns:5}  {what:15}  {timestamp:9} {epoch:5} {inhibit:>7} {zero:2} {one:2} ").unwrap();
        let mut cells = String::new();
        for packet in &packets {
            let cell = packet.map_or("-".into(), |header| cell(&ager, header));
            write!(cells, "  {cell:11}").unwrap();
        }
        table.push_str(cells.trim_end());
        table.push('\n');
    }
    assert!(table == EXPECTED, "the table is now\n{table}");
}

/// Epoch, borrow and low byte in the header, and the age that follows.
fn cell(ager: &Ager, header: AgeHeader) -> String {
    let (epoch, carry) = (u8::from(header.in_epoch()), u8::from(header.carry()));
    format!("{epoch}:{carry}:{:03}={:3}", header.age(), ager.age(header))
}

fn act(ager: &mut Ager, packets: &mut [Option<AgeHeader>; 4], what: &str) {
    let Some((name, rest)) = what.split_once(' ') else { return };
    let packet = &mut packets[usize::from(name.as_bytes()[0] - b'A')];
    if rest == "leaves" {
        ager.send(packet.take().unwrap());
    } else {
        let (age, bias) = rest.trim_start_matches("arrives ").split_once('+').unwrap();
        *packet = Some(ager.receive(age.parse().unwrap(), bias.parse().unwrap()));
    }
}

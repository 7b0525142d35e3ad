//! Rules of MPI: order, wildcards, unexpected messages, truncation, cancelled receives, progress only within calls.

use fabricsim_spec::{Mpi, Noise, Rendezvous};
use fabricsim_units::Time;

use super::cluster::{Cluster, Do, bytes, free_of_cost, receive, send};
use crate::Mode;
use crate::matching::ANY;

const RENDEZVOUS: [Rendezvous; 4] =
    [Rendezvous::Get, Rendezvous::Put, Rendezvous::Pipeline, Rendezvous::Send];

/// Lengths around every limit.
const LENGTHS: [usize; 12] =
    [0, 1, 110, 111, 4096, 4097, 12_232, 12_233, 65_504, 77_740, 300_000, (1 << 20) + 1];

fn run(options: &Mpi, hosts: &[usize], scripts: Vec<Vec<Do>>) -> Cluster {
    let mut cluster = Cluster::new(options, hosts, scripts);
    assert!(cluster.run());
    cluster
}

/// Every protocol, on two hosts and on one, with and without loss; the receive is early or late.
#[test]
fn bytes_arrive_whole_and_in_order() {
    for rendezvous in RENDEZVOUS {
        for (hosts, lost) in [([0, 1], 0), ([0, 1], 3), ([0, 0], 0)] {
            for late in [false, true] {
                let mut scripts = vec![Vec::new(), Vec::new()];
                for (number, &length) in LENGTHS.iter().enumerate() {
                    scripts[0].push(send(1, 0, &bytes(length, number)));
                }
                scripts[0].push(Do::WaitAll);
                if late {
                    scripts[1].push(Do::Compute(Time::us(50)));
                }
                scripts[1].extend(LENGTHS.iter().map(|&length| receive(ANY, ANY, length)));
                scripts[1].push(Do::WaitAll);
                for script in &mut scripts {
                    script.push(Do::Close);
                }
                let options = Mpi { rendezvous, ..free_of_cost() };
                let mut cluster = Cluster::new(&options, &hosts, scripts).with_loss(lost);
                assert!(cluster.run(), "{rendezvous:?} {hosts:?} {lost} {late}");
                for (number, (arrival, data)) in cluster.got[1].iter().enumerate() {
                    assert_eq!(arrival.length, LENGTHS[number] as u64);
                    assert!(*data == bytes(LENGTHS[number], number), "{rendezvous:?} {hosts:?}: {number}");
                }
            }
        }
    }
}

#[test]
fn a_rank_sends_to_itself() {
    for length in [0, 10, 5000] {
        let scripts =
            vec![vec![receive(0, 1, length), send(0, 1, &bytes(length, 3)), Do::WaitAll, Do::Close]];
        let cluster = run(&free_of_cost(), &[0], scripts);
        assert_eq!(cluster.got[0][0].1, bytes(length, 3));
    }
}

#[test]
fn what_does_not_fit_is_dropped_and_reported() {
    for rendezvous in RENDEZVOUS {
        for hosts in [[0, 1], [0, 0]] {
            for (length, room) in [(10, 3), (20_000, 19_999), (20_000, 0), (400_000, 20)] {
                let scripts = vec![
                    vec![send(1, 0, &bytes(length, 1)), Do::WaitAll],
                    vec![receive(0, 0, room), Do::WaitAll],
                ];
                let cluster = run(&Mpi { rendezvous, ..free_of_cost() }, &hosts, scripts);
                let (arrival, data) = &cluster.got[1][0];
                assert!(arrival.truncated && arrival.length == length as u64);
                assert_eq!(*data, bytes(length, 1)[..room]);
            }
        }
    }
}

#[test]
fn a_synchronous_send_ends_after_its_receive() {
    for hosts in [[0, 1], [0, 0]] {
        for (mode, ends_late) in [(Mode::Synchronous, true), (Mode::Standard, false)] {
            let scripts = vec![
                vec![Do::Send { to: 1, tag: 0, mode, data: vec![1] }, Do::WaitAll],
                vec![Do::Compute(Time::us(100)), receive(0, 0, 1), Do::WaitAll],
            ];
            let cluster = run(&free_of_cost(), &hosts, scripts);
            assert_eq!(cluster.ended[0][1] > Time::us(100), ends_late, "{mode:?} {hosts:?}");
        }
    }
}

/// The receive is posted, but its rank computes: the data moves only when it is back in MPI.
#[test]
fn a_rank_that_computes_delays_a_rendezvous() {
    for rendezvous in RENDEZVOUS {
        let scripts = vec![
            vec![send(1, 0, &bytes(50_000, 1)), Do::WaitAll],
            vec![receive(0, 0, 50_000), Do::Compute(Time::ms(1)), Do::WaitAll],
        ];
        let cluster = run(&Mpi { rendezvous, ..free_of_cost() }, &[0, 1], scripts);
        assert!(cluster.ended[0][1] > Time::ms(1), "{rendezvous:?}");
        let posted = cluster.world.log().iter().filter(|of| of.from == 1).map(|of| of.time).min();
        assert!(posted >= Some(Time::ms(1)));
    }
}

/// A sender that computes delays a PUT, and no READ.
#[test]
fn a_sender_that_computes_delays_put_and_not_get() {
    for (rendezvous, is_late) in [(Rendezvous::Get, false), (Rendezvous::Put, true)] {
        let scripts = vec![
            vec![send(1, 0, &bytes(50_000, 1)), Do::Compute(Time::ms(1)), Do::WaitAll],
            vec![receive(0, 0, 50_000), Do::WaitAll],
        ];
        let cluster = run(&Mpi { rendezvous, ..free_of_cost() }, &[0, 1], scripts);
        assert_eq!(cluster.ended[1][1] > Time::ms(1), is_late, "{rendezvous:?}");
    }
}

#[test]
fn tags_and_sources_select_messages() {
    let scripts = vec![
        vec![send(2, 1, &[1]), send(2, 2, &[2]), Do::WaitAll],
        vec![Do::Compute(Time::us(50)), send(2, 1, &[3]), Do::WaitAll],
        vec![
            Do::Compute(Time::us(100)),
            receive(ANY, 2, 1),
            receive(1, ANY, 1),
            receive(ANY, ANY, 1),
            Do::WaitAll,
        ],
    ];
    let cluster = run(&free_of_cost(), &[0, 1, 2], scripts);
    let got: Vec<_> =
        cluster.got[2].iter().map(|(arrival, data)| (arrival.source, arrival.tag, data[0])).collect();
    assert_eq!(got, [(0, 2, 2), (1, 1, 3), (0, 1, 1)]);
}

#[test]
fn a_message_that_a_probe_took_is_received_by_its_number() {
    for length in [5, 30_000] {
        let scripts = vec![
            vec![send(1, 3, &bytes(length, 1)), send(1, 3, &[9]), Do::WaitAll],
            vec![Do::ProbeAndReceive { source: 0, tag: 3 }, receive(0, 3, 1), Do::WaitAll],
        ];
        let cluster = run(&free_of_cost(), &[0, 1], scripts);
        assert_eq!(cluster.got[1][0].1, bytes(length, 1));
        assert_eq!(cluster.got[1][1].1, [9]);
    }
}

#[test]
fn a_cancelled_receive_takes_no_message() {
    let scripts = vec![
        vec![Do::Compute(Time::us(10)), send(1, 0, &[4]), Do::WaitAll],
        vec![receive(0, 0, 1), Do::Cancel, receive(0, 0, 1), Do::WaitAll],
    ];
    let cluster = run(&free_of_cost(), &[0, 1], scripts);
    let got: Vec<_> = cluster.got[1].iter().map(|(arrival, data)| (arrival.cancelled, data[0])).collect();
    assert_eq!(got, [(true, 0), (false, 4)]);
}

#[test]
fn ranks_that_wait_for_nothing_are_blocked() {
    let scripts = vec![vec![receive(1, 0, 1), Do::WaitAll], vec![receive(0, 0, 1), Do::WaitAll]];
    assert!(!Cluster::new(&free_of_cost(), &[0, 1], scripts).run());
}

/// Each cost is charged once: of a call, the copy, the wait, the match.
#[test]
fn times_are_the_sums_of_their_costs() {
    let options = Mpi {
        call: Time::ns(100),
        wait: Time::ns(10),
        matching: Time::ns(7),
        connect: Time::ns(1000),
        copy_rate: fabricsim_units::Rate::new(8_000_000_000).unwrap(),
        ..free_of_cost()
    };
    let scripts =
        vec![vec![send(1, 0, &bytes(500, 1)), Do::Wait, Do::Test], vec![receive(0, 0, 500), Do::Wait]];
    let cluster = run(&options, &[0, 1], scripts);
    // 1 ns for each byte.
    assert_eq!(cluster.ended[0][0], Time::ns(1000 + 100 + 500));
    assert_eq!(cluster.ended[0][1], Time::ns(1000 + 100 + 500 + 10));
    // Doorbell 1 ns; on the wire at once, 110 ns; completion and write of the data 1 ns each.
    assert_eq!(cluster.ended[1][1], Time::ns(1600 + 1 + 110 + 2 + 7 + 500));
}

/// Noise delays what ranks do, and changes neither messages nor their order.
#[test]
fn noise_delays_calls_only() {
    let scripts = || {
        let sends = (0..20).map(|tag| send(1, tag, &bytes(tag as usize * 1000, 1))).collect::<Vec<_>>();
        let receives = (0..20).map(|tag| receive(0, tag, tag as usize * 1000)).collect::<Vec<_>>();
        vec![[sends, vec![Do::WaitAll]].concat(), [receives, vec![Do::WaitAll]].concat()]
    };
    let noise = Noise {
        spread: 0.5,
        arrival: Time::us(1),
        interruption_probability: 0.5,
        interruption: Time::us(3),
        ..Noise::default()
    };
    let quiet = run(&Mpi::default(), &[0, 1], scripts());
    let noisy = run(&Mpi { noise, ..Mpi::default() }, &[0, 1], scripts());
    let data = |cluster: &Cluster, rank: usize| {
        let mut got = cluster.got[rank].clone();
        got.sort_by_key(|(arrival, _)| arrival.tag);
        got
    };
    assert_eq!(data(&quiet, 1), data(&noisy, 1));
    assert!(noisy.ended[0].last() > quiet.ended[0].last());
    assert!(noisy.ended[1].last() > quiet.ended[1].last());
}

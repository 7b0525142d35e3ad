//! Sequences of operations of each protocol, as they are seen from the unmodified library, with their sizes.

use fabricsim_spec::{Mpi, Rendezvous};
use fabricsim_units::Bytes;

use super::cluster::{Cluster, Do, bytes, free_of_cost, receive, send};
use crate::{Mode, Protocol};

fn one_way(options: &Mpi, length: usize, mode: Mode) -> Cluster {
    let data = bytes(length, 1);
    let scripts = vec![
        vec![Do::Send { to: 1, tag: 5, mode, data: data.clone() }, Do::WaitAll, Do::Close],
        vec![receive(0, 5, length), Do::WaitAll, Do::Close],
    ];
    let mut cluster = Cluster::new(options, &[0, 1], scripts);
    assert!(cluster.run(), "{length} B");
    let (arrival, found) = &cluster.got[1][0];
    assert_eq!(
        (arrival.source, arrival.tag, arrival.length, arrival.truncated),
        (0, 5, length as u64, false)
    );
    assert!(*found == data, "{length} B differ");
    cluster
}

fn names(cluster: &Cluster) -> Vec<(u32, String, u32)> {
    cluster.operations()
}

fn expected(list: &[(u32, &str, u32)]) -> Vec<(u32, String, u32)> {
    list.iter().map(|&(from, name, bytes)| (from, name.to_owned(), bytes)).collect()
}

fn with(rendezvous: Rendezvous) -> Mpi {
    Mpi { rendezvous, ..free_of_cost() }
}

/// Data that goes from buffer to buffer is the same, at the same times, by the same operations.
#[test]
fn content_of_reads_changes_nothing() {
    for (length, room) in [(12_233, 12_233), (1 << 17, 1 << 17), (1 << 17, 50_000)] {
        for mode in [Mode::Standard, Mode::Synchronous, Mode::Buffered, Mode::Ready] {
            let data = bytes(length, 1);
            let short = Do::Send { to: 1, tag: 5, mode, data: bytes(1000, 2) };
            let scripts = vec![
                vec![Do::Send { to: 1, tag: 5, mode, data }, short, Do::WaitAll, Do::Close],
                vec![receive(0, 5, room), receive(0, 5, 1000), Do::WaitAll, Do::Close],
            ];
            for hosts in [[0, 1], [0, 0]] {
                let of = || Cluster::new(&Mpi::default(), &hosts, scripts.clone()).with_loss(5);
                let (mut with, mut without) = (of(), of().without_content());
                assert!(with.run() && without.run(), "{length} B");
                assert!(with.got == without.got, "{length} B differ");
                assert_eq!(with.ended, without.ended);
                assert_eq!(names(&with), names(&without));
            }
        }
    }
}

#[test]
fn an_eager_message_is_one_send() {
    for length in [0, 1, 110, 111, 2034, 2035, 12_232] {
        let cluster = one_way(&free_of_cost(), length, Mode::Standard);
        assert_eq!(names(&cluster), expected(&[(0, "MATCH", 18 + length as u32)]));
        assert_eq!(cluster.world.counts(0).sent[Protocol::Eager as usize], (1, length as u64));
    }
}

#[test]
fn a_synchronous_message_is_a_rndv_with_the_data_and_an_ack() {
    for length in [0, 100, 12_232] {
        let cluster = one_way(&free_of_cost(), length, Mode::Synchronous);
        assert_eq!(names(&cluster), expected(&[(0, "RNDV", 36 + length as u32), (1, "ACK", 44)]));
    }
}

#[test]
fn get_is_rget_read_fin() {
    for length in [12_233_u32, 1 << 20] {
        for mode in [Mode::Standard, Mode::Synchronous, Mode::Buffered, Mode::Ready] {
            let cluster = one_way(&free_of_cost(), length as usize, mode);
            let list = [(0, "RGET", 60), (1, "RDMA_READ", length), (1, "FIN", 28)];
            assert_eq!(names(&cluster), expected(&list));
        }
    }
}

#[test]
fn put_is_rndv_put_write_fin() {
    let cluster = one_way(&with(Rendezvous::Put), 20_000, Mode::Standard);
    let list = [(0, "RNDV", 36), (1, "PUT", 68), (0, "RDMA_WRITE", 20_000), (0, "FIN", 28)];
    assert_eq!(names(&cluster), expected(&list));
    assert_eq!(cluster.world.counts(0).sent[Protocol::Put as usize], (1, 20_000));
}

/// 12 232 B with the RNDV; FRAGs of 65 536 B with their 32 B.
#[test]
fn send_is_rndv_ack_frags() {
    let cluster = one_way(&with(Rendezvous::Send), 12_232 + 65_504 + 10, Mode::Standard);
    let list = [(0, "RNDV", 36 + 12_232), (1, "ACK", 44), (0, "FRAG", 65_540), (0, "FRAG", 36 + 10)];
    assert_eq!(names(&cluster), expected(&list));
    // Of a longer one at most three are in progress; all arrive.
    one_way(&with(Rendezvous::Send), 1 << 20, Mode::Standard);
}

/// Below the limit of the pipeline all goes by FRAGs; above it, what is behind the send length goes by WRITEs.
#[test]
fn the_pipeline_writes_what_is_behind_the_send_length() {
    let options = Mpi {
        pipeline_send_length: Bytes(100_000),
        pipeline_fragment: Bytes(50_000),
        ..with(Rendezvous::Pipeline)
    };
    let count = |cluster: &Cluster, name: &str| names(cluster).iter().filter(|(_, of, _)| of == name).count();
    let short = one_way(&options, (256 << 10) - 1, Mode::Standard);
    assert_eq!((count(&short, "PUT"), count(&short, "FRAG")), (0, 4));
    let long = one_way(&options, 100_000 + 50_000 * 8 + 1, Mode::Standard);
    assert_eq!((count(&long, "ACK"), count(&long, "FRAG")), (1, 2));
    for name in ["PUT", "RDMA_WRITE", "FIN"] {
        assert_eq!(count(&long, name), 9, "{name}");
    }
    // At most four PUTs are open.
    let (mut open, mut most) = (0, 0);
    for (_, name, _) in names(&long) {
        open += i32::from(name == "PUT") - i32::from(name == "FIN");
        most = most.max(open);
    }
    assert_eq!(most, 4);
}

/// The 16th message makes the receiver give a ring; later ones are 4 bytes longer and go by WRITE.
#[test]
fn eager_messages_go_by_write_after_the_threshold() {
    let rounds = 40;
    let mut scripts = vec![Vec::new(), Vec::new()];
    for round in 0..rounds {
        scripts[0].extend([send(1, 0, &bytes(8, round)), receive(1, 0, 8), Do::WaitAll]);
        scripts[1].extend([receive(0, 0, 8), Do::Wait, send(0, 0, &bytes(8, round)), Do::Wait]);
    }
    let mut cluster = Cluster::new(&free_of_cost(), &[0, 1], scripts);
    assert!(cluster.run());
    for (round, (_, data)) in cluster.got[1].iter().step_by(2).enumerate() {
        assert_eq!(*data, bytes(8, round));
    }
    let of_first: Vec<_> = names(&cluster).into_iter().filter(|(from, ..)| *from == 0).collect();
    let sends = of_first.iter().filter(|(_, name, bytes)| name == "MATCH" && *bytes == 26).count();
    let writes: Vec<_> = of_first.iter().filter(|(_, name, _)| name == "MATCH by RDMA_WRITE").collect();
    assert_eq!((sends, writes.len()), (16, rounds - 16));
    assert!(writes.iter().all(|(.., bytes)| *bytes == 30));
    assert_eq!(cluster.world.counts(0).sent[Protocol::EagerRdma as usize].0, rounds as u64 - 16);
    // Its credits return with the answers: no message of credits is needed.
    assert!(of_first.iter().all(|(_, name, _)| name != "CREDITS"), "{of_first:?}");
}

#[test]
fn peers_beyond_the_limit_get_no_ring() {
    let options = Mpi { eager_rdma_peers: 1, eager_rdma_threshold: 2, ..free_of_cost() };
    let mut scripts = vec![Vec::new(), Vec::new(), Vec::new()];
    for source in [1, 2] {
        for _ in 0..6 {
            scripts[0].extend([send(source, 0, &[1]), Do::Wait, receive(source as i32, 0, 1), Do::Wait]);
            scripts[source as usize].extend([receive(0, 0, 1), Do::Wait, send(0, 0, &[2]), Do::Wait]);
        }
    }
    let mut cluster = Cluster::new(&options, &[0, 1, 2], scripts);
    assert!(cluster.run());
    let by_ring = |rank: usize| cluster.world.counts(rank).sent[Protocol::EagerRdma as usize].0;
    assert_eq!((by_ring(1), by_ring(2)), (4, 0));
}

#[test]
fn registered_memory_is_found_again() {
    for (registration_cache, expected) in [(true, 1), (false, 3)] {
        let data = bytes(30_000, 2);
        let three = |call: Do| vec![call.clone(), Do::Wait, call.clone(), Do::Wait, call, Do::Wait];
        let scripts = vec![three(send(1, 0, &data)), three(receive(0, 0, 30_000))];
        let mut cluster = Cluster::new(&Mpi { registration_cache, ..free_of_cost() }, &[0, 1], scripts);
        assert!(cluster.run());
        assert_eq!(cluster.world.counts(0).registrations, expected);
        assert_eq!(cluster.world.counts(1).registrations, expected);
    }
}

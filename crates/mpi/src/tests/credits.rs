//! Receive buffers and credits that run out.

use fabricsim_spec::Mpi;
use fabricsim_units::Time;
use proptest::prelude::*;

use super::cluster::{Cluster, Do, bytes, free_of_cost, receive, send};

/// Messages of one direction while the receiver computes for 1 ms, then receives them.
fn one_direction(options: &Mpi, messages: usize) -> Cluster {
    let mut scripts = vec![Vec::new(), vec![Do::Compute(Time::ms(1))]];
    for number in 0..messages {
        scripts[0].push(send(1, number as i32, &bytes(50, number)));
    }
    scripts[0].extend([Do::WaitAll, Do::Close]);
    for number in 0..messages {
        scripts[1].push(receive(0, number as i32, 50));
    }
    scripts[1].extend([Do::WaitAll, Do::Close]);
    let mut cluster = Cluster::new(options, &[0, 1], scripts);
    assert!(cluster.run());
    for (number, (_, data)) in cluster.got[1].iter().enumerate() {
        assert_eq!(*data, bytes(50, number));
    }
    cluster
}

/// A peer's queue of 8 buffers: the ninth message waits until the receiver looks, and credits return in messages of their own.
#[test]
fn a_sender_without_credits_waits_until_they_return() {
    let options = Mpi {
        eager_rdma: false,
        receive_queues: "P,128,8,4,2,3:S,65536,64,32,32".to_owned(),
        ..free_of_cost()
    };
    let cluster = one_direction(&options, 30);
    assert!(cluster.world.counts(0).stalled > Time::us(900), "{:?}", cluster.world.counts(0));
    let sent = |name: &str, until: Time| {
        cluster.world.log().iter().filter(|of| of.header.starts_with(name) && of.time < until).count()
    };
    assert_eq!(sent("MATCH", Time::ms(1)), 8);
    assert_eq!(sent("MATCH", Time::MAX), 30);
    assert!(sent("CREDITS", Time::MAX) > 0);
    // The control: with more buffers nothing waits.
    let queues = "P,128,64,4,2,3:S,65536,64,32,32".to_owned();
    let cluster = one_direction(&Mpi { receive_queues: queues, ..options }, 30);
    assert_eq!(cluster.world.counts(0).stalled, Time::ZERO);
}

/// A shared queue has no credits: the adapter asks the sender to wait, and a sender has a limited number of SENDs in progress.
#[test]
fn a_shared_queue_without_buffers_stalls_the_sender() {
    let options = Mpi {
        eager_rdma: false,
        receive_queues: "S,128,8,4,4:S,65536,64,32,32".to_owned(),
        ..free_of_cost()
    };
    let cluster = one_direction(&options, 30);
    let before = cluster.world.log().iter().filter(|of| of.time < Time::ms(1)).count();
    assert!(before <= 8 + 4, "{before} SENDs before the receiver has looked");
    assert!(cluster.world.counts(0).stalled > Time::us(900));
}

/// A ring of 4 buffers: without credits messages go by SEND again; they are matched in their order all the same.
#[test]
fn a_ring_without_credits_is_bypassed() {
    let options = Mpi { eager_rdma_threshold: 1, eager_rdma_buffers: 4, ..free_of_cost() };
    let mut scripts = vec![
        vec![send(1, 0, &[7]), receive(1, 0, 1), Do::WaitAll],
        vec![receive(0, 0, 1), Do::Wait, send(0, 0, &[8]), Do::Wait, Do::Compute(Time::ms(1))],
    ];
    for number in 0..20 {
        scripts[0].push(send(1, 1, &[number]));
        scripts[1].push(receive(0, 1, 1));
    }
    for script in &mut scripts {
        script.extend([Do::WaitAll, Do::Close]);
    }
    let mut cluster = Cluster::new(&options, &[0, 1], scripts);
    assert!(cluster.run());
    let got: Vec<u8> = cluster.got[1][2..].iter().map(|(_, data)| data[0]).collect();
    assert_eq!(got, (0..20).collect::<Vec<u8>>());
    let early = |operation: &str| {
        let of = cluster.world.log().iter().filter(|of| of.from == 0 && of.time < Time::ms(1));
        of.filter(|of| of.operation == operation && of.header.starts_with("MATCH")).count()
    };
    assert_eq!((early("RDMA_WRITE"), early("SEND")), (4, 17));
}

proptest! {
    /// Queues of a peer, rings, and messages that return nothing but credits of one or the other: all messages arrive, since no credit is lost, and there
    /// are never more of them than buffers. Each rank sends to the next one: of three, none has messages for the rank that it receives from.
    #[test]
    fn no_credit_is_lost(
        (buffers, low, window, reserve) in (2_u32..10, 0_u32..4, 1_u32..6, 1_u32..4),
        (threshold, ring, eager_rdma) in (1_u32..5, 1_u32..8, any::<bool>()),
        (ranks, rounds, at_once) in (2_usize..5, 0_usize..60, 1_usize..4),
    ) {
        let low = low.min(buffers - 1);
        let options = Mpi {
            eager_rdma,
            eager_rdma_threshold: threshold,
            eager_rdma_buffers: ring,
            receive_queues: format!(
                "P,128,{buffers},{low},{},{reserve}:P,65536,16,8,4,3",
                window.min(low + 1),
            ),
            ..free_of_cost()
        };
        let script = |rank: usize| {
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            let round = |round: usize| {
                let received = (0..at_once).map(move |tag| receive(left as i32, tag as i32, 50));
                let sent = (0..at_once).map(move |tag| send(right as u32, tag as i32, &bytes(50, round + tag)));
                received.chain(sent).chain([Do::WaitAll]).collect::<Vec<_>>()
            };
            (0..rounds).flat_map(round).chain([Do::Close]).collect()
        };
        let hosts: Vec<usize> = (0..ranks).collect();
        let mut cluster = Cluster::new(&options, &hosts, hosts.iter().map(|&rank| script(rank)).collect());
        prop_assert!(cluster.run(), "messages wait for credits");
        for got in &cluster.got {
            for (round, ended) in got.chunks(2 * at_once).enumerate() {
                let sent: Vec<_> = (0..at_once).map(|tag| bytes(50, round + tag)).collect();
                prop_assert!(ended[..at_once].iter().map(|(_, data)| data).eq(&sent));
            }
        }
        cluster.world.check_credits();
    }
}

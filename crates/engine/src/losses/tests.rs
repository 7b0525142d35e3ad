use super::*;

/// Each cause has its counter; those of a kind are summed, and the total is the sum of all.
#[test]
fn losses_are_summed_by_kind() {
    use LossCause as C;
    // Causes with how often each occurs: powers of two, so that each sum shows what is in it.
    let causes = [
        C::TransportLoss,
        C::Lifetime,
        C::LinkFailed,
        C::SwitchFailed,
        C::NoRoute,
        C::HeadOfQueueLifetime,
        C::VlStalled,
        C::SwitchLifetime,
        C::Vcrc,
        C::Icrc,
        C::PartitionKey,
        C::PartitionKeyAtSwitch,
        C::LinkMtu,
        C::BufferOverflow,
    ];
    let mut lost = LostPackets::default();
    for (number, &cause) in causes.iter().enumerate() {
        (0..1 << number).for_each(|_| lost.count(cause));
    }
    assert_eq!(lost.at_hosts(), 0b11);
    assert_eq!(lost.by_failures(), 0b111 << 2);
    assert_eq!(lost.by_lifetimes(), 0b111 << 5);
    assert_eq!(lost.by_errors(), 0b11 << 8);
    assert_eq!(lost.by_partitions(), 0b11 << 10);
    assert_eq!(lost.link_mtu, 1 << 12);
    assert_eq!(lost.buffer_overflow, 1 << 13);
    assert_eq!(lost.in_network(), (1 << 14) - 4);
    assert_eq!(lost.total(), (1 << 14) - 1);
    let before = lost;
    lost.add(&before);
    assert_eq!((lost.total(), lost.by_errors(), lost.lifetime), ((1 << 15) - 2, 0b110 << 8, 4));
    // One of a kind alone.
    for cause in causes {
        let mut lost = LostPackets::default();
        lost.count(cause);
        let sums = [
            lost.at_hosts(),
            lost.by_failures(),
            lost.by_lifetimes(),
            lost.by_errors(),
            lost.by_partitions(),
            lost.link_mtu,
            lost.buffer_overflow,
        ];
        assert_eq!((sums.iter().sum::<u64>(), lost.total()), (1, 1), "{cause:?}");
    }
}

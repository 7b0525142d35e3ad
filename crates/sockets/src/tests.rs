use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

fn settings(mode: &str, exactly_once: bool) -> Settings {
    let json = format!(
        r#"{{"mode": "{mode}", "exactly_once": {exactly_once}, "streams": 3, "packet_bytes": 500, "outstanding": 32,
            "reorder_buffer": 128, "connections": 8, "timeout_us": 20000, "lifetime_us": 10000, "deadline_s": 60}}"#
    );
    Settings::read(&json).expect("they are good")
}

/// Sends `data` through a bad network; what arrives, and the three reports.
fn transfer(data: &[u8], settings: &Settings) -> (Vec<u8>, SourceReport, TargetReport, ProxyReport) {
    let network = ProxySettings { port: 0, delay_us: 100, jitter_us: 1000, loss: 0.02, seed: 1 };
    let proxy = Proxy::new(network).expect("there is a port");
    let port = proxy.port().expect("it is bound");
    let (done, all_done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let network = scope.spawn(|| proxy.run(&all_done));
        let target = scope.spawn(|| run_target(port, settings, &done));
        let source = run_source(port, data, settings, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        let (parts, received) = target.join().expect("no panic").expect("no error");
        all_done.store(true, Ordering::Relaxed);
        let network = network.join().expect("no panic").expect("no error");
        (parts.concat(), source.expect("no error"), received, network)
    })
}

#[test]
fn ordered_bytes_come_out_of_a_network_that_reorders_and_drops() {
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for (mode, exactly_once) in
        [("ordered", false), ("ordered", true), ("go-back-n", false), ("selective-ordered", false)]
    {
        let (received, sent, target, network) = transfer(&data, &settings(mode, exactly_once));
        assert!(received == data, "{mode}: {} of {} bytes", received.len(), data.len());
        assert!(network.dropped > 0 && network.overtook > 0 && sent.resent > 0, "{network:?} {sent:?}");
        assert_eq!((target.order_violations, sent.wrong_results), (0, 0));
        assert!(target.idle && target.out_of_order > 0);
    }
}

#[test]
fn without_ordering_they_do_not() {
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    let (received, _, target, _) = transfer(&data, &settings("unordered", false));
    assert!(target.order_violations > 0 && received != data);
}

#[test]
fn settings_are_checked() {
    let json = |packet: u32, mode: &str| {
        format!(
            r#"{{"mode": "{mode}", "exactly_once": false, "streams": 3, "packet_bytes": {packet}, "outstanding": 32,
            "reorder_buffer": 128, "connections": 8, "timeout_us": 20000, "lifetime_us": 10000, "deadline_s": 60}}"#
        )
    };
    let told = |packet, mode| Settings::read(&json(packet, mode)).expect_err("it is wrong").to_string();
    assert_eq!(told(1500, "ordered"), "packet_bytes is 1500: it has to be from 1 to 1400");
    assert!(told(100, "order").starts_with("\"order\" is not a mode: expected one of ordered, "));
    let once = json(100, "go-back-n").replace("false", "true");
    let error = Settings::read(&once).expect_err("there are no replay buffers").to_string();
    assert!(error.starts_with("exactly_once is for the modes ordered and source-ordered"), "{error}");
    let none = json(100, "ordered").replace("\"reorder_buffer\": 128", "\"reorder_buffer\": 0");
    let error = Settings::read(&none).expect_err("there is no buffer").to_string();
    assert_eq!(error, "reorder_buffer is 0: it has to be from 1 to 32767");
    let space = json(100, "ordered").replace("\"outstanding\": 32", "\"outstanding\": 40000");
    let error = Settings::read(&space).expect_err("the sequence numbers do not do").to_string();
    assert!(error.starts_with("outstanding is 40000: with 16 bits of SEQ"), "{error}");
}

#[test]
fn a_port_is_taken_once() {
    let network = ProxySettings { port: 0, delay_us: 0, jitter_us: 0, loss: 0.0, seed: 1 };
    let first = Proxy::new(network).expect("there is a port");
    let port = first.port().expect("it is bound");
    let error = Proxy::new(ProxySettings { port, ..network }).expect_err("it is taken").to_string();
    assert!(
        error.starts_with(&format!("UDP port {port} of this machine is not to be had: address in use")),
        "{error}"
    );
    let slow = Proxy::new(ProxySettings { delay_us: u64::MAX, ..network }).expect_err("too slow").to_string();
    assert!(slow.starts_with("delay_us is 18446744073709551615"), "{slow}");
}

#[test]
fn a_source_without_target_gives_up() {
    let error = run_source(9, b"abc", &settings("ordered", false), &AtomicBool::new(true));
    assert_eq!(error.expect_err("it was stopped").to_string(), "stopped");
    let mut hasty = settings("ordered", false);
    hasty.deadline_s = 0;
    let error = run_source(9, b"abc", &hasty, &AtomicBool::new(false)).expect_err("there is no time");
    assert_eq!(error.to_string(), "not done after 0 s: there is no target");
}

/// A network that keeps packets for longer than their lifetime: all are dropped, and none does harm.
#[test]
fn what_is_too_old_is_dropped() {
    let mut short = settings("ordered", false);
    (short.lifetime_us, short.deadline_s) = (1, 1);
    let proxy = Proxy::new(ProxySettings { port: 0, delay_us: 1000, jitter_us: 0, loss: 0.0, seed: 1 });
    let proxy = proxy.expect("there is a port");
    let port = proxy.port().expect("it is bound");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let network = scope.spawn(|| proxy.run(&done));
        let target = scope.spawn(|| run_target(port, &short, &done));
        let source = run_source(port, &[7; 4000], &short, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        let (parts, received) = target.join().expect("no panic").expect("no error");
        network.join().expect("no panic").expect("no error");
        assert_eq!(
            source.expect_err("nothing arrives").to_string(),
            "not done after 1 s: 0 of 4000 bytes are acknowledged"
        );
        assert!(parts.concat().is_empty() && received.received == 0 && received.too_old > 0);
    });
}

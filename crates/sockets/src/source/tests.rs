use fabricsim_protocols::ordering::Header;
use proptest::prelude::*;

use super::*;
use crate::clock::Timestamp;
use crate::tests::{any_header, settings, token};

/// A source in the middle of a transfer, with full windows.
fn busy<'a>(settings: &'a Settings, token: &'a Token) -> (Sender<'a>, Vec<Progress>) {
    let mut sender = Sender::new(settings, token).expect("they are good");
    let mut streams = open(&mut sender.source, settings).expect("there are few");
    for stream in &mut streams {
        stream.offer(&mut sender.source, settings.packet_bytes);
    }
    while sender.source.next(Time::ZERO).is_some() {}
    (sender, streams)
}

#[test]
fn an_answer_needs_the_token_and_the_role() {
    let (settings, token, clock) = (settings("ordered", false), token(), Clock::start());
    let (mut sender, _) = busy(&settings, &token);
    let mut answer = Vec::new();
    let header = Header::default();
    datagram::write(&mut answer, Role::Target, &token, Timestamp(u64::MAX), &header, None);
    for at in 0..datagram::PREFIX {
        let mut forged = answer.clone();
        forged[at] ^= 1;
        sender.take(&forged, &clock, Time::ZERO);
    }
    assert_eq!(sender.ignored, datagram::PREFIX as u64);
    sender.take(&answer, &clock, Time::ZERO);
    assert_eq!(sender.ignored, datagram::PREFIX as u64);
}

proptest! {
    /// Any bytes and any answers, with and without the token: no panic, and no more acknowledged than was sent.
    #[test]
    fn any_answers_are_no_panic(
        mode in prop::sample::select(vec!["ordered", "unordered", "go-back-n", "selective", "selective-ordered"]),
        exactly_once: bool,
        answers in prop::collection::vec(
            (any_header(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..100),
    ) {
        let (mut settings, token, clock) = (settings(mode, exactly_once && mode == "ordered"), token(), Clock::start());
        (settings.outstanding, settings.bytes) = (4, 3 * 4100);
        let (mut sender, mut streams) = busy(&settings, &token);
        let (mut buffer, mut now) = (Vec::new(), Time::ZERO);
        for (header, has_header, bytes) in answers {
            if has_header {
                datagram::write(&mut buffer, Role::Target, &token, Timestamp(u64::MAX), &header, None);
            } else {
                buffer.clone_from(&bytes);
            }
            sender.take(&buffer, &clock, now);
            now += Time::ms(1);
            sender.source.expire(now, &mut sender.notes);
            for stream in &mut streams {
                stream.offer(&mut sender.source, settings.packet_bytes);
            }
            while sender.source.next(now).is_some() {}
            prop_assert!(sender.notes.bytes <= settings.bytes);
        }
    }
}

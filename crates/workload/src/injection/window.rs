use crate::WorkloadError;
use crate::injection::InjectionInput;

/// A closed loop: `window` messages at `start`, and one more after each response. Its offered load follows
/// from the network; at most 1.
pub(super) fn new(context: &InjectionInput) -> Result<f64, WorkloadError> {
    const WHY: &str =
        "its offered load follows from the responses; leave it out, or choose another `injection`";
    let traffic = context.traffic;
    let given = [("load", traffic.load.is_some()), ("rate", traffic.rate.is_some())];
    if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(context.no_meaning(key, WHY));
    }
    if traffic.window.is_none() {
        const WHY: &str =
            "the maximum number of messages of a source without response, for example `window = 16`";
        return Err(context.missing("window", WHY));
    }
    if traffic.response.is_none() {
        const WHY: &str = "the next message is created when a response arrives; give one, for example \
                           `response = { message = \"8 B\" }`";
        return Err(context.missing("response", WHY));
    }
    Ok(1.0)
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{HostId, Time};

    use crate::closed::{Arrival, Event};
    use crate::testing::{hosts, refused, workload};

    const BASE: &str = "pattern = { to = 'H1' }\ninjection = 'window'\nwindow = 2\nmessage = '100 B'\n";
    const RESPONSE: &str = "response = { message = '30 B', delay = '5 ns' }\n";

    fn packet(source: u32, stream: u16, tag: u32, bytes: u32) -> Arrival {
        Arrival { source: HostId(source), stream, tag, bytes }
    }

    #[test]
    fn a_response_makes_room_for_a_request() {
        let rest = format!("{BASE}{RESPONSE}start = '1 us'\nmessages = 3");
        let mut sources = workload(&hosts(2), &rest).sources;
        let [requester, responder] = &mut sources[..] else { panic!() };
        assert_eq!(requester.next(Time::ZERO), Some(Time::us(1)));
        let tags = [requester.take(Time::us(2)), requester.take(Time::us(2))].map(|m| (m.tag, m.created));
        assert_eq!(tags, [(0, Time::us(1)), (1, Time::us(1))]);
        assert_eq!(requester.next(Time::us(3)), None, "the window is full");

        // The packets of a request come in any order.
        assert!(!responder.arrived(Time::us(4), &packet(0, 0, 1, 40)));
        assert!(responder.arrived(Time::us(5), &packet(0, 0, 1, 60)));
        let at = Time::us(5) + Time::ns(5);
        assert_eq!((responder.next(at), responder.next_response()), (None, Some(at)));
        let response = responder.take_response(at).unwrap();
        assert_eq!((response.destination, response.bytes, response.tag), (HostId(0), 30, 1));

        assert!(!requester.arrived(Time::us(6), &packet(1, response.stream, 1, 20)));
        assert!(requester.arrived(Time::us(7), &packet(1, response.stream, 1, 10)));
        let event = Event::Answered { stream: 0, created: Time::us(1), at: Time::us(7) };
        assert_eq!(requester.events().collect::<Vec<_>>(), [event]);
        assert_eq!(requester.take(Time::us(7)).tag, 2);
        requester.arrived(Time::us(8), &packet(1, response.stream, 0, 30));
        assert_eq!(requester.next(Time::us(8)), None, "three messages in all");
    }

    #[test]
    fn no_request_is_made_after_the_stop() {
        let mut sources = workload(&hosts(2), &format!("{BASE}{RESPONSE}stop = '9 us'")).sources;
        (0..2).for_each(|_| _ = sources[0].take(Time::ZERO));
        sources[0].arrived(Time::us(9), &packet(1, 1, 0, 30));
        assert_eq!(sources[0].next(Time::us(9)), None);
    }

    #[test]
    fn drawn_sizes_are_known_to_both_ends() {
        let rest = "pattern = { to = 'H1' }\nload = 0.5\nmessage = { uniform = { min = '1 B', max = '1 MB' } }\n\
                    response = { message = { uniform = { min = '1 B', max = '1 MB' } } }";
        let mut sources = workload(&hosts(2), rest).sources;
        for _ in 0..50 {
            let now = sources[0].next(Time::ZERO).unwrap();
            let request = sources[0].take(now);
            let rest = request.bytes as u32 - 1;
            if rest > 0 {
                assert!(!sources[1].arrived(now, &packet(0, 0, request.tag, rest)), "a byte is missing");
            }
            assert!(sources[1].arrived(now, &packet(0, 0, request.tag, 1)));
            let response = sources[1].take_response(now).unwrap();
            sources[0].arrived(now, &packet(1, 1, response.tag, response.bytes as u32));
            assert_eq!(sources[0].events().count(), 1);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let message =
            |rest: &str| refused(&hosts(4), &format!("pattern = 'uniform'\nmessage = '9 B'\n{rest}"));
        let cases = [
            (
                "injection = 'window'\nresponse = { message = '8 B' }",
                "traffic.0.window: `window` needs it: the maximum number",
            ),
            (
                "injection = 'window'\nwindow = 0\nresponse = { message = '8 B' }",
                "traffic.0.window: 0 is not allowed: give a number from 1 to 65536",
            ),
            (
                "injection = 'window'\nwindow = 4",
                "traffic.0.response: `window` needs it: the next message is created when a response",
            ),
            (
                "injection = 'window'\nwindow = 4\nload = 0.5\nresponse = { message = '8 B' }",
                "traffic.0.load: this has no meaning with `window`",
            ),
            ("load = 0.5\nwindow = 4", "traffic.0.window: this has no meaning with `bernoulli`"),
            (
                "load = 0.5\nresponse = { message = '0 B' }",
                "traffic.0.response.message: 0 B is not allowed: give a size from 1 B",
            ),
            (
                "load = 0.5\ndraw_per = 'packet'\nresponse = { message = '8 B' }",
                "traffic.0.response: this has no meaning with `draw_per = \"packet\"`",
            ),
        ];
        for (rest, expected) in cases {
            let error = message(rest);
            assert!(error.contains(expected), "{rest}: {error}");
        }
    }
}

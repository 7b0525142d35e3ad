//! Matching against a plain model: all receives and messages in order, each pair tried.

use proptest::prelude::*;

use crate::matching::{ANY, Envelop, Matching, Pattern};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    number: u32,
    source: u32,
    tag: i32,
}

impl Envelop for Note {
    fn source_and_tag(&self) -> (u32, i32) {
        (self.source, self.tag)
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive { context: u16, source: u32, tag: i32 },
    Post(Pattern),
    Take(Pattern),
    Cancel(u32),
}

/// Lists of everything that is left, oldest first.
#[derive(Default)]
struct Model {
    receives: Vec<(u32, Pattern)>,
    messages: Vec<(u16, Note)>,
}

impl Model {
    fn fits(pattern: Pattern, context: u16, note: Note) -> bool {
        pattern.context == context
            && [ANY, note.source as i32].contains(&pattern.source)
            && [ANY, note.tag].contains(&pattern.tag)
    }

    fn arrive(&mut self, context: u16, note: Note) -> Option<u32> {
        let found = self.receives.iter().position(|&(_, pattern)| Self::fits(pattern, context, note));
        if found.is_none() {
            self.messages.push((context, note));
        }
        found.map(|place| self.receives.remove(place).0)
    }

    fn take(&mut self, pattern: Pattern) -> Option<Note> {
        let found = self.messages.iter().position(|&(context, note)| Self::fits(pattern, context, note));
        found.map(|place| self.messages.remove(place).1)
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    (-1_i32..3, -1_i32..3, 0_u16..2).prop_map(|(source, tag, context)| Pattern { source, tag, context })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u16..2, 0_u32..3, 0_i32..3).prop_map(|(context, source, tag)| Event::Arrive { context, source, tag }),
        4 => pattern().prop_map(Event::Post),
        1 => pattern().prop_map(Event::Take),
        1 => (0_u32..40).prop_map(Event::Cancel),
    ]
}

proptest! {
    #[test]
    fn receives_and_messages_meet_as_in_the_model(events in prop::collection::vec(event(), 0..80)) {
        let (mut matching, mut model) = (Matching::default(), Model::default());
        for (number, event) in events.into_iter().enumerate() {
            let number = number as u32;
            match event {
                Event::Arrive { context, source, tag } => {
                    let note = Note { number, source, tag };
                    let found = matching.arrive(context, note).map(|(receive, message)| {
                        assert_eq!(message, note);
                        receive
                    });
                    prop_assert_eq!(found, model.arrive(context, note));
                }
                Event::Post(pattern) => {
                    let expected = model.take(pattern);
                    if expected.is_none() {
                        model.receives.push((number, pattern));
                    }
                    prop_assert_eq!(matching.find(pattern).copied(), expected);
                    prop_assert_eq!(matching.post(number, pattern), expected);
                }
                Event::Take(pattern) => prop_assert_eq!(matching.take(pattern), model.take(pattern)),
                Event::Cancel(receive) => {
                    let before = model.receives.len();
                    model.receives.retain(|&(number, _)| number != receive);
                    prop_assert_eq!(matching.cancel(receive), model.receives.len() < before);
                }
            }
            prop_assert_eq!(matching.unexpected(), model.messages.len());
        }
    }
}

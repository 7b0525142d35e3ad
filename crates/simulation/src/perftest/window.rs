//! Messages outstanding: the calls of the program and the completions of its messages, one after the other.

use std::collections::VecDeque;

use fabricsim_units::Time;

use super::programs::POLL_BATCH;

/// Times between which a window of messages moves on, for the closed form of a bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Messages outstanding at most.
    pub(super) depth: u32,
    /// Messages for each completion.
    pub(super) cq_mod: u32,
    /// Time of a call that posts.
    pub(super) post: Time,
    /// Time of a call that finds completions.
    pub(super) poll: Time,
    /// Time until a sleeping program runs; zero if it polls.
    pub(super) wake_up: Time,
    /// Time of the slowest stage for a message.
    pub(super) stage: Time,
    /// From the end of a call that posts until the completion is visible.
    pub(super) rounds: Time,
}

impl Window {
    /// Time for a message, once the calls repeat. No packet is simulated: a message takes the slowest stage after the one before, and its completion is
    /// visible a round trip later.
    pub(super) fn per_message(&self) -> Time {
        // The calls repeat when the depth has moved on.
        let cycle = (self.depth / self.cq_mod).max(1);
        let (first, last) = (8 * cycle, 40 * cycle);
        let (mut clock, mut free) = (Time::ZERO, Time::ZERO);
        let (mut posted, mut polled) = (0, 0);
        let mut completions: VecDeque<Time> = VecDeque::new();
        let mut begun = None;
        while polled < last {
            let visible = completions.iter().take_while(|at| **at <= clock).count().min(POLL_BATCH);
            if visible > 0 {
                completions.drain(..visible);
                polled += visible as u32;
                clock += self.poll;
                if polled >= first {
                    begun.get_or_insert((clock, polled));
                }
            } else if posted - polled * self.cq_mod < self.depth {
                clock += self.post;
                posted += 1;
                free = clock.max(free + self.stage);
                if posted.is_multiple_of(self.cq_mod) {
                    completions.push_back(free + self.rounds);
                }
            } else if let Some(&at) = completions.front() {
                clock = at + self.wake_up;
            } else {
                // A depth of fewer messages than have a completion: the options do not allow it.
                return Time::MAX;
            }
        }
        let (since, before) = begun.unwrap_or_default();
        Time((clock - since).0 / u64::from((polled - before) * self.cq_mod))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(depth: u32, cq_mod: u32) -> Window {
        let [post, poll, stage, rounds] = [60, 30, 28, 1000].map(Time::ns);
        Window { depth, cq_mod, post, poll, wake_up: Time::ZERO, stage, rounds }
    }

    #[test]
    fn one_at_a_time_takes_all_of_it() {
        assert_eq!(window(1, 1).per_message(), Time::ns(60 + 1000 + 30));
        let sleeps = Window { wake_up: Time::us(2), ..window(1, 1) };
        assert_eq!(sleeps.per_message(), Time::ns(60 + 1000 + 2000 + 30));
    }

    /// All are posted before the last of them completes.
    #[test]
    fn a_completion_for_all_waits_for_all_posts() {
        assert_eq!(window(4, 4).per_message() * 4, Time::ns(4 * 60 + 1000 + 30));
    }

    /// But for what is left of the first messages, which follow each other faster.
    #[test]
    fn of_many_the_slowest_of_calls_and_stages_counts() {
        let slow = Window { stage: Time::ns(500), ..window(64, 1) };
        for (window, ns) in [(window(64, 1), 60.0 + 30.0), (window(64, 8), 60.0 + 30.0 / 8.0), (slow, 500.0)]
        {
            let found = window.per_message().as_ns_f64();
            assert!((found / ns - 1.0).abs() < 1e-3, "{found} {window:?}");
        }
    }
}

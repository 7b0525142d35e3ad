//! Features for which the events of a partition are handled: the hot path is compiled for each of them.

use fabricsim_fabric::{
    AdaptiveFeatures, AllFeatures, CommonFeatures, PlainFeatures, Ports, ReadPorts, Receiver, Rules, Switch,
};
use fabricsim_model::Observer;
use fabricsim_spec::{CreditReturn, Switching};
use fabricsim_units::Time;

use super::{Owner, Partition};

impl<B: Observer> Partition<B> {
    /// Handles the events before `until`, at most about `budget`. True if there are more before `until`.
    pub(crate) fn run(&mut self, until: Time, budget: u64) -> bool {
        if self.has_optional_features {
            self.run_as::<AllFeatures>(until, budget)
        } else if self.is_plain && self.context.is_adaptive {
            self.run_as::<AdaptiveFeatures>(until, budget)
        } else if self.is_plain && self.context.ports.whole.is_empty() {
            self.run_as::<PlainFeatures>(until, budget)
        } else {
            self.run_as::<CommonFeatures>(until, budget)
        }
    }
}

/// True if the switches, links and rules of a partition have nothing but [`PlainFeatures`].
pub(super) fn is_plain(switches: &[Switch], owners: &[Owner], ports: &Ports, rules: &Rules) -> bool {
    let is_of_switch = |(_, owner): &(&Receiver, &Owner)| matches!(owner, Owner::Switch(_));
    let mut inputs = ports.receivers.iter().zip(owners).filter(is_of_switch);
    rules.switching == Switching::CutThrough
        && rules.credit_return == CreditReturn::Block
        && ports.are_plain()
        && switches.iter().all(Switch::is_plain)
        && inputs.all(|(receiver, _)| matches!(receiver.reads, ReadPorts::One))
}

use crate::WorkloadError;
use crate::pattern::{PatternInput, Plan, fixed};

/// All to one host; that host itself, if it is among the sources, is silent.
pub(super) fn plan(context: &PatternInput, host: &str) -> Result<Plan, WorkloadError> {
    let destination = context.selector.one(host, &context.place.key("pattern.to"))?;
    fixed(context, |_| Ok(destination))
}

#[cfg(test)]
mod tests {
    use crate::testing::{destinations, hosts, refused, silent};

    #[test]
    fn all_but_itself() {
        assert_eq!(destinations(&hosts(3), "pattern = { to = 'H2' }"), [Some(2), Some(2), None]);
        assert_eq!(silent(&hosts(3), "pattern = { to = 'H2' }"), [2]);
    }

    #[test]
    fn misuse_is_named() {
        let message = |rest: &str| refused(&hosts(3), rest);
        assert!(
            message("pattern = { to = 'H*' }").contains("traffic.0.pattern.to: \"H*\" stands for 3 hosts")
        );
        assert!(message("pattern = { to = 'H7' }").contains("did you mean \"H0\"?"));
        let alone = message("pattern = { to = 'H1' }\nsources = ['H1']");
        assert!(alone.contains("traffic.0.pattern: its only source has no destination"), "{alone}");
    }
}

/// Arrivals that are reported to adapters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArrivalFilter {
    /// None: messages do not depend on arrivals and are not acknowledged.
    #[default]
    Nothing,
    /// Marked ones, and notifications.
    Marks,
    /// These, and the last of each message, which is acknowledged.
    MarksAndEnds,
    /// All: messages follow from others, or packets are acknowledged.
    All,
}

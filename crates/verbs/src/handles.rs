//! Handles of objects. A handle is never used again for another object of its adapter.

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);)*
    };
}

handles! {
    /// Protection domain.
    Pd;
    /// Memory region.
    Mr;
    /// Completion queue.
    Cq;
    /// Shared receive queue.
    Srq;
    /// Memory window.
    Mw;
    /// Address handle.
    Ah;
    /// Domain of extended reliable connections.
    Xrcd;
}

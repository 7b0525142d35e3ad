//! Attributes of a queue pair that a change of state may set.

use std::fmt;
use std::ops::BitOr;

/// Set of attributes: the bits of `ibv_qp_attr_mask`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(pub u32);

macro_rules! attributes {
    ($($name:ident = $bit:literal, $text:literal;)*) => {
        impl Attributes {
            $(#[doc = concat!("`IBV_QP_", $text, "`.")] pub const $name: Self = Self(1 << $bit);)*

            /// Every attribute with its name, without `IBV_QP_`.
            pub const ALL: &[(Self, &str)] = &[$((Self::$name, $text)),*];
        }
    };
}

attributes! {
    STATE = 0, "STATE";
    CUR_STATE = 1, "CUR_STATE";
    EN_SQD_ASYNC_NOTIFY = 2, "EN_SQD_ASYNC_NOTIFY";
    ACCESS_FLAGS = 3, "ACCESS_FLAGS";
    PKEY_INDEX = 4, "PKEY_INDEX";
    PORT = 5, "PORT";
    QKEY = 6, "QKEY";
    AV = 7, "AV";
    PATH_MTU = 8, "PATH_MTU";
    TIMEOUT = 9, "TIMEOUT";
    RETRY_CNT = 10, "RETRY_CNT";
    RNR_RETRY = 11, "RNR_RETRY";
    RQ_PSN = 12, "RQ_PSN";
    MAX_QP_RD_ATOMIC = 13, "MAX_QP_RD_ATOMIC";
    ALT_PATH = 14, "ALT_PATH";
    MIN_RNR_TIMER = 15, "MIN_RNR_TIMER";
    SQ_PSN = 16, "SQ_PSN";
    MAX_DEST_RD_ATOMIC = 17, "MAX_DEST_RD_ATOMIC";
    PATH_MIG_STATE = 18, "PATH_MIG_STATE";
    CAP = 19, "CAP";
    DEST_QPN = 20, "DEST_QPN";
}

impl Attributes {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of `self` that `other` has not.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Attributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::ALL.iter().filter(|(attribute, _)| attribute.without(*self).is_empty());
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

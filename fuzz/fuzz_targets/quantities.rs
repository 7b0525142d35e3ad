//! Numbers with units: what is read is printed and read again.
#![no_main]

use fabricsim_units::{Bytes, Rate, Time};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(time) = text.parse::<Time>() {
        assert_eq!(time.to_string().parse(), Ok(time));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        assert_eq!(bytes.to_string().parse(), Ok(bytes));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
});

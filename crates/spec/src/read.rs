//! Text to [`Experiment`], with errors that a person can act on.

use crate::overrides::set;
use crate::{Experiment, SpecError};

/// Maximum number of characters of a key in a message.
const SHOWN: usize = 100;

/// Reads an experiment. `overrides` are `key = value` pairs (`traffic.0.load`, `0.4`), applied in order before the
/// types are checked; a value that is not TOML is taken as a string, so that `64 KiB` needs no quotes.
pub fn read(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Experiment, SpecError> {
    let parsed = toml::de::Deserializer::parse(text).map_err(|e| SpecError::of_toml(&e, text, file))?;
    if overrides.is_empty() {
        return serde_path_to_error::deserialize(parsed).map_err(|e| at_path(&e, text, file));
    }
    let mut table: toml::Table = toml::from_str(text).map_err(|e| SpecError::of_toml(&e, text, file))?;
    for (key, value) in overrides {
        let shown: String = key.chars().take(SHOWN).collect();
        set(&mut table, key, value).map_err(|message| SpecError::at_key(file, &shown, message))?;
    }
    serde_path_to_error::deserialize(table).map_err(|e| at_path(&e, text, file).located(text, overrides))
}

/// The error with its key and line.
pub(crate) fn at_path(
    error: &serde_path_to_error::Error<toml::de::Error>,
    text: &str,
    file: &str,
) -> SpecError {
    SpecError::of_toml_at(error.inner(), text, file, Some(&error.path().to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    const SMALL: &str = r#"
[topology.mesh]
dimensions = [3, 3]

[[traffic]]
pattern = "uniform"
load = 0.1
message = "2 KiB"

[run]
duration = "1 ms"
"#;

    fn overridden(key: &str, value: &str) -> Result<Experiment, SpecError> {
        read(SMALL, "small.toml", &[(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn overrides_replace_values() {
        assert_eq!(overridden("traffic.0.load", "0.4").unwrap().traffic[0].load, Some(0.4));
        assert_eq!(overridden("run.duration", "2 ms").unwrap().run.duration.0, 2_000_000_000);
        assert_eq!(overridden("switch.virtual_lanes", "4").unwrap().switch.virtual_lanes, 4);
    }

    #[test]
    fn errors_name_line_key_and_nearest() {
        let text = SMALL.replace("load =", "laod =");
        let error = read(&text, "small.toml", &[]).unwrap_err().to_string();
        assert!(error.starts_with("small.toml:7: traffic"), "{error}");
        assert!(error.contains("did you mean `load`?"), "{error}");

        let error = read(&SMALL.replace("1 ms", "1 Gb/s"), "small.toml", &[]).unwrap_err().to_string();
        assert!(error.starts_with("small.toml:11: run.duration: ") && error.contains("40 ns"), "{error}");

        let error = overridden("traffic.3.load", "1").unwrap_err().to_string();
        assert!(error.contains("traffic.3.load") && error.contains("it has 1"), "{error}");
        let error = overridden("switch.colour", "1").unwrap_err().to_string();
        assert!(error.contains("unknown field `colour`"), "{error}");

        let error = overridden("traffic.0.load", "much").unwrap_err().to_string();
        let expected =
            "small.toml: traffic.0.load: expected a number, found the text \"much\" (set on top of the file)";
        assert_eq!(error, expected);
        let error = overridden("traffic.0", "{}").unwrap_err().to_string();
        assert_eq!(error, "small.toml: traffic.0: missing field `pattern` (set on top of the file)");
        let error = overridden("run", "{ duration = '1 furlong' }").unwrap_err().to_string();
        assert!(
            error.contains("run.duration: ") && error.ends_with(" (set on top of the file, by run)"),
            "{error}"
        );
    }

    #[test]
    fn wrong_values_name_what_the_key_allows() {
        let packets = "expected a whole number of packets from 1 to `transport.outstanding`, found";
        let cases = [
            ("transport.fast_from", "x", format!("{packets} the text \"x\"")),
            ("transport.fast_from", "70000", format!("{packets} 70000")),
            ("transport.cid_bits", "x", "expected a whole number from 1 to 15, found".to_owned()),
            ("transport.loss", "x", "expected a number from 0 to less than 1, found".to_owned()),
            ("switch.age.phase", "3", "switch.age.phase: expected `common` or `random` (set".to_owned()),
            ("switch.age.phase", "{}", "expected `common` or `random`".to_owned()),
            ("switch.arbiter", "true", "switch.arbiter: expected one of `round-robin`,".to_owned()),
            ("topology", "3", "topology: expected exactly one kind".to_owned()),
            ("topology", "mesh", "topology.mesh: this kind needs a table of its own".to_owned()),
        ];
        for (key, value, expected) in cases {
            let error = overridden(key, value).unwrap_err().to_string();
            assert!(error.contains(&expected), "{key} = {value}: {error}");
        }
        let text = format!("{SMALL}\n[switch.age]\nphase = 3\n");
        let error = read(&text, "small.toml", &[]).unwrap_err().to_string();
        assert_eq!(error, "small.toml:14: switch.age.phase: expected `common` or `random`");
    }

    #[test]
    fn sizes_of_messages_have_errors_of_their_own() {
        let message = |value: &str| {
            read(&SMALL.replace("\"2 KiB\"", value), "small.toml", &[]).unwrap_err().to_string()
        };
        let cases = [
            ("'2 KiBs'", "small.toml:8: traffic.0.message: \"2 KiBs\" is not a data size"),
            ("5", "small.toml:8: traffic.0.message: expected a size like \"64 KiB\", or a table with"),
            ("{ uniforn = {} }", "did you mean `uniform`?"),
            ("{}", "traffic.0.message: expected exactly one kind"),
            ("{ uniform = { min = '1 B', max = '-2 B' } }", "\"-2 B\" is not a data size: it is negative"),
        ];
        for (value, expected) in cases {
            assert!(message(value).contains(expected), "{value}: {}", message(value));
        }
    }

    /// An experiment with most features.
    const LARGE: &str = include_str!("../../../fuzz/seeds/experiment/small.toml");

    #[test]
    fn the_large_one_is_right() {
        let experiment = read(LARGE, "large.toml", &[]).unwrap();
        assert_eq!(crate::check(&experiment, "large.toml"), Ok(()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", key in "[a-z.\"0-9]*", value in "\\PC*") {
            let _ = read(&text, "x", &[]);
            let _ = overridden(&key, &value);
        }

        #[test]
        fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = read(&text, "x", &[]);
            let _ = overridden(&text, &text);
        }

        /// A correct file with pieces moved, doubled and dropped, and with values set on top of it: read, refused with
        /// the name of the file, or refused by the check of values.
        #[test]
        fn no_damage_panics(
            cuts in vec((any::<Index>(), 0_usize..40, any::<Index>(), any::<bool>()), 0..6),
            keys in vec((key(), value()), 0..4),
        ) {
            let mut bytes = LARGE.as_bytes().to_vec();
            for (from, length, to, moved) in cuts {
                let start = from.index(bytes.len());
                let end = (start + length).min(bytes.len());
                let piece: Vec<u8> = bytes[start..end].to_vec();
                if moved {
                    bytes.drain(start..end);
                }
                let at = to.index(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            let text = String::from_utf8_lossy(&bytes);
            let all = crate::mistakes(&text, "x.toml", &keys);
            let is_right = read(&text, "x.toml", &keys).is_ok_and(|read| crate::check(&read, "x.toml").is_ok());
            prop_assert_eq!(all.is_empty(), is_right);
            match read(&text, "x.toml", &keys) {
                Ok(experiment) => {
                    let refused = crate::check(&experiment, "x.toml").err();
                    let told = refused.map(|error| error.located(&text, &keys).to_string());
                    prop_assert!(told.is_none_or(|told| told.starts_with("x.toml:")));
                }
                Err(error) => prop_assert!(error.to_string().starts_with("x.toml:")),
            }
        }
    }

    /// Existing keys, and some that do not exist.
    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("run.duration"),
            Just("run.steady_state"),
            Just("run.steady_state.batch"),
            Just("traffic.0.load"),
            Just("traffic.1"),
            Just("topology.mesh.dimensions"),
            Just("topology"),
            Just("links.named.\"S(0,0)-S(1,0)\".rate"),
            Just("host.sink.pause_for"),
            Just("groups.left.0"),
            Just("nowhere.0.x"),
        ]
        .prop_map(str::to_owned)
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<i64>().prop_map(|n| n.to_string()),
            any::<f64>().prop_map(|x| x.to_string()),
            (any::<u64>(), "[a-zA-Z/]{1,4}").prop_map(|(n, unit)| format!("{n} {unit}")),
            (any::<u64>(), "(ps|ns|us|ms|s|min)").prop_map(|(n, unit)| format!("{n} {unit}")),
            Just("{}".to_owned()),
            Just("[]".to_owned()),
            "\\PC{0,20}",
        ]
    }
}

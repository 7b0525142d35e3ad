//! Parameters of the LogGOPS model.

use serde::Serialize;

use crate::error::suggestion;

/// Parameters of the LogGOPS model, in ns; defaults are LogGOPSim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Latency.
    pub L: u32,
    /// Time of the processor for a message, at each end.
    pub o: u32,
    /// Time of the interface for a message, at each end.
    pub g: u32,
    /// Time of the interface for each byte but the first.
    pub G: u32,
    /// Time of the processor for each byte but the first.
    pub O: u32,
    /// Largest message in bytes that a sender does not keep until the receiver has matched it.
    pub S: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { L: 2500, o: 1500, g: 1000, G: 6, O: 0, S: 65535 }
    }
}

impl Parameters {
    /// Reads `L=1000,o=100,g=10,G=0`, also with `O` and `S`, in any order. What is absent has its default.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parameters = Self::default();
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("{part:?}: expected name=value"))?;
            let (name, value) = (name.trim(), value.trim());
            if seen.contains(&name) {
                return Err(format!("{name}: it is given already"));
            }
            seen.push(name);
            let most = if name == "S" { i64::MAX as u64 } else { i32::MAX as u64 };
            let unit = if name == "S" { "bytes" } else { "ns" };
            let number = value.parse::<u64>().ok().filter(|number| *number <= most);
            let number = number
                .ok_or_else(|| format!("{name}={value}: must be a whole number of {unit} from 0 to {most}"));
            match name {
                "L" => parameters.L = number? as u32,
                "o" => parameters.o = number? as u32,
                "g" => parameters.g = number? as u32,
                "G" => parameters.G = number? as u32,
                "O" => parameters.O = number? as u32,
                "S" => parameters.S = number?,
                other => {
                    let hint = suggestion(other, &["L", "o", "g", "G", "O", "S"]);
                    return Err(format!("{other}: no parameter of LogGP: expected L, o, g, G, O or S{hint}"));
                }
            }
        }
        Ok(parameters)
    }
}

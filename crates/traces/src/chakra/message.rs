//! The messages of a Chakra execution trace that matter here (`et_def.proto` of mlcommons/chakra), and their framing: each
//! is preceded by its length, a varint.

use std::io::{BufRead, Read};

use prost::Message;

use crate::TraceError;

/// Longest message in bytes: nodes have names and a few attributes.
const LONGEST: u64 = 1 << 26;

/// First message of a file. Its fields do not matter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(string, tag = "1")]
    pub(super) version: String,
}

/// A node of the graph.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int32, tag = "3")]
    pub(super) kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub(super) data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub(super) duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    pub(super) attr: Vec<Attribute>,
}

/// An attribute: a name and a value of one of many types.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(oneof = "Value", tags = "3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29")]
    pub(super) value: Option<Value>,
}

/// A value of an attribute.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    Text(String),
}

/// A list of truth values.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub(super) values: Vec<bool>,
}

impl Value {
    /// The value as a whole number that is not negative.
    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Self::Int32(value) | Self::Sint32(value) | Self::Sfixed32(value) => u64::try_from(*value).ok(),
            Self::Int64(value) | Self::Sint64(value) | Self::Sfixed64(value) => u64::try_from(*value).ok(),
            Self::Uint32(value) | Self::Fixed32(value) => Some(u64::from(*value)),
            Self::Uint64(value) | Self::Fixed64(value) => Some(*value),
            Self::Double(_) | Self::Float(_) | Self::Bool(_) | Self::Bools(_) | Self::Text(_) => None,
        }
    }
}

/// Messages of a file.
pub(super) struct Messages<'a, R> {
    pub(super) input: &'a mut R,
    pub(super) file: &'a str,
    /// Byte of the file.
    pub(super) at: u64,
}

impl<R: BufRead> Messages<'_, R> {
    /// The next message; none at the end of the file.
    pub(super) fn next<M: Message + Default>(&mut self, what: &str) -> Result<Option<M>, TraceError> {
        let begin = self.at;
        let Some(length) = self.length()? else { return Ok(None) };
        if length > LONGEST {
            let problem =
                format!("{what} of {length} bytes: at most {LONGEST}; not a Chakra execution trace?");
            return Err(TraceError::byte(self.file, begin, problem));
        }
        let mut bytes = Vec::new();
        let read = self.input.take(length).read_to_end(&mut bytes);
        read.map_err(|error| TraceError::system(self.file, &error))?;
        self.at += bytes.len() as u64;
        if (bytes.len() as u64) < length {
            let problem = format!("the file ends inside of {what}: {} of {length} bytes", bytes.len());
            return Err(TraceError::byte(self.file, begin, problem));
        }
        let message = M::decode(bytes.as_slice());
        message.map(Some).map_err(|error| TraceError::byte(self.file, begin, format!("{what}: {error}")))
    }

    /// The length of the next message.
    fn length(&mut self) -> Result<Option<u64>, TraceError> {
        let mut length = 0;
        for place in 0..10 {
            let mut byte = [0];
            let count = self.input.read(&mut byte).map_err(|error| TraceError::system(self.file, &error))?;
            if count == 0 && place == 0 {
                return Ok(None);
            }
            if count == 0 {
                return Err(TraceError::byte(self.file, self.at, "the file ends inside of a length"));
            }
            self.at += 1;
            length |= u64::from(byte[0] & 0x7f) << (7 * place).min(63);
            if byte[0] & 0x80 == 0 {
                return Ok(Some(length));
            }
        }
        Err(TraceError::byte(
            self.file,
            self.at,
            "a length of more than ten bytes: not a Chakra execution trace",
        ))
    }
}

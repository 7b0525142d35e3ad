//! Numbers and calls of a DUMPI file: big endian, calls one after the other.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::functions::{END, FUNCTIONS};
use crate::TraceError;

/// Magic number at the beginning of a file and before its index.
const MAGIC: u64 = 0xffaa_dd44_554d_5049;

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    /// A number.
    Number(i64),
    /// An array of numbers.
    List(Vec<i32>),
    /// Statuses: source and tag of each.
    Statuses(Vec<(i32, i32)>),
}

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    /// Number of the function.
    pub(super) function: u16,
    /// Byte of the file at which it begins.
    pub(super) place: u64,
    /// Time of entry and return in ns, by the wall clock, else by the processor's.
    pub(super) times: Option<(u64, u64)>,
    /// Arguments in the order of the file.
    pub(super) arguments: Vec<Argument>,
}

impl Call {
    /// A number; -1 if the argument is not there.
    pub(super) fn number(&self, at: usize) -> i64 {
        match self.arguments.get(at) {
            Some(Argument::Number(value)) => *value,
            _ => -1,
        }
    }

    /// An array; empty if the argument is not there.
    pub(super) fn list(&self, at: usize) -> &[i32] {
        match self.arguments.get(at) {
            Some(Argument::List(values)) => values,
            _ => &[],
        }
    }

    /// Source and tag of the first status.
    pub(super) fn status(&self, at: usize) -> Option<(i32, i32)> {
        match self.arguments.get(at) {
            Some(Argument::Statuses(statuses)) => statuses.first().copied(),
            _ => None,
        }
    }
}

/// Reader of a file.
pub(super) struct Stream<'a, R> {
    input: &'a mut BufReader<R>,
    pub(super) file: &'a str,
    at: u64,
    length: u64,
}

/// Places of the records of a file that are read.
#[derive(Debug)]
pub(super) struct Index {
    sizes: u64,
    header: u64,
    body: u64,
}

impl<'a, R: Read + Seek> Stream<'a, R> {
    /// Begins to read: checks the magic numbers, and finds the records.
    pub(super) fn open(input: &'a mut BufReader<R>, file: &'a str) -> Result<(Self, Index), TraceError> {
        let length = input.seek(SeekFrom::End(0)).map_err(|error| TraceError::system(file, &error))?;
        let mut stream = Self { input, file, at: length, length };
        stream.seek(0)?;
        let magic = stream.u64("the magic number")?;
        if magic == MAGIC.swap_bytes() {
            return Err(stream.error_at(0, "foreign byte order: a DUMPI file is big endian"));
        }
        if magic != MAGIC {
            return Err(stream.error_at(0, "not a DUMPI file: it must begin with ff aa dd \"DUMPI\""));
        }
        // Behind the magic number are up to three optional places, then header, body, footer and pairs of keys and values.
        for optional in (0..=3).rev() {
            let begin = length.saturating_sub(8 * (5 + optional));
            stream.seek(begin)?;
            if begin < 8 || stream.u64("the index")? != MAGIC {
                continue;
            }
            let mut places = Vec::new();
            for _ in 0..optional + 4 {
                places.push(stream.u64("the index")?);
            }
            let first = optional as usize;
            let sizes = if optional == 3 { places[0] } else { 0 };
            return Ok((stream, Index { sizes, header: places[first], body: places[first + 1] }));
        }
        let problem =
            format!("no index at the end, byte {length}: the file was cut short, or its program did not end");
        Err(stream.error_at(length, problem))
    }

    pub(super) fn error_at(&self, byte: u64, problem: impl Into<String>) -> TraceError {
        TraceError::byte(self.file, byte, problem)
    }

    fn seek(&mut self, byte: u64) -> Result<(), TraceError> {
        if byte > self.length {
            let problem = format!("a record at byte {byte}: the file has {}", self.length);
            return Err(self.error_at(self.at.min(self.length), problem));
        }
        self.input.seek(SeekFrom::Start(byte)).map_err(|error| TraceError::system(self.file, &error))?;
        self.at = byte;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut bytes = [0; N];
        if self.length.saturating_sub(self.at) < N as u64 {
            return Err(self.error_at(self.at, format!("the file ends inside of {what}")));
        }
        self.input.read_exact(&mut bytes).map_err(|error| TraceError::system(self.file, &error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u8(&mut self, what: &str) -> Result<u8, TraceError> {
        self.bytes(what).map(u8::from_be_bytes)
    }

    fn u16(&mut self, what: &str) -> Result<u16, TraceError> {
        self.bytes(what).map(u16::from_be_bytes)
    }

    fn i32(&mut self, what: &str) -> Result<i32, TraceError> {
        self.bytes(what).map(i32::from_be_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        self.bytes(what).map(u64::from_be_bytes)
    }

    /// The length of an array whose entries take at least `bytes` bytes.
    fn length(&mut self, what: &str, bytes: u64) -> Result<u32, TraceError> {
        let place = self.at;
        let count = self.i32(what)?;
        let left = (self.length - self.at) / bytes;
        let found = u32::try_from(count).ok().filter(|count| u64::from(*count) <= left);
        found.ok_or_else(|| {
            self.error_at(
                place,
                format!("{what}: an array of {count} entries: must be 0 to {left} (the rest of the file)"),
            )
        })
    }

    /// Version, of three numbers, and bytes of types by number.
    pub(super) fn head(&mut self, index: &Index) -> Result<([u8; 3], Vec<i32>), TraceError> {
        self.seek(index.header)?;
        let version = self.bytes("the header")?;
        if version < [0, 6, 9] {
            let [a, b, c] = version;
            return Err(self.error_at(index.header, format!("version {a}.{b}.{c}: must be 0.6.9 or later")));
        }
        let mut sizes = Vec::new();
        if index.sizes != 0 {
            self.seek(index.sizes)?;
            for _ in 0..self.length("the sizes of types", 4)? {
                sizes.push(self.i32("the sizes of types")?);
            }
        }
        self.seek(index.body)?;
        self.bytes::<8>("the biases of the clocks")?;
        Ok((version, sizes))
    }

    /// The next call; none at the end of the calls.
    pub(super) fn call(&mut self) -> Result<Option<Call>, TraceError> {
        let place = self.at;
        let function = self.u16("the calls")?;
        if function == END {
            return Ok(None);
        }
        let Some((name, layout)) = FUNCTIONS.get(usize::from(function)).filter(|(_, layout)| *layout != "!")
        else {
            let most = FUNCTIONS.len() - 1;
            return Err(self.error_at(place, format!("function {function}: must be 0 to {most}, or {END} at the end; some of MPI-IO are not known")));
        };
        let mask = self.u8(name)?;
        if mask & 0x40 != 0 {
            self.u16(name)?;
        }
        let cpu = if mask & 4 == 0 { None } else { Some((self.time(name)?, self.time(name)?)) };
        let wall = if mask & 8 == 0 { None } else { Some((self.time(name)?, self.time(name)?)) };
        if mask & 0x80 != 0 {
            let count = self.u8(name)?;
            for _ in 0..count {
                self.bytes::<16>(name)?;
            }
        }
        let arguments = self.arguments(name, layout, mask)?;
        Ok(Some(Call { function, place, times: wall.or(cpu), arguments }))
    }

    fn time(&mut self, name: &str) -> Result<u64, TraceError> {
        let seconds = self.u16(name)?;
        let ns = self.i32(name)?;
        Ok(u64::from(seconds) * 1_000_000_000 + u64::from(ns as u32))
    }

    fn arguments(&mut self, name: &str, layout: &str, mask: u8) -> Result<Vec<Argument>, TraceError> {
        let mut arguments = Vec::new();
        let mut codes = layout.chars();
        let mut root = None;
        while let Some(mut code) = codes.next() {
            if code == '?' {
                code = codes.next().unwrap_or('!');
                // The first argument is the caller's rank.
                if root.as_ref() != arguments.first() {
                    continue;
                }
            }
            let argument = self.argument(name, code, mask)?;
            if code == 'r' {
                root = Some(argument.clone());
            }
            arguments.push(argument);
        }
        Ok(arguments)
    }

    fn argument(&mut self, name: &str, code: char, mask: u8) -> Result<Argument, TraceError> {
        Ok(match code {
            'h' => Argument::Number(i64::from(self.u16(name)?)),
            'b' | 'W' => Argument::Number(i64::from(self.u8(name)?)),
            'x' => Argument::Number(self.u64(name)? as i64),
            'a' | 't' | 'V' => self.array(name, code)?,
            's' => self.statuses(name, mask)?,
            'z' | 'Y' | 'A' | 'Z' | '2' => {
                self.skip(name, code)?;
                Argument::List(Vec::new())
            }
            _ => Argument::Number(i64::from(self.i32(name)?)),
        })
    }

    fn array(&mut self, name: &str, code: char) -> Result<Argument, TraceError> {
        let size = match code {
            'a' => 4,
            't' => 2,
            _ => 1,
        };
        let mut values = Vec::new();
        for _ in 0..self.length(name, size)? {
            values.push(match code {
                'a' => self.i32(name)?,
                't' => i32::from(self.u16(name)?),
                _ => i32::from(self.u8(name)?),
            });
        }
        Ok(Argument::List(values))
    }

    fn statuses(&mut self, name: &str, mask: u8) -> Result<Argument, TraceError> {
        let mut statuses = Vec::new();
        if mask & 3 != 0 {
            for _ in 0..self.length(name, 14)? {
                let (_bytes, source) = (self.i32(name)?, self.i32(name)?);
                let [_cancelled, _error] = self.bytes(name)?;
                statuses.push((source, self.i32(name)?));
            }
        }
        Ok(Argument::Statuses(statuses))
    }

    /// Skips texts and nested arrays.
    fn skip(&mut self, name: &str, code: char) -> Result<(), TraceError> {
        let inner = match code {
            'Z' => Some('Y'),
            'Y' | 'A' => Some('z'),
            '2' => Some('a'),
            _ => None,
        };
        let Some(inner) = inner else {
            let bytes = self.length(name, 1)?;
            return self.seek(self.at + u64::from(bytes));
        };
        for _ in 0..self.length(name, 4)? {
            if inner == 'a' {
                self.array(name, 'a')?;
            } else {
                self.skip(name, inner)?;
            }
        }
        Ok(())
    }
}

//! A line of a file, and the tokens that all formats share.

use winnow::ascii::{digit1, hex_digit1, space0};
use winnow::combinator::{alt, preceded};
use winnow::error::EmptyError;
use winnow::token::take_while;
use winnow::{ModalParser, Parser};

use crate::{FileError, Guid, Problem};

/// Longest text of a line that a message repeats, in characters.
const SHOWN: usize = 40;

/// The rest of a line that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// File, for messages.
    pub(crate) file: &'a str,
    /// Number, from 1.
    pub(crate) number: usize,
    /// Text that is not read yet.
    pub(crate) rest: &'a str,
}

/// Parsers of tokens. Alternatives are few, so errors carry nothing: [`Line::expect`] describes them.
type TokenError = winnow::error::ErrMode<EmptyError>;

fn decimal(input: &mut &str) -> Result<u64, TokenError> {
    digit1.parse_to().parse_next(input)
}

fn hexadecimal(input: &mut &str) -> Result<u64, TokenError> {
    hex_digit1.verify_map(|digits: &str| u64::from_str_radix(digits, 16).ok()).parse_next(input)
}

fn prefixed(input: &mut &str) -> Result<u64, TokenError> {
    preceded(alt(("0x", "0X")), hexadecimal).parse_next(input)
}

impl<'a> Line<'a> {
    /// Lines of a text, from 1, without line ends.
    pub(crate) fn all(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate();
        lines.map(move |(index, rest)| Line { file, number: index + 1, rest: rest.trim_end() })
    }

    /// An error at this line.
    pub(crate) fn error(&self, problem: Problem) -> FileError {
        FileError::at(self.file, self.number, problem)
    }

    /// An error: something else stands here than `expected`.
    pub(crate) fn expected(&self, expected: &'static str) -> FileError {
        let mut found: String = self.rest.chars().take(SHOWN).collect();
        if found.is_empty() {
            found.push_str("end of line");
        }
        self.error(Problem::Syntax { expected, found })
    }

    fn take<T>(&mut self, mut parser: impl ModalParser<&'a str, T, EmptyError>) -> Option<T> {
        let mut input = self.rest;
        let value = parser.parse_next(&mut input).ok()?;
        self.rest = input;
        Some(value)
    }

    fn require<T>(
        &mut self,
        parser: impl ModalParser<&'a str, T, EmptyError>,
        expected: &'static str,
    ) -> Result<T, FileError> {
        self.take(parser).ok_or_else(|| self.expected(expected))
    }

    /// Skips blanks.
    pub(crate) fn blanks(&mut self) -> &mut Self {
        let _ = self.take(space0::<&str, TokenError>);
        self
    }

    /// Skips `text` if it stands here.
    pub(crate) fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads `text`.
    pub(crate) fn expect(&mut self, text: &'static str) -> Result<(), FileError> {
        if self.skip(text) { Ok(()) } else { Err(self.expected(text)) }
    }

    /// Reads a decimal number.
    pub(crate) fn decimal(&mut self, expected: &'static str) -> Result<u64, FileError> {
        self.require(decimal, expected)
    }

    /// Reads a hexadecimal number without prefix.
    pub(crate) fn hex(&mut self, expected: &'static str) -> Result<u64, FileError> {
        self.require(hexadecimal, expected)
    }

    /// Reads a number with `0x`.
    pub(crate) fn prefixed(&mut self, expected: &'static str) -> Result<u64, FileError> {
        self.require(prefixed, expected)
    }

    /// Reads a decimal number, or a hexadecimal one with `0x`.
    pub(crate) fn number(&mut self, expected: &'static str) -> Result<u64, FileError> {
        self.require(alt((prefixed, decimal)), expected)
    }

    /// Reads a GUID with `0x`.
    pub(crate) fn guid(&mut self) -> Result<Guid, FileError> {
        self.prefixed("a GUID (0x and hexadecimal digits)").map(Guid)
    }

    /// Reads characters other than blanks.
    pub(crate) fn word(&mut self) -> &'a str {
        let word = take_while::<_, &str, TokenError>(0.., |c: char| !c.is_ascii_whitespace());
        self.take(word).unwrap_or("")
    }

    /// Reads text up to `end`, and `end`.
    pub(crate) fn until(&mut self, end: &'static str) -> Result<&'a str, FileError> {
        let Some((text, rest)) = self.rest.split_once(end) else { return Err(self.expected(end)) };
        self.rest = rest;
        Ok(text)
    }

    /// Reads text up to the last `end`, and `end`: the text may contain `end`.
    pub(crate) fn until_last(&mut self, end: &'static str) -> Result<&'a str, FileError> {
        let Some((text, rest)) = self.rest.rsplit_once(end) else { return Err(self.expected(end)) };
        self.rest = rest;
        Ok(text)
    }
}

/// Text of a file.
pub(crate) fn text<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, FileError> {
    std::str::from_utf8(bytes).map_err(|bad| {
        let line = bytes[..bad.valid_up_to()].split(|&byte| byte == b'\n').count();
        FileError::at(file, line, Problem::NotUtf8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rest: &str) -> Line<'_> {
        Line { file: "f", number: 3, rest }
    }

    #[test]
    fn tokens() {
        let mut read = line("[12](2c9) 0x1F word \"a\"b\"");
        read.expect("[").unwrap();
        assert_eq!(read.decimal("a port"), Ok(12));
        read.expect("](").unwrap();
        assert_eq!(read.hex("a GUID"), Ok(0x2c9));
        assert!(read.skip(")"));
        assert_eq!(read.blanks().guid(), Ok(Guid(31)));
        assert_eq!(read.blanks().word(), "word");
        assert!(read.blanks().skip("\""));
        assert_eq!(read.until_last("\""), Ok("a\"b"));
        let error = read.decimal("a LID").unwrap_err();
        assert_eq!(error.to_string(), "f:3: \"end of line\": expected a LID");
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        assert!(line("99999999999999999999").decimal("a number").is_err());
        assert!(line("0x11112222333344445").guid().is_err());
    }
}

//! Tokens of a line of GOAL text.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Letters, digits, `_`, `-`.
    Word(&'a [u8]),
    /// `:`, `{` or `}`.
    Mark(u8),
    /// A byte that no token begins with, and what follows.
    Other(&'a [u8]),
}

/// Tokens of one line. Comments are skipped; one in `/* */` may go on in the next line.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    rest: &'a [u8],
    in_comment: bool,
}

impl<'a> Tokens<'a> {
    /// Tokens of a line that begins inside of a comment or outside.
    pub(crate) fn new(line: &'a [u8], in_comment: bool) -> Self {
        Self { rest: line, in_comment }
    }

    /// True if the next line begins inside of a comment. To be asked after the last token.
    pub(crate) fn in_comment(&self) -> bool {
        self.in_comment
    }

    fn skip_comment(&mut self) {
        let end = self.rest.windows(2).position(|pair| pair == b"*/");
        self.in_comment = end.is_none();
        self.rest = end.map_or(&[], |at| &self.rest[at + 2..]);
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if self.in_comment {
                self.skip_comment();
            }
            let first = *self.rest.first()?;
            match first {
                b' ' | b'\t' | b'\r' | b'\n' => self.rest = &self.rest[1..],
                b':' | b'{' | b'}' => {
                    self.rest = &self.rest[1..];
                    return Some(Token::Mark(first));
                }
                b'/' if self.rest.starts_with(b"//") => self.rest = &[],
                b'/' if self.rest.starts_with(b"/*") => {
                    self.rest = &self.rest[2..];
                    self.in_comment = true;
                }
                _ if is_word(first) => {
                    let end = self.rest.iter().position(|byte| !is_word(*byte)).unwrap_or(self.rest.len());
                    let (word, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    return Some(Token::Word(word));
                }
                _ => return Some(Token::Other(std::mem::take(&mut self.rest))),
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The number that `digits` spell; none if they spell none or one above `most`.
pub(crate) fn number(digits: &[u8], most: u64) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    (value <= most).then_some(value)
}

/// True if a word may be a label: a letter, then letters, digits, `_`.
pub(crate) fn is_label(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic) && !word.contains(&b'-')
}

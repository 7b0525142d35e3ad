//! NED text to tokens.

/// A piece of NED text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// A number with the unit written right behind it: `5ns`.
    Number(&'a str),
    /// A string, without its quotes.
    Text(&'a str),
    /// `-->`, `<--` or `<-->`.
    Arrow(&'a str),
    /// Any other character.
    Sign(char),
}

impl Kind<'_> {
    /// Returns the token as quoted in messages.
    pub(super) fn quoted(self) -> String {
        match self {
            Self::Word(text) | Self::Number(text) | Self::Arrow(text) => format!("`{text}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Sign(c) => format!("`{c}`"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) line: usize,
}

/// Tokens of `text`, comments left out. The error is a line and a message.
pub(super) fn lex(text: &str) -> Result<Vec<Token<'_>>, (usize, String)> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(c) = rest.chars().next() {
        let (kind, length) = if c.is_whitespace() {
            (None, c.len_utf8())
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if c == '"' {
            let length = text_length(rest).ok_or((line, "the file is cut off in a string".to_owned()))?;
            (Some(Kind::Text(&rest[1..length - 1])), length)
        } else {
            let (kind, length) = plain(rest, c);
            (Some(kind), length)
        };
        let (piece, after) = rest.split_at(length);
        tokens.extend(kind.map(|kind| Token { kind, line }));
        line += piece.matches('\n').count();
        rest = after;
    }
    Ok(tokens)
}

fn plain(rest: &str, c: char) -> (Kind<'_>, usize) {
    let span = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
    if c.is_ascii_alphabetic() || c == '_' {
        let length = span(|c| c.is_ascii_alphanumeric() || c == '_');
        return (Kind::Word(&rest[..length]), length);
    }
    if c.is_ascii_digit() {
        let length = span(|c| c.is_ascii_alphanumeric() || c == '.');
        return (Kind::Number(&rest[..length]), length);
    }
    let arrow = ["<-->", "-->", "<--"].into_iter().find(|arrow| rest.starts_with(arrow));
    match arrow {
        Some(arrow) => (Kind::Arrow(arrow), arrow.len()),
        None => (Kind::Sign(c), c.len_utf8()),
    }
}

/// Length of the string that `rest` starts with, quotes included.
fn text_length(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

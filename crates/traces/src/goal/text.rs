//! Reader of GOAL text.
//!
//! The language is that of LogGOPSim's `txt2bin`, and a little more: `cpu` and `nic` stand in any order, comments stand
//! behind statements. Ranks come in ascending order, and labels before their uses, as there.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::line::{Token, Tokens, is_label, number};
use crate::error::quoted;
use crate::{ANY, Kind, MOST, Operation, RankBuilder, Schedule, TraceError};

/// Words that are no labels.
const KEYWORDS: [&[u8]; 5] = [b"send", b"recv", b"calc", b"rank", b"num_ranks"];

/// Most operations of a rank.
const MOST_OPERATIONS: usize = u32::MAX as usize / 2;

/// Reads a schedule from text, line by line; `file` is its name for messages.
pub fn read_text(input: &mut impl BufRead, file: &str) -> Result<Schedule, TraceError> {
    let mut reader = Reader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = input.read_until(b'\n', &mut line).map_err(|error| TraceError::system(file, &error))?;
        if count == 0 {
            return reader.finish();
        }
        reader.line += 1;
        reader.take_line(&line)?;
    }
}

struct Reader<'a> {
    file: &'a str,
    line: u64,
    in_comment: bool,
    ranks: Option<u32>,
    schedule: Schedule,
    /// The rank whose block is open, with the line of its beginning.
    open: Option<(RankBuilder, u64)>,
    labels: BTreeMap<Box<[u8]>, u32>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str) -> Self {
        Self {
            file,
            line: 0,
            in_comment: false,
            ranks: None,
            schedule: Schedule::default(),
            open: None,
            labels: BTreeMap::new(),
        }
    }

    fn error(&self, problem: impl Into<String>) -> TraceError {
        TraceError::line(self.file, self.line, problem)
    }

    fn expected(&self, what: &str, found: Option<Token>) -> TraceError {
        let found = match found {
            None => "the end of the line".to_owned(),
            Some(Token::Word(word) | Token::Other(word)) => quoted(word),
            Some(Token::Mark(mark)) => format!("{:?}", char::from(mark).to_string()),
        };
        self.error(format!("{found}: expected {what}"))
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), TraceError> {
        let mut tokens = Tokens::new(line, self.in_comment);
        while let Some(token) = tokens.next() {
            match (token, self.open.is_some()) {
                (Token::Word(b"num_ranks"), false) => self.number_of_ranks(&mut tokens)?,
                (Token::Word(b"rank"), false) => self.open_rank(&mut tokens)?,
                (Token::Mark(b'}'), true) => self.close_rank(),
                (Token::Word(word), true) => self.statement(word, &mut tokens)?,
                (token, false) => return Err(self.expected("num_ranks or rank", Some(token))),
                (token, true) => {
                    let what = "send, recv, calc, a label or \"}\"";
                    return Err(self.expected(what, Some(token)));
                }
            }
        }
        self.in_comment = tokens.in_comment();
        Ok(())
    }

    fn number_of_ranks(&mut self, tokens: &mut Tokens) -> Result<(), TraceError> {
        if self.ranks.is_some() {
            return Err(self.error("num_ranks: it stands in the file already"));
        }
        let count = self.number(tokens, "a number of ranks", u64::from(ANY - 1))?;
        if count == 0 {
            return Err(self.error("num_ranks 0: must be at least 1"));
        }
        self.ranks = Some(count as u32);
        Ok(())
    }

    fn open_rank(&mut self, tokens: &mut Tokens) -> Result<(), TraceError> {
        let Some(ranks) = self.ranks else {
            return Err(self.error("rank: num_ranks must come before"));
        };
        let rank = self.number(tokens, "a rank", u64::from(ANY - 1))?;
        let next = self.schedule.ranks.len() as u64;
        if next >= u64::from(ranks) {
            return Err(self.error(format!("rank {rank}: num_ranks is {ranks}, and all ranks are there")));
        }
        if rank != next {
            return Err(self.error(format!("rank {rank}: expected rank {next}: ranks stand in order")));
        }
        match tokens.next() {
            Some(Token::Mark(b'{')) => {}
            other => return Err(self.expected("\"{\"", other)),
        }
        self.open = Some((RankBuilder::default(), self.line));
        self.labels.clear();
        Ok(())
    }

    fn close_rank(&mut self) {
        if let Some((builder, _)) = self.open.take() {
            self.schedule.ranks.push(builder.finish());
        }
    }

    fn statement(&mut self, word: &[u8], tokens: &mut Tokens) -> Result<(), TraceError> {
        if let Some(kind) = kind(word) {
            let operation = self.operation(kind, tokens)?;
            return self.push(operation, None);
        }
        if !is_label(word) || KEYWORDS.contains(&word) {
            let what = "send, recv, calc, a label or \"}\"";
            return Err(self.expected(what, Some(Token::Word(word))));
        }
        match tokens.next() {
            Some(Token::Mark(b':')) => {
                let found = tokens.next();
                let known = match found {
                    Some(Token::Word(word)) => kind(word),
                    _ => None,
                };
                let Some(kind) = known else {
                    let what = format!("send, recv or calc behind the label {}", quoted(word));
                    return Err(self.expected(&what, found));
                };
                let operation = self.operation(kind, tokens)?;
                self.push(operation, Some(word))
            }
            Some(Token::Word(b"requires")) => self.dependency(word, tokens, false),
            Some(Token::Word(b"irequires")) => self.dependency(word, tokens, true),
            other => Err(self.expected("\":\", requires or irequires", other)),
        }
    }

    fn push(&mut self, operation: Operation, label: Option<&[u8]>) -> Result<(), TraceError> {
        let count = self.open.as_ref().map_or(0, |(builder, _)| builder.len());
        if count >= MOST_OPERATIONS {
            return Err(self.error(format!("a rank has at most {MOST_OPERATIONS} operations")));
        }
        if let Some(label) = label
            && self.labels.insert(label.into(), count as u32).is_some()
        {
            return Err(self.error(format!("label {}: the rank has it already", quoted(label))));
        }
        if let Some((builder, _)) = &mut self.open {
            builder.push(operation);
        }
        Ok(())
    }

    fn dependency(&mut self, word: &[u8], tokens: &mut Tokens, at_start: bool) -> Result<(), TraceError> {
        let operation = self.label(word)?;
        let on = match tokens.next() {
            Some(Token::Word(word)) if is_label(word) => self.label(word)?,
            other => return Err(self.expected("a label", other)),
        };
        if let Some(token) = tokens.next() {
            return Err(self.expected("the end of the line", Some(token)));
        }
        match &mut self.open {
            Some((builder, _)) if at_start => builder.irequires(operation, on),
            Some((builder, _)) => builder.requires(operation, on),
            None => {}
        }
        Ok(())
    }

    fn label(&self, word: &[u8]) -> Result<u32, TraceError> {
        let found = self.labels.get(word).copied();
        found.ok_or_else(|| {
            let rank = self.schedule.ranks.len();
            self.error(format!("label {}: no operation of rank {rank} above has it", quoted(word)))
        })
    }

    fn operation(&self, kind: Kind, tokens: &mut Tokens) -> Result<Operation, TraceError> {
        let mut operation = Operation { kind, cpu: 0, nic: 0, peer: 0, tag: 0, size: 0 };
        if kind == Kind::Calc {
            operation.size = self.number(tokens, "a duration in ns", MOST)?;
        } else {
            operation.size = self.bytes(tokens)?;
            operation.peer = self.peer(kind, tokens)?;
        }
        let allowed = if kind == Kind::Calc { "cpu, nic" } else { "tag, cpu, nic" };
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(b"cpu") => operation.cpu = self.number(tokens, "a processor", 255)? as u8,
                Token::Word(b"nic") => operation.nic = self.number(tokens, "an interface", 255)? as u8,
                Token::Word(b"tag") if kind != Kind::Calc => operation.tag = self.tag(kind, tokens)?,
                other => {
                    return Err(self.expected(&format!("{allowed} or the end of the line"), Some(other)));
                }
            }
        }
        Ok(operation)
    }

    /// A size: `8b` or `8 b`.
    fn bytes(&self, tokens: &mut Tokens) -> Result<u64, TraceError> {
        let what = format!("a number of bytes from 0 to {MOST} with \"b\"");
        let token = tokens.next();
        let Some(Token::Word(word)) = token else {
            return Err(self.expected(&what, token));
        };
        if let Some(value) = word.strip_suffix(b"b").and_then(|digits| number(digits, MOST)) {
            return Ok(value);
        }
        match (number(word, MOST), tokens.next()) {
            (Some(value), Some(Token::Word(b"b"))) => Ok(value),
            (Some(_), other) => Err(self.expected("\"b\"", other)),
            (None, _) => Err(self.expected(&what, token)),
        }
    }

    fn peer(&self, kind: Kind, tokens: &mut Tokens) -> Result<u32, TraceError> {
        let (word, what) =
            if kind == Kind::Send { (&b"to"[..], "\"to\"") } else { (&b"from"[..], "\"from\"") };
        match tokens.next() {
            Some(Token::Word(found)) if found == word => {}
            other => return Err(self.expected(what, other)),
        }
        let ranks = self.ranks.unwrap_or(0);
        let token = tokens.next();
        match token {
            Some(Token::Word(b"-1")) if kind == Kind::Recv => Ok(ANY),
            Some(Token::Word(digits)) => {
                let found = number(digits, u64::from(ranks) - 1);
                let any = if kind == Kind::Recv { ", or -1 for any" } else { "" };
                let what = format!("a rank from 0 to {}{any}", ranks - 1);
                found.map(|rank| rank as u32).ok_or_else(|| self.expected(&what, token))
            }
            other => Err(self.expected("a rank", other)),
        }
    }

    fn tag(&self, kind: Kind, tokens: &mut Tokens) -> Result<u32, TraceError> {
        let token = tokens.next();
        match token {
            Some(Token::Word(b"-1")) if kind == Kind::Recv => Ok(ANY),
            Some(Token::Word(digits)) => {
                let any = if kind == Kind::Recv { ", or -1 for any" } else { "" };
                let what = format!("a tag from 0 to {}{any}", ANY - 1);
                let found = number(digits, u64::from(ANY - 1));
                found.map(|tag| tag as u32).ok_or_else(|| self.expected(&what, token))
            }
            other => Err(self.expected("a tag", other)),
        }
    }

    fn number(&self, tokens: &mut Tokens, what: &str, most: u64) -> Result<u64, TraceError> {
        let token = tokens.next();
        let value = match token {
            Some(Token::Word(digits)) => number(digits, most),
            _ => None,
        };
        value.ok_or_else(|| self.expected(&format!("{what} from 0 to {most}"), token))
    }

    fn finish(self) -> Result<Schedule, TraceError> {
        if self.in_comment {
            return Err(self.error("the file ends inside of a comment: \"*/\" is missing"));
        }
        if let Some((_, line)) = self.open {
            let rank = self.schedule.ranks.len();
            return Err(
                self.error(format!("the file ends inside of rank {rank} (line {line}): \"}}\" is missing"))
            );
        }
        let Some(ranks) = self.ranks else {
            return Err(TraceError::whole(self.file, "no num_ranks: not a GOAL schedule"));
        };
        let found = self.schedule.ranks.len();
        if found != ranks as usize {
            return Err(self.error(format!("the file ends after {found} ranks: num_ranks is {ranks}")));
        }
        Ok(self.schedule)
    }
}

fn kind(word: &[u8]) -> Option<Kind> {
    match word {
        b"send" => Some(Kind::Send),
        b"recv" => Some(Kind::Recv),
        b"calc" => Some(Kind::Calc),
        _ => None,
    }
}

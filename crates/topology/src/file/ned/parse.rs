//! NED tokens to modules: the part of the language that a fixed network needs.

use std::collections::BTreeMap;

use fabricsim_units::{Rate, Time};

use super::lex::{Kind, Token};

/// A line and a message.
pub(super) type Failure = (usize, String);

/// A `network` or `module` that has submodules.
#[derive(Default)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) submodules: Vec<Submodule>,
    pub(super) connections: Vec<Connection>,
}

pub(super) struct Submodule {
    pub(super) name: String,
    /// Its type, without the package.
    pub(super) kind: String,
    pub(super) line: usize,
    pub(super) body: Body,
}

/// Content of braces: assignments and the display string.
#[derive(Default)]
pub(super) struct Body {
    /// Value and its line, by parameter.
    pub(super) values: BTreeMap<String, (String, usize)>,
    pub(super) display: Option<String>,
}

/// A gate of a submodule: `SW11.out[2]`.
pub(super) struct Gate {
    pub(super) node: String,
    pub(super) name: String,
    pub(super) index: Option<u64>,
}

/// A connection as it is written.
pub(super) struct Connection {
    pub(super) from: Gate,
    pub(super) to: Gate,
    /// `<-->`
    pub(super) both: bool,
    pub(super) channel: Channel,
    pub(super) line: usize,
}

/// Parameters of a channel.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Channel {
    pub(super) delay: Option<Time>,
    pub(super) rate: Option<Rate>,
}

/// The modules of a file that have connections, in order.
pub(super) fn parse(tokens: &[Token<'_>]) -> Result<Vec<Module>, Failure> {
    let mut parser = Parser { tokens, at: 0, channels: BTreeMap::new() };
    let mut modules = Vec::new();
    while let Some(token) = parser.peek() {
        match token {
            Kind::Word("network" | "module") => modules.extend(parser.module()?),
            Kind::Word("channel") => parser.channel_type()?,
            Kind::Word("simple" | "moduleinterface" | "channelinterface") => parser.skip_definition()?,
            Kind::Word("package" | "import" | "property") | Kind::Sign('@') => drop(parser.statement()?),
            Kind::Sign(';') => parser.at += 1,
            _ => return Err(parser.unexpected("`network`, `module`, `channel`, `import` or `package`")),
        }
    }
    Ok(modules)
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    channels: BTreeMap<String, Channel>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn next(&mut self, expected: &str) -> Result<Kind<'a>, Failure> {
        let kind = self.peek().ok_or_else(|| self.unexpected(expected))?;
        self.at += 1;
        Ok(kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn unexpected(&self, expected: &str) -> Failure {
        let message = match self.peek() {
            Some(kind) => format!("{} is not expected here, but {expected}", kind.quoted()),
            None => format!("the file is cut off: expected {expected}"),
        };
        (self.line(), message)
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Kind::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), Failure> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, Failure> {
        let Some(Kind::Word(word)) = self.peek() else { return Err(self.unexpected(what)) };
        self.at += 1;
        Ok(word)
    }

    /// A name with its package; the last part is returned.
    fn dotted(&mut self, what: &str) -> Result<&'a str, Failure> {
        let mut word = self.word(what)?;
        while self.eat('.') {
            word = self.word(what)?;
        }
        Ok(word)
    }

    /// Tokens up to a `;` that is in no bracket, which is skipped; or up to a `}` of the block around, which is not.
    fn statement(&mut self) -> Result<&'a [Token<'a>], Failure> {
        let (start, mut depth) = (self.at, 0_usize);
        loop {
            match self.peek().ok_or_else(|| self.unexpected("`;`"))? {
                Kind::Sign(';') if depth == 0 => {
                    self.at += 1;
                    return Ok(&self.tokens[start..self.at - 1]);
                }
                Kind::Sign('}') if depth == 0 => return Ok(&self.tokens[start..self.at]),
                Kind::Sign('{' | '(' | '[') => depth += 1,
                Kind::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `simple X ... { ... }`
    fn skip_definition(&mut self) -> Result<(), Failure> {
        while !self.eat('{') {
            self.next("`{`")?;
        }
        let mut depth = 1;
        while depth > 0 {
            match self.next("`}`")? {
                Kind::Sign('{') => depth += 1,
                Kind::Sign('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// `channel Fast extends ned.DatarateChannel { delay = 5ns; }`
    fn channel_type(&mut self) -> Result<(), Failure> {
        self.at += 1;
        let name = self.word("the channel's name")?;
        let mut channel = Channel::default();
        if self.peek() == Some(Kind::Word("extends")) {
            self.at += 1;
            let base = self.dotted("a channel type")?;
            channel = self.channels.get(base).copied().unwrap_or_default();
        }
        self.expect('{')?;
        let body = self.body()?;
        self.channels.insert(name.to_owned(), channel.with(&body)?);
        Ok(())
    }

    fn module(&mut self) -> Result<Option<Module>, Failure> {
        self.at += 1;
        let name = self.word("the network's name")?.to_owned();
        while !self.eat('{') {
            self.next("`{`")?;
        }
        let mut module = Module { name, ..Module::default() };
        while !self.eat('}') {
            match self.peek() {
                Some(Kind::Word("submodules")) => {
                    self.section()?;
                    self.submodules(&mut module)?;
                }
                Some(Kind::Word("connections")) => {
                    self.section()?;
                    self.connections(&mut module)?;
                }
                Some(Kind::Word("parameters" | "gates")) => self.section()?,
                Some(Kind::Word("types")) => {
                    return Err(self.unexpected("no `types`: define channels outside the network"));
                }
                _ => drop(self.statement()?),
            }
        }
        Ok(Some(module).filter(|module| !module.connections.is_empty()))
    }

    /// `submodules:`, `connections allowunconnected:`
    fn section(&mut self) -> Result<(), Failure> {
        self.at += 1;
        if self.peek() == Some(Kind::Word("allowunconnected")) {
            self.at += 1;
        }
        self.expect(':')
    }

    /// True if the next section, or the end of the module, starts here.
    fn section_ends(&self) -> bool {
        let after = self.tokens.get(self.at + 1).map(|token| token.kind);
        match self.peek() {
            Some(Kind::Word("connections")) => {
                matches!(after, Some(Kind::Sign(':') | Kind::Word("allowunconnected")))
            }
            Some(Kind::Word("parameters" | "gates" | "types")) => after == Some(Kind::Sign(':')),
            Some(Kind::Sign('}')) => true,
            _ => false,
        }
    }

    fn submodules(&mut self, module: &mut Module) -> Result<(), Failure> {
        while !self.section_ends() {
            let line = self.line();
            let name = self.word("a submodule's name")?.to_owned();
            if self.peek() == Some(Kind::Sign('[')) {
                let message =
                    format!("vectors of submodules are not supported: write {name} out, one by one");
                return Err((line, message));
            }
            self.expect(':')?;
            let kind = self.dotted("a module type")?.to_owned();
            let body = if self.eat('{') { self.body()? } else { Body::default() };
            self.eat(';');
            module.submodules.push(Submodule { name, kind, line, body });
        }
        Ok(())
    }

    /// Assignments and properties up to the closing brace, which is skipped. Other content (gates,
    /// section names, declarations) is skipped.
    fn body(&mut self) -> Result<Body, Failure> {
        let mut body = Body::default();
        while !self.eat('}') {
            let after = self.tokens.get(self.at + 1).map(|token| token.kind);
            if let (Some(Kind::Word(_)), Some(Kind::Sign(':'))) = (self.peek(), after) {
                self.at += 2;
                continue;
            }
            let statement = self.statement()?;
            match statement.iter().map(|token| token.kind).collect::<Vec<_>>().as_slice() {
                [Kind::Word(name), Kind::Sign('='), value @ ..] => {
                    let value: String = value.iter().map(|kind| kind.quoted().replace('`', "")).collect();
                    body.values.insert((*name).to_owned(), (value, statement[0].line));
                }
                [Kind::Sign('@'), Kind::Word("display"), Kind::Sign('('), Kind::Text(text), ..] => {
                    body.display = Some((*text).to_owned());
                }
                _ => {}
            }
        }
        Ok(body)
    }

    fn connections(&mut self, module: &mut Module) -> Result<(), Failure> {
        while !self.section_ends() {
            if let Some(Kind::Word(word @ ("for" | "if"))) = self.peek() {
                let message = format!("`{word}` is not supported: write the connections out, one by one");
                return Err((self.line(), message));
            }
            let line = self.line();
            let first = self.gate()?;
            let arrow = self.arrow()?;
            let (channel, last) = self.rest(arrow)?;
            let (from, to) = if arrow == "<--" { (last, first) } else { (first, last) };
            self.expect(';')?;
            module.connections.push(Connection { from, to, both: arrow == "<-->", channel, line });
        }
        Ok(())
    }

    fn arrow(&mut self) -> Result<&'a str, Failure> {
        let Some(Kind::Arrow(arrow)) = self.peek() else { return Err(self.unexpected("`-->`")) };
        self.at += 1;
        Ok(arrow)
    }

    /// Parses what follows the first arrow: a gate, or a channel, the arrow again and a gate.
    fn rest(&mut self, arrow: &str) -> Result<(Channel, Gate), Failure> {
        let after = self.tokens.get(self.at + 1).map(|token| token.kind);
        let gate = matches!(self.peek(), Some(Kind::Word(name)) if !self.channels.contains_key(name));
        if gate && after == Some(Kind::Sign('.')) {
            return Ok((Channel::default(), self.gate()?));
        }
        let mut channel = Channel::default();
        if matches!(self.peek(), Some(Kind::Word(_))) {
            let line = self.line();
            let name = self.dotted("a channel or a gate")?;
            channel = *self.channels.get(name).ok_or_else(|| {
                (line, format!("no channel {name} in this file: define it, or write its delay here"))
            })?;
        }
        if self.eat('{') {
            channel = channel.with(&self.body()?)?;
        }
        let line = self.line();
        let again = self.arrow()?;
        if again != arrow {
            return Err((line, format!("`{again}` does not match `{arrow}` before")));
        }
        Ok((channel, self.gate()?))
    }

    fn gate(&mut self) -> Result<Gate, Failure> {
        let node = self.word("a submodule's name")?.to_owned();
        self.expect('.')?;
        let name = self.word("a gate's name")?.to_owned();
        if self.eat('$') {
            self.word("`i` or `o`")?;
        }
        let mut index = None;
        if self.eat('[') {
            let Some(Kind::Number(number)) = self.peek() else { return Err(self.unexpected("a number")) };
            let value = number.parse().map_err(|_| self.unexpected("a gate's number, from 0"))?;
            index = Some(value);
            self.at += 1;
            self.expect(']')?;
        } else if self.peek() == Some(Kind::Sign('+')) {
            return Err((
                self.line(),
                format!("`++` is not supported: write the number of the gate of {node}"),
            ));
        }
        Ok(Gate { node, name, index })
    }
}

impl Channel {
    /// The channel with what `body` gives.
    fn with(self, body: &Body) -> Result<Self, Failure> {
        let mut channel = self;
        if let Some((value, line)) = body.values.get("delay") {
            let delay = value.parse().map_err(|e| (*line, format!("delay: {e}")))?;
            channel.delay = Some(delay);
        }
        if let Some((value, line)) = body.values.get("datarate") {
            let rate = value.replace("bps", "b/s").parse().map_err(|e| (*line, format!("datarate: {e}")))?;
            channel.rate = Some(rate);
        }
        Ok(channel)
    }
}

//! Functions of a Python file and their lengths.

/// A function; its lines are counted from `def`, without decorators, to the last line of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Line of its `def`, from 1.
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// State at the end of a physical line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// Open brackets.
    depth: usize,
    /// The sign of a string that is open, and true if it is a triple one.
    string: Option<(char, bool)>,
    /// True if the line ends with a backslash.
    continues: bool,
}

impl State {
    /// True if the next physical line begins a statement.
    fn is_complete(self) -> bool {
        self == Self::default()
    }

    /// Returns the state at the end of `line`, which begins in this one.
    fn after(mut self, line: &str) -> Self {
        self.continues = false;
        let mut rest = line;
        while let Some(sign) = rest.chars().next() {
            let mut next = sign.len_utf8();
            match (self.string, sign) {
                (_, '\\') => {
                    let escaped = rest[next..].chars().next();
                    self.continues = escaped.is_none();
                    next += escaped.map_or(0, char::len_utf8);
                }
                (Some((quote, true)), _) if rest.starts_with(triple(quote)) => {
                    (self.string, next) = (None, 3);
                }
                (Some((quote, false)), _) if sign == quote => self.string = None,
                (None, '#') => break,
                (None, '"' | '\'') => {
                    let is_triple = rest.starts_with(triple(sign));
                    self.string = Some((sign, is_triple));
                    next = if is_triple { 3 } else { 1 };
                }
                (None, '(' | '[' | '{') => self.depth += 1,
                (None, ')' | ']' | '}') => self.depth = self.depth.saturating_sub(1),
                (Some(_) | None, _) => {}
            }
            rest = &rest[next..];
        }
        // A string of one line ends with it.
        if let Some((_, false)) = self.string
            && !self.continues
        {
            self.string = None;
        }
        self
    }
}

fn triple(quote: char) -> &'static str {
    if quote == '"' { "\"\"\"" } else { "'''" }
}

/// Returns the functions of a file, in the order of their ends.
pub(super) fn functions(text: &str) -> Vec<Function> {
    let (mut open, mut found): (Vec<(usize, Function)>, Vec<Function>) = (Vec::new(), Vec::new());
    let (mut state, mut last) = (State::default(), 0);
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        if state.is_complete() {
            if code.is_empty() || code.starts_with('#') {
                continue;
            }
            let indent = line.len() - code.len();
            close(&mut open, &mut found, indent, last);
            if let Some(name) = defined(code) {
                open.push((indent, Function { name: name.to_owned(), line: number, lines: 0 }));
            }
        }
        state = state.after(line);
        last = number;
    }
    close(&mut open, &mut found, 0, last);
    found
}

/// Closes the functions that are indented by `indent` or more, whose bodies end at line `last`.
fn close(open: &mut Vec<(usize, Function)>, found: &mut Vec<Function>, indent: usize, last: usize) {
    while let Some((_, function)) = open.pop_if(|(own, _)| *own >= indent) {
        found.push(Function { lines: last + 1 - function.line, ..function });
    }
}

/// Returns the name of the function that a line defines.
fn defined(code: &str) -> Option<&str> {
    let rest = code.strip_prefix("async ").unwrap_or(code).strip_prefix("def ")?;
    rest.split('(').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(String, usize, usize)> {
        functions(text).into_iter().map(|function| (function.name, function.line, function.lines)).collect()
    }

    #[test]
    fn a_function_ends_with_its_body() {
        let text = "@mark\ndef f(\n    a,\n) -> None:\n    pass\n\n    pass\n    # comment\n\n\nx = 1\n";
        assert_eq!(lengths(text), [("f".to_owned(), 2, 6)]);
        assert_eq!(lengths("def f(): pass\nx = 1\n"), [("f".to_owned(), 1, 1)]);
    }

    #[test]
    fn methods_and_inner_functions_are_counted_for_themselves() {
        let text = "class A:\n    async def f(self):\n        def g():\n            pass\n        pass\n\n    def h(self):\n        pass";
        let expected = [("g", 3, 2), ("f", 2, 4), ("h", 7, 2)];
        assert_eq!(lengths(text), expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }

    #[test]
    fn strings_and_continued_lines_are_no_statements() {
        for inner in [
            "x = '''\nno = 1\ndef g():\n'''",
            "x = \"\"\"it's\n'''\n\"\"\"",
            "x = (  # it's (\n1,\n)",
            "x = 1 + \\\n2",
            "x = 'a\\'('  # \"\"\"\n",
            "x = 'a\\\nb'",
        ] {
            let text = format!("def f():\n    {inner}\n    y = 2\nz = 3\n");
            let lines = text.lines().position(|line| line == "    y = 2").unwrap() + 1;
            assert_eq!(lengths(&text), [("f".to_owned(), 1, lines)], "{inner}");
        }
    }
}

//! Reads DOT, the language of Graphviz: undirected graphs, chains of edges, groups, and weights.
//!
//! Tenure has its own parser, because the parsers on crates.io do not report the positions of
//! errors, need a C toolchain, or are under the GPL.

use super::builder::{GraphBuilder, LineError, parse_weight};
use super::graphml::DIRECTED_GRAPH_ERROR;

/// A token, and the number of the line on which it begins.
type Placed = (Token, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A quoted text, which is never a keyword.
    Id(String),
    /// A name without quotes that may be a keyword.
    Word(String),
    Edge,
    Arrow,
    Symbol(char),
}

/// Parses a graph in DOT. Adds its vertices in the order in which the text names them.
pub(super) fn parse_dot(text: &str) -> Result<GraphBuilder, LineError> {
    let tokens = tokens(text)?;
    let builder = GraphBuilder::default();
    let mut parser =
        Parser { tokens, at: 0, is_strict: false, default_weight: 1, joined: 0, builder };
    parser.graph()?;
    Ok(parser.builder)
}

const MAX_DEPTH: usize = 100;

/// Maximum number of pairs of vertices that the statements of a file join. A statement joins each
/// vertex of a group with each vertex of the next group, so a small file can have many edges.
const MAX_JOINED: usize = 4_000_000;

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    /// True for a graph with the keyword `strict`, in which a repeated edge counts once. A weight
    /// of the repetition replaces the weight of the edge. In other graphs, a repeated edge is an
    /// error.
    is_strict: bool,
    /// Weight of the following edges that have no weight of their own. A statement such as
    /// `edge [weight=5]` sets this weight until the end of the enclosing braces.
    default_weight: u64,
    /// Number of pairs of vertices that the statements have joined so far, repetitions included.
    joined: usize,
    builder: GraphBuilder,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |(_, line)| *line)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_word(&mut self, expected: &str) -> bool {
        let is_next =
            matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(expected));
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_id(&mut self) -> Option<String> {
        let Some(Token::Id(name) | Token::Word(name)) = self.peek() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    fn expected<T>(&self, expected: &str) -> Result<T, LineError> {
        let found = match self.peek() {
            None => "the end of the file".to_owned(),
            Some(Token::Id(name) | Token::Word(name)) => format!("'{name}'"),
            Some(Token::Edge) => "'--'".to_owned(),
            Some(Token::Arrow) => "'->'".to_owned(),
            Some(Token::Symbol(symbol)) => format!("'{symbol}'"),
        };
        Err(LineError::new(self.line(), format!("expected {expected}, found {found}")))
    }

    fn symbol(&mut self, symbol: char) -> Result<(), LineError> {
        if self.takes(&Token::Symbol(symbol)) {
            return Ok(());
        }
        self.expected(&format!("'{symbol}'"))
    }

    fn graph(&mut self) -> Result<(), LineError> {
        self.is_strict = self.takes_word("strict");
        if self.takes_word("digraph") {
            return Err(LineError::new(self.line(), DIRECTED_GRAPH_ERROR));
        }
        if !self.takes_word("graph") {
            return self.expected("'graph'");
        }
        self.takes_id();
        self.group(0)?;
        if self.peek().is_some() { self.expected("the end of the file") } else { Ok(()) }
    }

    /// Parses the statements in braces, and adds their vertices and edges. Returns the indices of
    /// the vertices that the statements name.
    fn group(&mut self, depth: usize) -> Result<Vec<usize>, LineError> {
        if depth > MAX_DEPTH {
            let message = format!("braces are nested more than {MAX_DEPTH} times");
            return Err(LineError::new(self.line(), message));
        }
        self.symbol('{')?;
        let outer_default = self.default_weight;
        let mut named = Vec::new();
        while !self.takes(&Token::Symbol('}')) {
            if self.peek().is_none() {
                return self.expected("'}'");
            }
            if !self.takes(&Token::Symbol(';')) && !self.takes(&Token::Symbol(',')) {
                named.extend(self.statement(depth)?);
            }
        }
        self.default_weight = outer_default;
        named.sort_unstable();
        named.dedup();
        Ok(named)
    }

    fn statement(&mut self, depth: usize) -> Result<Vec<usize>, LineError> {
        if self.takes_word("edge") {
            if let Some(weight) = self.attributes()? {
                self.default_weight = weight.parse()?;
            }
            return Ok(Vec::new());
        }
        if ["graph", "node"].into_iter().any(|word| self.takes_word(word)) {
            self.attributes()?;
            return Ok(Vec::new());
        }
        // `name = value` sets an attribute of the graph.
        if self.tokens.get(self.at + 1).map(|(token, _)| token) == Some(&Token::Symbol('=')) {
            self.at += 2;
            return match self.takes_id() {
                Some(_) => Ok(Vec::new()),
                None => self.expected("a value"),
            };
        }
        let mut groups = vec![self.vertices(depth)?];
        let line = self.line();
        loop {
            if self.takes(&Token::Arrow) {
                let message = "an arrow '->' joins no vertices here: expected '--'";
                return Err(LineError::new(line, message));
            }
            if !self.takes(&Token::Edge) {
                break;
            }
            groups.push(self.vertices(depth)?);
        }
        let weight = self.attributes()?;
        if groups.len() > 1 {
            let weight = weight.map(WeightText::parse).transpose()?;
            self.join(line, &groups, weight)?;
        }
        Ok(groups.concat())
    }

    /// Adds an edge from each vertex of a group to each vertex of the next group. `weight` is the
    /// weight that the statement gives. If it is `None`, new edges have the default weight.
    fn join(
        &mut self,
        line: usize,
        groups: &[Vec<usize>],
        weight: Option<u64>,
    ) -> Result<(), LineError> {
        let pairs = groups.windows(2).map(|ends| ends[0].len().saturating_mul(ends[1].len()));
        self.joined = pairs.fold(self.joined, usize::saturating_add);
        if self.joined > MAX_JOINED {
            let edges = self.joined;
            let message = format!("{edges} edges up to this line: expected at most {MAX_JOINED}");
            return Err(LineError::new(line, message));
        }
        for ends in groups.windows(2) {
            for (one, other) in
                ends[0].iter().flat_map(|one| ends[1].iter().map(move |it| (one, it)))
            {
                let ends = (*one, *other);
                if !(self.is_strict && self.builder.has_edge(ends)) {
                    let weight = weight.unwrap_or(self.default_weight);
                    let added = self.builder.add_edge(ends, weight);
                    added.map_err(|message| LineError::new(line, message))?;
                } else if let Some(weight) = weight {
                    self.builder.set_weight(ends, weight);
                }
            }
        }
        Ok(())
    }

    /// Parses a vertex with an optional port, or a subgraph. Returns the indices of its vertices.
    fn vertices(&mut self, depth: usize) -> Result<Vec<usize>, LineError> {
        if self.takes_word("subgraph") {
            self.takes_id();
            return self.group(depth + 1);
        }
        if self.peek() == Some(&Token::Symbol('{')) {
            return self.group(depth + 1);
        }
        let Some(name) = self.takes_id() else { return self.expected("a vertex") };
        while self.takes(&Token::Symbol(':')) {
            if self.takes_id().is_none() {
                return self.expected("a port");
            }
        }
        Ok(vec![self.builder.add_vertex(&name)])
    }

    /// Parses lists of attributes. Returns the value of the attribute `weight`, or `None` if it is
    /// absent. Only the weight of an edge must be a number.
    fn attributes(&mut self) -> Result<Option<WeightText>, LineError> {
        let mut weight = None;
        while self.takes(&Token::Symbol('[')) {
            while !self.takes(&Token::Symbol(']')) {
                let line = self.line();
                let Some(name) = self.takes_id() else { return self.expected("an attribute") };
                let mut value = None;
                if self.takes(&Token::Symbol('=')) {
                    value = self.takes_id();
                    if value.is_none() {
                        return self.expected("a value");
                    }
                }
                if let ("weight", Some(value)) = (name.as_str(), value) {
                    weight = Some(WeightText { value, line });
                }
                let _ = self.takes(&Token::Symbol(',')) || self.takes(&Token::Symbol(';'));
            }
        }
        Ok(weight)
    }
}

/// Value of the attribute `weight`, and the number of its line.
struct WeightText {
    value: String,
    line: usize,
}

impl WeightText {
    fn parse(self) -> Result<u64, LineError> {
        parse_weight(&self.value).map_err(|message| LineError::new(self.line, message))
    }
}

fn tokens(text: &str) -> Result<Vec<Placed>, LineError> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if first == '#' || rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/");
            let end = end.ok_or_else(|| LineError::new(line, "a comment has no end '*/'"))?;
            (None, end + 4)
        } else if rest.starts_with("--") {
            (Some(Token::Edge), 2)
        } else if rest.starts_with("->") {
            (Some(Token::Arrow), 2)
        } else if first == '"' {
            let (name, length) = quoted(rest)
                .ok_or_else(|| LineError::new(line, "a quoted text has no end '\"'"))?;
            (Some(Token::Id(name)), length)
        } else if is_name(first) || first == '-' && rest[1..].starts_with(is_name) {
            let width = first.len_utf8();
            let end = rest[width..].find(|it| !is_name(it)).map_or(rest.len(), |end| end + width);
            (Some(Token::Word(rest[..end].to_owned())), end)
        } else if "{}[]=;:,".contains(first) {
            (Some(Token::Symbol(first)), 1)
        } else {
            return Err(LineError::new(line, format!("unexpected character '{first}'")));
        };
        tokens.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '.'
}

/// Returns the content of the quoted text at the start of `text`, and its length in bytes including
/// the quotes. Returns `None` if the closing quote is missing.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((name, at + 1)),
            '\\' => match characters.next()?.1 {
                '"' => name.push('"'),
                '\n' => {}
                other => name.extend(['\\', other]),
            },
            other => name.push(other),
        }
    }
    None
}

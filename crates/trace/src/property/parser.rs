//! Parser of expressions, by precedence climbing.

use super::error::PropertyError;
use super::lexer::{Token, tokens};
use super::syntax::{Node, NodeKind, Operator, Quantifier, Span};

const MAX_DEPTH: u32 = 64;

pub(super) fn parse(text: &str) -> Result<Node, PropertyError> {
    let mut parser = Parser { text, tokens: tokens(text)?, place: 0, depth: 0 };
    let node = parser.expression(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(Token::Close) => Err(parser.wrong("unmatched ')'", "")),
        Some(_) => Err(parser.wrong("expected an operator or the end", super::lexer::OPERATORS)),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Span)>,
    place: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.place).map(|(token, _)| token)
    }

    /// Returns the position of the next token in the text. If no token is left, returns the
    /// position of the end of the text.
    fn here(&self) -> Span {
        let end = self.text.trim_end().len();
        self.tokens.get(self.place).map_or(end..end, |(_, span)| span.clone())
    }

    fn wrong(&self, problem: &str, remedy: &str) -> PropertyError {
        PropertyError::new(self.text, self.here(), problem, remedy)
    }

    fn skip(&mut self, token: &Token) -> bool {
        let there = self.peek() == Some(token);
        self.place += usize::from(there);
        there
    }

    fn expect(&mut self, token: &Token, problem: &str) -> Result<Span, PropertyError> {
        let span = self.here();
        if self.skip(token) { Ok(span) } else { Err(self.wrong(problem, "")) }
    }

    /// Parses an expression whose operators have at least the binding precedence `least`.
    fn expression(&mut self, least: u8) -> Result<Node, PropertyError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong("too deeply nested", "expected at most 64 levels"));
        }
        let mut left = self.prefix()?;
        while let Some(Token::Operator(operator)) = self.peek() {
            let operator = *operator;
            let precedence = operator.precedence();
            if precedence < least {
                break;
            }
            if operator == Operator::LeadsTo && self.depth > 1 {
                return Err(self.wrong("'~>' inside an expression", LEADS_TO));
            }
            self.place += 1;
            // An implication is right-associative; the others are left-associative.
            let right = self.expression(precedence + u8::from(operator != Operator::Implies))?;
            left = Self::binary(operator, left, right);
            if let Some(Token::Operator(next)) = self.peek()
                && precedence == 4
                && next.precedence() == 4
            {
                let remedy = "join two comparisons with &";
                return Err(self.wrong("a comparison of a comparison", remedy));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn binary(operator: Operator, left: Node, right: Node) -> Node {
        let span = left.span.start..right.span.end;
        let (left, right) = (Box::new(left), Box::new(right));
        Node { span, kind: NodeKind::Binary { operator, left, right } }
    }

    fn prefix(&mut self) -> Result<Node, PropertyError> {
        let start = self.here().start;
        if self.skip(&Token::Not) {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.wrong("too deeply nested", "expected at most 64 levels"));
            }
            let of = self.prefix()?;
            self.depth -= 1;
            return Ok(Node { span: start..of.span.end, kind: NodeKind::Not(Box::new(of)) });
        }
        if self.skip(&Token::Operator(Operator::Minus)) {
            let of = self.postfix()?;
            return Ok(Node { span: start..of.span.end, kind: NodeKind::Negative(Box::new(of)) });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Node, PropertyError> {
        let mut node = self.primary()?;
        loop {
            if self.skip(&Token::Dot) {
                let Some(Token::Word(name)) = self.peek().cloned() else {
                    return Err(self.wrong("expected a field after '.'", ""));
                };
                let span = node.span.start..self.here().end;
                self.place += 1;
                node = Node { span, kind: NodeKind::Field { of: Box::new(node), name } };
            } else if self.skip(&Token::OpenIndex) {
                let by = Box::new(self.expression(1)?);
                let end = self.expect(&Token::CloseIndex, "expected ']'")?.end;
                let kind = NodeKind::Index { of: Box::new(node.clone()), by };
                node = Node { span: node.span.start..end, kind };
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, PropertyError> {
        let span = self.here();
        let Some(token) = self.peek().cloned() else {
            return Err(self.wrong("the expression ends too early", EXPECTED));
        };
        let kind = match token {
            Token::Number(number) => NodeKind::Number(number),
            Token::Process(number) => NodeKind::Process(number),
            Token::Open => {
                self.place += 1;
                let inner = self.expression(1)?;
                let end = self.expect(&Token::Close, "expected ')' or an operator")?.end;
                return Ok(Node { span: span.start..end, ..inner });
            }
            Token::Word(word) => return self.word(word, span),
            _ => return Err(self.wrong("expected an expression", EXPECTED)),
        };
        self.place += 1;
        Ok(Node { span, kind })
    }

    fn word(&mut self, word: String, span: Span) -> Result<Node, PropertyError> {
        self.place += 1;
        let quantifier = match &*word {
            "forall" => Some(Quantifier::Forall),
            "exists" => Some(Quantifier::Exists),
            _ => None,
        };
        if let Some(quantifier) = quantifier {
            return self.quantified(quantifier, span.start);
        }
        if word == "count" && self.peek() == Some(&Token::Open) {
            self.place += 1;
            let counted = self.quantified(Quantifier::Count, span.start)?;
            let end = self.expect(&Token::Close, "expected ')' or an operator")?.end;
            return Ok(Node { span: span.start..end, ..counted });
        }
        if self.peek() == Some(&Token::Open) {
            return self.call(word, span.start);
        }
        let kind = match &*word {
            "true" => NodeKind::Bool(true),
            "false" => NodeKind::Bool(false),
            "_" => NodeKind::Any,
            _ => NodeKind::Word(word),
        };
        Ok(Node { span, kind })
    }

    fn quantified(&mut self, quantifier: Quantifier, start: usize) -> Result<Node, PropertyError> {
        let mut variables = Vec::new();
        loop {
            let span = self.here();
            let Some(Token::Word(name)) = self.peek().cloned() else {
                return Err(self.wrong("expected a variable", QUANTIFIED));
            };
            self.place += 1;
            variables.push((name, span));
            if !self.skip(&Token::Comma) {
                break;
            }
        }
        if !self.skip(&Token::Colon) {
            return Err(self.wrong("expected ':' after the variables", QUANTIFIED));
        }
        let body = Box::new(self.expression(1)?);
        let span = start..body.span.end;
        Ok(Node { span, kind: NodeKind::Quantified { quantifier, variables, body } })
    }

    fn call(&mut self, name: String, start: usize) -> Result<Node, PropertyError> {
        self.place += 1;
        let mut arguments = Vec::new();
        while self.peek() != Some(&Token::Close) {
            arguments.push(self.expression(1)?);
            if !self.skip(&Token::Comma) {
                break;
            }
        }
        let end = self.expect(&Token::Close, "expected ',' or ')'")?.end;
        Ok(Node { span: start..end, kind: NodeKind::Call { name, arguments } })
    }
}

const EXPECTED: &str =
    "expected a predicate such as inside(p), a number, '(', '!', forall, exists or count";

const QUANTIFIED: &str = "as in forall p: inside(p), exists p, q: p != q, count(p: inside(p))";

/// Advice for a user who writes `~>` in an expression that is not a leads-to property.
pub(super) const LEADS_TO: &str =
    "'~>' stands once, between the two sides of --leads-to 'waiting(p) ~> inside(p)'";

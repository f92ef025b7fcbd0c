//! Parser of expressions, by precedence climbing.

use super::error::ExpressionError;
use super::lexer::{Token, tokenize};
use super::syntax::{
    Operator, PartStep, PartStepKind, Quantifier, SyntaxNode, SyntaxNodeKind, TextSpan,
};

/// Maximum depth of a syntax tree, and maximum number of steps in a path to a part of a state. The
/// limit keeps the recursion over the tree within the stack of a thread.
const MAX_DEPTH: u32 = 64;

pub(super) fn parse_expression(text: &str) -> Result<SyntaxNode, ExpressionError> {
    let mut parser = Parser { text, tokens: tokenize(text)?, place: 0, depth: 0 };
    let node = parser.expression(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(Token::Close) => Err(parser.wrong("unmatched ')'", "")),
        Some(_) => {
            Err(parser.wrong("expected an operator or the end", super::lexer::OPERATORS_HELP))
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, TextSpan)>,
    place: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.place).map(|(token, _)| token)
    }

    /// Returns the position of the next token in the text. If no token is left, returns the
    /// position of the end of the text.
    fn here(&self) -> TextSpan {
        let end = self.text.trim_end().len();
        self.tokens.get(self.place).map_or(end..end, |(_, span)| span.clone())
    }

    fn wrong(&self, problem: &str, remedy: &str) -> ExpressionError {
        ExpressionError::new(self.text, self.here(), problem, remedy)
    }

    fn skip(&mut self, token: &Token) -> bool {
        let there = self.peek() == Some(token);
        self.place += usize::from(there);
        there
    }

    fn expect(&mut self, token: &Token, problem: &str) -> Result<TextSpan, ExpressionError> {
        let span = self.here();
        if self.skip(token) { Ok(span) } else { Err(self.wrong(problem, "")) }
    }

    /// Parses an expression whose operators have at least the binding precedence `least`.
    fn expression(&mut self, least: u8) -> Result<SyntaxNode, ExpressionError> {
        self.deepen()?;
        let mut left = self.prefix()?;
        while let Some(Token::Operator(operator)) = self.peek() {
            let operator = *operator;
            let precedence = operator.precedence();
            if precedence < least {
                break;
            }
            if operator == Operator::LeadsTo && self.depth > 1 {
                return Err(self.wrong("'~>' inside an expression", LEADS_TO_ADVICE));
            }
            self.place += 1;
            // An implication is right-associative. All other operators are left-associative.
            let right = self.expression(precedence + u8::from(operator != Operator::Implies))?;
            left = Self::joined(left, operator, right);
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

    /// Increments the depth of the syntax tree. Returns an error if the depth exceeds the limit.
    fn deepen(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.too_deep()) } else { Ok(()) }
    }

    fn too_deep(&self) -> ExpressionError {
        self.wrong("too deeply nested", &format!("expected at most {MAX_DEPTH} levels"))
    }

    /// Joins two expressions by an operator. If `left` is a chain of operators with the same
    /// precedence, extends this chain.
    fn joined(left: SyntaxNode, operator: Operator, right: SyntaxNode) -> SyntaxNode {
        let span = left.span.start..right.span.end;
        // All operators of a chain have the same precedence.
        let extends = |rest: &[(Operator, SyntaxNode)]| {
            rest.first().is_some_and(|(other, _)| other.precedence() == operator.precedence())
        };
        let kind = match left {
            SyntaxNode { kind: SyntaxNodeKind::Chain { first, mut rest }, .. }
                if extends(&rest) =>
            {
                rest.push((operator, right));
                SyntaxNodeKind::Chain { first, rest }
            }
            left if operator.forms_chain() => {
                SyntaxNodeKind::Chain { first: Box::new(left), rest: vec![(operator, right)] }
            }
            left => {
                let (left, right) = (Box::new(left), Box::new(right));
                SyntaxNodeKind::Binary { operator, left, right }
            }
        };
        SyntaxNode { span, kind }
    }

    fn prefix(&mut self) -> Result<SyntaxNode, ExpressionError> {
        let start = self.here().start;
        if self.skip(&Token::Not) {
            self.deepen()?;
            let of = self.prefix()?;
            self.depth -= 1;
            return Ok(SyntaxNode {
                span: start..of.span.end,
                kind: SyntaxNodeKind::Not(Box::new(of)),
            });
        }
        if self.skip(&Token::Operator(Operator::Minus)) {
            let of = self.postfix()?;
            return Ok(SyntaxNode {
                span: start..of.span.end,
                kind: SyntaxNodeKind::Negative(Box::new(of)),
            });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<SyntaxNode, ExpressionError> {
        let of = self.primary()?;
        let mut steps = Vec::new();
        while let Some(step) = self.part_step()? {
            if steps.len() >= MAX_DEPTH as usize {
                return Err(self.too_deep());
            }
            steps.push(step);
        }
        let Some(last) = steps.last() else { return Ok(of) };
        let span = of.span.start..last.end;
        Ok(SyntaxNode { span, kind: SyntaxNodeKind::Part { of: Box::new(of), steps } })
    }

    /// Parses a field after a dot, or an element in brackets. Returns `None` if neither follows.
    fn part_step(&mut self) -> Result<Option<PartStep>, ExpressionError> {
        if self.skip(&Token::Dot) {
            let Some(Token::Word(name)) = self.peek().cloned() else {
                return Err(self.wrong("expected a field after '.'", ""));
            };
            let end = self.here().end;
            self.place += 1;
            return Ok(Some(PartStep { kind: PartStepKind::Field(name), end }));
        }
        if self.skip(&Token::OpenIndex) {
            let element = self.expression(1)?;
            let end = self.expect(&Token::CloseIndex, "expected ']'")?.end;
            return Ok(Some(PartStep { kind: PartStepKind::Element(element), end }));
        }
        Ok(None)
    }

    fn primary(&mut self) -> Result<SyntaxNode, ExpressionError> {
        let span = self.here();
        let Some(token) = self.peek().cloned() else {
            return Err(self.wrong("the expression ends too early", EXPECTED));
        };
        let kind = match token {
            Token::Number(number) => SyntaxNodeKind::Number(number),
            Token::Process(number) => SyntaxNodeKind::Process(number),
            Token::Open => {
                self.place += 1;
                let inner = self.expression(1)?;
                let end = self.expect(&Token::Close, "expected ')' or an operator")?.end;
                return Ok(SyntaxNode { span: span.start..end, ..inner });
            }
            Token::Word(word) => return self.word(word, span),
            _ => return Err(self.wrong("expected an expression", EXPECTED)),
        };
        self.place += 1;
        Ok(SyntaxNode { span, kind })
    }

    fn word(&mut self, word: String, span: TextSpan) -> Result<SyntaxNode, ExpressionError> {
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
            return Ok(SyntaxNode { span: span.start..end, ..counted });
        }
        if self.peek() == Some(&Token::Open) {
            return self.call(word, span.start);
        }
        let kind = match &*word {
            "true" => SyntaxNodeKind::Bool(true),
            "false" => SyntaxNodeKind::Bool(false),
            "_" => SyntaxNodeKind::Any,
            _ => SyntaxNodeKind::Word(word),
        };
        Ok(SyntaxNode { span, kind })
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        start: usize,
    ) -> Result<SyntaxNode, ExpressionError> {
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
        Ok(SyntaxNode { span, kind: SyntaxNodeKind::Quantified { quantifier, variables, body } })
    }

    fn call(&mut self, name: String, start: usize) -> Result<SyntaxNode, ExpressionError> {
        self.place += 1;
        let mut arguments = Vec::new();
        while self.peek() != Some(&Token::Close) {
            arguments.push(self.expression(1)?);
            if !self.skip(&Token::Comma) {
                break;
            }
        }
        let end = self.expect(&Token::Close, "expected ',' or ')'")?.end;
        Ok(SyntaxNode { span: start..end, kind: SyntaxNodeKind::Call { name, arguments } })
    }
}

const EXPECTED: &str =
    "expected a predicate such as inside(p), a number, '(', '!', forall, exists or count";

const QUANTIFIED: &str = "as in forall p: inside(p), exists p, q: p != q, count(p: inside(p))";

/// Advice for a user who writes `~>` anywhere but between the two conditions of a leads-to
/// property, or who omits it there.
pub(super) const LEADS_TO_ADVICE: &str =
    "'~>' stands once, between the two sides of --leads-to 'waiting(p) ~> inside(p)'";

//! Syntax trees of expressions.

use std::ops::Range;

/// Part of a text, as a range of bytes.
pub(super) type TextSpan = Range<usize>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxNode {
    pub(super) span: TextSpan,
    pub(super) kind: SyntaxNodeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SyntaxNodeKind {
    Bool(bool),
    Number(i128),
    /// A process, numbered from 1 as in the text.
    Process(u32),
    /// A variable, the name of a message, or a name in a process's state.
    Word(String),
    /// `_`: any process.
    Any,
    Call {
        name: String,
        arguments: Vec<SyntaxNode>,
    },
    Field {
        of: Box<SyntaxNode>,
        name: String,
    },
    /// An element of a list in a state. `by` is a process, or an index from 0.
    Index {
        of: Box<SyntaxNode>,
        by: Box<SyntaxNode>,
    },
    Not(Box<SyntaxNode>),
    Negative(Box<SyntaxNode>),
    Binary {
        operator: Operator,
        left: Box<SyntaxNode>,
        right: Box<SyntaxNode>,
    },
    Quantified {
        quantifier: Quantifier,
        variables: Vec<(String, TextSpan)>,
        body: Box<SyntaxNode>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    LeadsTo,
    Implies,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Plus,
    Minus,
}

impl Operator {
    /// Returns the binding precedence of the operator. An operator with a greater precedence binds
    /// more tightly.
    pub(super) const fn precedence(self) -> u8 {
        match self {
            Operator::LeadsTo => 0,
            Operator::Implies => 1,
            Operator::Or => 2,
            Operator::And => 3,
            Operator::Plus | Operator::Minus => 5,
            _ => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Forall,
    Exists,
    Count,
}

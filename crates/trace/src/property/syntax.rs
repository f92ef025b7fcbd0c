//! Syntax trees of expressions.

use std::ops::Range;

/// Part of a text, as a range of bytes.
pub(super) type Span = Range<usize>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
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
        arguments: Vec<Node>,
    },
    Field {
        of: Box<Node>,
        name: String,
    },
    /// An element of a list in a state. `by` is a process, or an index from 0.
    Index {
        of: Box<Node>,
        by: Box<Node>,
    },
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
    },
    Quantified {
        quantifier: Quantifier,
        variables: Vec<(String, Span)>,
        body: Box<Node>,
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

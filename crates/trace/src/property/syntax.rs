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
    /// A part of a state: a path of fields and elements.
    Part {
        of: Box<SyntaxNode>,
        steps: Vec<PartStep>,
    },
    Not(Box<SyntaxNode>),
    Negative(Box<SyntaxNode>),
    Binary {
        operator: Operator,
        left: Box<SyntaxNode>,
        right: Box<SyntaxNode>,
    },
    /// At least two operands that are joined by `&`, by `|`, or by `+` and `-`. They form a list,
    /// so that many operands do not form a deep tree. Each element of `rest` contains an operand
    /// and the operator before it.
    Chain {
        first: Box<SyntaxNode>,
        rest: Vec<(Operator, SyntaxNode)>,
    },
    Quantified {
        quantifier: Quantifier,
        variables: Vec<(String, TextSpan)>,
        body: Box<SyntaxNode>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartStep {
    pub(super) kind: PartStepKind,
    /// Position in the text at which the step ends.
    pub(super) end: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartStepKind {
    Field(String),
    /// An element of a list. The node is a process, or an index from 0.
    Element(SyntaxNode),
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

    /// Returns true if the operator joins its operands to a [`SyntaxNodeKind::Chain`].
    pub(super) const fn forms_chain(self) -> bool {
        matches!(self, Operator::Or | Operator::And | Operator::Plus | Operator::Minus)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Forall,
    Exists,
    Count,
}

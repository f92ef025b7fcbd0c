//! Checked expressions, ready for evaluation. A variable is represented by its index in a binding,
//! which contains the values of all variables.

/// A condition on a state of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Constant(bool),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Fact(Fact, ProcessTerm),
    Suspects(ProcessTerm, ProcessTerm),
    /// Equality of two processes.
    Same(ProcessTerm, ProcessTerm),
    Compare(Relation, Number, Number),
    /// A comparison of a part of a state with a value.
    State(StatePath, Value),
    /// True if the part of the state is the value `true`.
    Holds(StatePath),
    /// True if the list or set contains the process.
    Contains(StatePath, ProcessTerm),
    /// True if the condition is true for every value of the variable with this index.
    Forall(usize, Box<Condition>),
    /// True if the condition is true for some value of the variable with this index.
    Exists(usize, Box<Condition>),
}

/// A predicate about one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Requests,
    Enters,
    Exits,
    Waiting,
    Inside,
    Leads,
    Elected,
    Crashed,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessTerm {
    Fixed(u32),
    /// Value of the variable with this index.
    Variable(usize),
    /// Leader in which a process believes.
    LeaderOf(Box<ProcessTerm>),
    /// A process that a state names.
    InState(StatePath),
}

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Constant(i128),
    Plus(Box<Number>, Box<Number>),
    Minus(Box<Number>, Box<Number>),
    Term(ProcessTerm),
    Fence(ProcessTerm),
    InState(StatePath),
    /// Number of combinations of values of the variables with these indices that meet the
    /// condition.
    Count(Vec<usize>, Box<Condition>),
    InFlight(Pattern),
    Sent(Pattern),
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
    AtMost,
}

/// A part of the state of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatePath {
    pub(super) of: Box<ProcessTerm>,
    pub(super) steps: Vec<PathStep>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    Field(String),
    /// An element that belongs to a process. In a list, the first element belongs to P1.
    Process(ProcessTerm),
    /// An element at an index, from 0.
    Number(Number),
}

/// A value with which a part of a state is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Name of an enum variant.
    Name(String),
    Bool(bool),
    Process(ProcessTerm),
    /// Another part of a state, compared as a whole.
    State(StatePath),
}

/// Messages with one name, from the process `from` to the process `to`. `None` stands for any
/// process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) message: String,
    pub(super) from: Option<ProcessTerm>,
    pub(super) to: Option<ProcessTerm>,
}

impl Uses {
    /// Returns true if the property reads nothing but commands and events of services.
    pub const fn is_of_services(self) -> bool {
        !(self.failures || self.states || self.sent || self.in_flight)
    }

    /// Returns true if the property reads messages: those in flight, or those that a step sends.
    pub const fn reads_messages(self) -> bool {
        self.sent || self.in_flight
    }
}

/// Input that a property reads. An engine need not provide more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// True if the property reads whether processes wait or are inside.
    pub phases: bool,
    /// True if the property reads leaders or terms.
    pub leaders: bool,
    /// True if the property reads fences.
    pub fences: bool,
    /// True if the property reads commands or events of single steps.
    pub events: bool,
    /// True if the property reads which messages a step sends.
    pub sent: bool,
    /// True if the property reads messages in flight.
    pub in_flight: bool,
    /// True if the property reads whether processes are down or suspected.
    pub failures: bool,
    /// True if the property reads states of processes.
    pub states: bool,
    /// True if the property compares numbers that are parts of states.
    pub state_numbers: bool,
    /// True if the property names processes or compares them.
    pub identities: bool,
}

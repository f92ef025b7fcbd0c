//! Checked expressions, ready for evaluation. Variables are places in a binding.

/// A condition that a state of the group meets or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Constant(bool),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Fact(Fact, Who),
    Suspects(Who, Who),
    /// Equality of two processes.
    Same(Who, Who),
    Compare(Relation, Number, Number),
    /// A comparison of a part of a state with a value.
    State(StatePath, Value),
    /// True if the part of the state holds `true`.
    Holds(StatePath),
    /// True if the list or set contains the process.
    Contains(StatePath, Who),
    /// Quantifies the variable at this place.
    Forall(usize, Box<Condition>),
    Exists(usize, Box<Condition>),
}

/// A predicate about one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Asks,
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
pub(super) enum Who {
    Fixed(u32),
    /// Value of the variable at this place.
    Variable(usize),
    /// Leader in which a process believes.
    LeaderOf(Box<Who>),
    /// A process that a state names.
    InState(StatePath),
}

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Constant(i128),
    Plus(Box<Number>, Box<Number>),
    Minus(Box<Number>, Box<Number>),
    Term(Who),
    Fence(Who),
    InState(StatePath),
    /// Number of bindings of the variables at these places that meet the condition.
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
    pub(super) of: Box<Who>,
    pub(super) steps: Vec<PathStep>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    Field(String),
    /// An element by process: the first one is that of P1.
    Process(Who),
    /// An element by number, from 0.
    Number(Number),
}

/// A value with which a part of a state is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Name of a variant.
    Name(String),
    Bool(bool),
    Process(Who),
    /// Another part of a state, compared as a whole.
    State(StatePath),
}

/// Messages of one name, from and to these processes; `None` for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) message: String,
    pub(super) from: Option<Who>,
    pub(super) to: Option<Who>,
}

impl Uses {
    /// Returns true if it reads nothing but commands and events of services.
    pub const fn is_of_services(self) -> bool {
        !(self.failures || self.states || self.sent || self.in_flight)
    }

    /// Returns true if it reads messages, in flight or sent by a step.
    pub const fn reads_messages(self) -> bool {
        self.sent || self.in_flight
    }
}

/// Input that a property reads, so that an engine keeps no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// True if it reads whether processes wait or are inside.
    pub phases: bool,
    /// True if it reads leaders or terms.
    pub leaders: bool,
    /// True if it reads fences.
    pub fences: bool,
    /// True if it reads commands or events of single steps.
    pub events: bool,
    /// True if it reads messages that are sent.
    pub sent: bool,
    /// True if it reads messages in flight.
    pub in_flight: bool,
    /// True if it reads whether processes are down or suspected.
    pub failures: bool,
    /// True if it reads states of processes.
    pub states: bool,
    /// True if it compares numbers of states.
    pub state_numbers: bool,
    /// True if it names processes or compares them.
    pub identities: bool,
}

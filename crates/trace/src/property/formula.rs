//! Checked expressions, ready for evaluation. A variable is represented by its index in a
//! [`VariableAssignment`](super::VariableAssignment), the list of the values of all variables.

/// A condition on a state of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Constant(bool),
    Not(Box<Condition>),
    /// True if all conditions are true.
    And(Vec<Condition>),
    /// True if at least one condition is true.
    Or(Vec<Condition>),
    /// True if both conditions have the same value.
    Equivalent(Box<Condition>, Box<Condition>),
    Fact(ProcessPredicate, ProcessTerm),
    Suspects(ProcessTerm, ProcessTerm),
    /// True if two terms denote the same process.
    Same(ProcessTerm, ProcessTerm),
    Compare(Relation, NumberTerm, NumberTerm),
    /// True if the part of the state is equal to the value.
    State(StatePath, ComparedValue),
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
pub(super) enum ProcessPredicate {
    Requests,
    Enters,
    Exits,
    Waiting,
    Inside,
    Leads,
    KnowsLeader,
    Crashed,
}

/// Part of an expression that denotes a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessTerm {
    Fixed(u32),
    /// Value of the variable with this index.
    Variable(usize),
    /// Leader that a process accepts.
    LeaderOf(Box<ProcessTerm>),
    /// Process whose name, such as `P1`, is the value at this path.
    InState(StatePath),
}

/// Part of an expression that denotes a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NumberTerm {
    Constant(i128),
    /// Sum of terms. A term with [`Sign::Minus`] is subtracted.
    Sum(Vec<(Sign, NumberTerm)>),
    ElectionTerm(ProcessTerm),
    Fence(ProcessTerm),
    InState(StatePath),
    /// Number of assignments of values to the listed variables, given by their indices, for which
    /// the condition holds.
    Count(Vec<usize>, Box<Condition>),
    InFlight(MessagePattern),
    Sent(MessagePattern),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
    AtMost,
}

/// Path that leads from the state of a process to a part of this state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatePath {
    pub(super) of: Box<ProcessTerm>,
    pub(super) steps: Vec<PathStep>,
}

/// One step of a [`StatePath`]: from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    Field(String),
    /// Selects the element that belongs to a process. In a list, the first element belongs to P1.
    /// In a map, the key is the name of the process.
    Process(ProcessTerm),
    /// Selects the element at this index of a list, from 0, or the value with this key in a map.
    Number(NumberTerm),
}

/// A value with which a part of a state is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ComparedValue {
    /// Name of an enum variant.
    Name(String),
    Bool(bool),
    Process(ProcessTerm),
    /// Another part of a state. The comparison is true only if the two parts are equal in all their
    /// elements.
    State(StatePath),
}

/// Pattern that selects messages by name, sender and receiver. A sender or receiver that is `None`
/// matches any process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessagePattern {
    pub(super) message: String,
    pub(super) from: Option<ProcessTerm>,
    pub(super) to: Option<ProcessTerm>,
}

impl PropertyInputs {
    /// Returns true if the property reads nothing but commands and events of services.
    pub const fn reads_services_only(self) -> bool {
        !(self.crashes_or_suspicions || self.states || self.sent || self.in_flight)
    }

    /// Returns true if the property reads messages: messages in flight, or messages that a step
    /// sends.
    pub const fn reads_messages(self) -> bool {
        self.sent || self.in_flight
    }
}

/// Kinds of input that a property reads. An engine must provide these kinds, and may leave out all
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PropertyInputs {
    /// True if the property reads which processes wait for the critical section, or which are
    /// inside.
    pub phases: bool,
    /// True if the property reads leaders or terms.
    pub leaders: bool,
    /// True if the property reads fences.
    pub fences: bool,
    /// True if the property reads commands or events of single steps.
    pub events: bool,
    /// True if the property reads the messages that a step sends.
    pub sent: bool,
    /// True if the property reads messages in flight.
    pub in_flight: bool,
    /// True if the property reads whether processes are down or suspected.
    pub crashes_or_suspicions: bool,
    /// True if the property reads states of processes.
    pub states: bool,
    /// True if the property compares numbers that are parts of states.
    pub state_numbers: bool,
    /// True if the property names processes or compares them.
    pub process_identities: bool,
}

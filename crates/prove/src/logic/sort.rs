//! Sorts of a many-sorted first-order logic.

/// Sort (type) of a term in the logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// Truth values of formulas.
    Bool,
    /// Integers: clocks, terms, sequence numbers.
    Int,
    /// Real numbers: readings of physical clocks.
    Real,
    /// Processes. A structure may have any number of them.
    Process,
    /// Quorums: sets of processes. An axiom states the properties of these sets.
    Quorum,
}

impl Sort {
    /// Sorts whose elements have no structure. For each of these sorts, a solver may choose any
    /// nonempty set of elements.
    pub const UNINTERPRETED: [Sort; 2] = [Sort::Process, Sort::Quorum];

    /// Returns the name of the sort in SMT-LIB 2.
    pub fn smt_name(self) -> &'static str {
        match self {
            Sort::Bool => "Bool",
            Sort::Int => "Int",
            Sort::Real => "Real",
            Sort::Process => "Process",
            Sort::Quorum => "Quorum",
        }
    }
}

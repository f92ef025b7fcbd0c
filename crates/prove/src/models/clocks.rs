//! Physical clocks of models: their readings are real numbers, and one action lets time pass.
//!
//! Each clock runs at a rate between [`SLOW`] and [`FAST`], which may change at any time. The state
//! contains no real time, only the readings of clocks. The action [`elapse`] lets some real time
//! pass: each clock advances by its own amount, within these rates.
//!
//! Deadlines on two clocks are compared by a product. A deadline `d` on one clock comes before a
//! deadline `e` on another clock, at whatever rates both run from now on, if
//!
//! ```text
//! (d − clock) · FAST ≤ (e − other clock) · SLOW
//! ```
//!
//! [`ends_before`] is this formula. [`elapse`] preserves it: in the real time `δ` the left side
//! falls by at least `SLOW · δ · FAST`, and the right side by at most `FAST · δ · SLOW`. An
//! algorithm sets each deadline a fixed duration ahead. The formula then holds if the two durations
//! satisfy `duration · FAST ≤ other duration · SLOW`. This inequality is the *margin* between the
//! two durations.
//!
//! Rates and durations are constants without a value. A proof covers all values that satisfy the
//! axioms.

use crate::logic::sort::Sort::{Process, Real};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::Axiom;
use crate::model::action::Action;

/// Lowest rate of a clock: its advance in one unit of real time.
pub(super) const SLOW: Symbol = Symbol::constant("slow", Real);
/// Highest rate of a clock.
pub(super) const FAST: Symbol = Symbol::constant("fast", Real);
pub(super) const CLOCK: Symbol = Symbol::function("clock", &[Process], Real);
/// Amount by which a process's clock advances in one step of [`elapse`].
pub(super) const ADVANCE: Symbol = Symbol::function("advance", &[Process], Real);

/// Number of millionths in a rate of 1. Drift is given in parts per million.
const MILLION: i64 = 1_000_000;

const P: Variable = Variable::process("p");
/// Real time that passes in one step.
const D: Variable = Variable::real("d");

pub(super) fn zero() -> Term {
    Term::real(0, 1)
}

/// Returns the term for a duration of `units` units.
///
/// # Panics
///
/// Panics if `units` is 2⁶³ or more.
pub(super) fn duration(units: u64) -> Term {
    Term::real(i64::try_from(units).expect("a duration is below 2^63 units"), 1)
}

/// Returns a formula that is true if one deadline comes before another deadline. The deadlines are
/// on two clocks, which may run at any rates between [`SLOW`] and [`FAST`]. `remaining` is the time
/// until the first deadline, on the first clock. `other_remaining` is the time until the other
/// deadline, on the other clock.
pub(super) fn ends_before(remaining: Term, other_remaining: Term) -> Term {
    remaining.times(FAST).at_most(other_remaining.times(SLOW))
}

/// Returns a formula that is true if a clock may advance by `advance` while `D` units of real time
/// pass.
pub(super) fn is_within_rates(advance: impl Into<Term>) -> Term {
    let advance = advance.into();
    SLOW.times(D).at_most(&advance) & advance.at_most(FAST.times(D))
}

/// Returns the action by which time passes on the clocks of all processes. `more_parameters` are
/// added to the parameters of the action.
pub(super) fn elapse(more_parameters: &[Variable]) -> Action {
    let parameters = [D].into_iter().chain(more_parameters.iter().copied());
    Action::new("elapse", parameters)
        .with_input(ADVANCE)
        .when(zero().at_most(D) & for_all([P], is_within_rates(ADVANCE.at(P))))
        .define(CLOCK, [P], CLOCK.at(P) + ADVANCE.at(P))
}

pub(super) fn positive_rates() -> Axiom {
    Axiom::new("clocks run at positive rates", zero().less(SLOW) & SLOW.at_most(FAST))
}

/// Returns an axiom: the rate of each clock differs from 1 by at most `ppm` parts per million.
///
/// # Panics
///
/// Panics if `ppm` is a million or more, because a clock could then stand still.
pub(super) fn bounded_drift(ppm: u32) -> Axiom {
    let ppm = i64::from(ppm);
    assert!(ppm < MILLION, "a drift of 1 would stop a clock");
    let [slow, fast] = [MILLION - ppm, MILLION + ppm].map(|rate| Term::real(rate, MILLION));
    Axiom::new("clocks drift by at most this much", SLOW.equals(slow) & FAST.equals(fast))
}

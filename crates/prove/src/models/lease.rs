//! The lease, for any number of clients, any rates of clocks, and any delays.
//!
//! C. Gray, D. Cheriton, *Leases: an efficient fault-tolerant mechanism for distributed file cache
//! consistency*, SOSP 1989. The code is `crates/algorithms/src/mutex/lease.rs`.
//!
//! A process *claims* the lock while it is inside and its clock has not reached its deadline. At
//! the deadline the claim ends, even if the timer of the process has not fired. The proof therefore
//! covers processes that are suspended at any time.
//!
//! The receipt of a message does not remove it from the network, so a process may receive a message
//! again. The grantor is the process that grants the lock. The grantor and all other processes may
//! crash at any time. In the model, a ticket is an integer. In the code, a ticket is a pair: the
//! number of a boot, and the number of a request. The code orders tickets first by boot, then by
//! request. In the model, the grantor may serve requests in any order, because the proof does not
//! depend on the order of the grantor's queue.
//!
//! Clocks are those of the module `clocks`. At the client, the lease lasts [`LEASE`] from the
//! request. At the grantor, it lasts [`EXPIRY`] from the grant. The proof needs one inequality, the
//! margin: `LEASE · FAST ≤ EXPIRY · SLOW`.

use super::clocks::{
    CLOCK, FAST, SLOW, bounded_drift, duration, elapse, ends_before, is_within_rates,
    positive_rates, zero,
};
use crate::logic::sort::Sort::{Bool, Int, Process, Real};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct, Model};
use crate::models::lock::{INSIDE, WAITING, is_waiting_or_inside};
use crate::models::{ModelEntry, ModelVariant};

/// Ticket of a process: the number of its latest attempt to enter. The attempt may be in progress
/// or over. All requests of an attempt carry the same ticket.
const TICKET: Symbol = Symbol::function("ticket", &[Process], Int);
/// Number of the last request of a process.
const ROUND: Symbol = Symbol::function("round", &[Process], Int);
/// True if the last request of a process is open: the process has neither received the grant of
/// this request, nor noticed that the deadline of the request has passed. False also after an exit
/// or a crash.
const PENDING: Symbol = Symbol::relation("pending", &[Process]);
/// Deadline of the last request of a process, on the clock of this process.
const ASKED_UNTIL: Symbol = Symbol::function("asked-until", &[Process], Real);
/// Deadline of the request with which a process has entered, on the clock of this process.
const INSIDE_UNTIL: Symbol = Symbol::function("inside-until", &[Process], Real);
/// True if a request is in flight. Arguments: sender, ticket, round.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Int, Int]);
/// True if a grant is in flight. Arguments: receiver, ticket, round of the granted request.
const GRANT: Symbol = Symbol::relation("grant", &[Process, Int, Int]);
/// True if a release is in flight. Arguments: sender, ticket.
const RELEASE: Symbol = Symbol::relation("release", &[Process, Int]);
/// True if the grantor reserves the lock for an attempt of a process to enter. [`HOLDER`] and
/// [`HELD_TICKET`] identify this attempt.
const HELD: Symbol = Symbol::constant("held", Bool);
/// Process for which the grantor reserves the lock. Meaningful only if [`HELD`] is true.
const HOLDER: Symbol = Symbol::constant("holder", Process);
/// Ticket of the attempt for which the grantor reserves the lock. Meaningful only if [`HELD`] is
/// true.
const HELD_TICKET: Symbol = Symbol::constant("held-ticket", Int);
/// True if the grantor has restarted, and grants nothing yet.
const CLOSED: Symbol = Symbol::constant("closed", Bool);
const GRANTOR_CLOCK: Symbol = Symbol::constant("grantor-clock", Real);
/// Time at which the timer *Expiry* is due, on the clock of the grantor.
const HELD_UNTIL: Symbol = Symbol::constant("held-until", Real);
/// Duration of a lease at the client, measured from its request.
const LEASE: Symbol = Symbol::constant("lease", Real);
/// Duration of a lease at the grantor, measured from its grant.
const EXPIRY: Symbol = Symbol::constant("expiry", Real);
/// Interval at which a process sends requests that renew its lease.
const RENEWAL: Symbol = Symbol::constant("renewal", Real);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const K: Variable = Variable::int("k");
const R: Variable = Variable::int("r");
const L: Variable = Variable::int("l");
const S: Variable = Variable::int("s");
/// Process that takes the step, or process whose message or request the grantor handles.
const X: Variable = Variable::process("x");
/// Ticket in the received message.
const M: Variable = Variable::int("m");
/// Round in the received message.
const N: Variable = Variable::int("n");
/// Amount by which the grantor's clock advances in one step.
const G: Variable = Variable::real("g");

pub(super) const ENTRY: ModelEntry = ModelEntry {
    name: "lease",
    paper: "Gray & Cheriton, SOSP 1989",
    property: "mutual exclusion under drifting clocks",
    model,
    abstraction: None,
    variants: &[
        ModelVariant { name: "deadline-from-answer", is_refuted: true },
        ModelVariant { name: "no-margin", is_refuted: true },
        ModelVariant { name: "renewal-ignored", is_refuted: true },
        ModelVariant { name: "impatient", is_refuted: true },
        ModelVariant { name: "forgotten-grants", is_refuted: true },
    ],
};

/// Durations of a lease, and drift of the clocks. All durations have the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseModelParameters {
    /// Time for which a client claims the lock, measured from its request.
    pub lease: u64,
    /// Time for which the grantor reserves the lock for a client, measured from the moment of the
    /// grant.
    pub expiry: u64,
    /// Bound on the deviation of each clock's rate from 1, in parts per million.
    pub drift_ppm: u32,
}

impl LeaseModelParameters {
    /// Returns the model of a lease with these durations. The model does not assume that a client's
    /// lease ends before the grantor's reservation. If the durations do not ensure this, the solver
    /// refutes the model.
    ///
    /// # Panics
    ///
    /// Panics if a duration is 2⁶³ or more, or if the drift is a million or more.
    pub fn model(&self) -> Model {
        let [lease, expiry] = [self.lease, self.expiry].map(duration);
        let times = LEASE.equals(lease) & EXPIRY.equals(expiry);
        let axioms =
            vec![bounded_drift(self.drift_ppm), Axiom::new("the lease has these durations", times)];
        Model { axioms, ..model(None) }
    }
}

fn model(variant: Option<&str>) -> Model {
    Model {
        name: ENTRY.name,
        state_symbols: vec![
            CLOCK,
            WAITING,
            INSIDE,
            TICKET,
            ROUND,
            PENDING,
            ASKED_UNTIL,
            INSIDE_UNTIL,
            REQUEST,
            GRANT,
            RELEASE,
            HELD,
            HOLDER,
            HELD_TICKET,
            CLOSED,
            GRANTOR_CLOCK,
            HELD_UNTIL,
        ],
        lossy_messages: vec![REQUEST, GRANT, RELEASE],
        rigid: vec![SLOW, FAST, LEASE, EXPIRY, RENEWAL],
        axioms: axioms(variant),
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P) & !PENDING.at(P)),
            for_all([P], TICKET.at(P).equals(0) & ROUND.at(P).equals(0)),
            for_all([P, K, R], !REQUEST.at((P, K, R)) & !GRANT.at((P, K, R))),
            for_all([P, K], !RELEASE.at((P, K))),
            !HELD.constant_term() & !CLOSED.constant_term(),
        ],
        actions: client_actions(variant).into_iter().chain(grantor_actions(variant)).collect(),
        invariant: invariant(),
    }
}

/// Returns the axioms about clock rates and durations. If `variant` is `None`, the axioms permit
/// all durations for which the longest lease of a client ends before the shortest reservation at
/// the grantor. Otherwise, they fix the durations to those in the code of this variant, as
/// multiples of the maximum delay of a message.
fn axioms(variant: Option<&str>) -> Vec<Axiom> {
    let Some(variant) = variant else {
        let margin = ends_before(LEASE.constant_term(), EXPIRY.constant_term());
        return vec![
            positive_rates(),
            Axiom::new("a lease has a positive duration", zero().less(LEASE)),
            Axiom::new(
                "the margin: the longest lease ends before the shortest reservation",
                margin,
            ),
        ];
    };
    let lease = if variant == "no-margin" { 10 } else { 9 };
    let times =
        LEASE.equals(duration(lease)) & EXPIRY.equals(duration(10)) & RENEWAL.equals(duration(3));
    vec![bounded_drift(50_000), Axiom::new("a lease has the durations of the code", times)]
}

/// Returns a formula that is true if a process is inside the critical section and its clock has not
/// reached its deadline.
fn claims(process: Variable) -> Term {
    INSIDE.at(process) & CLOCK.at(process).less(INSIDE_UNTIL.at(process))
}

/// Returns a formula that is true if the grantor reserves the lock for one attempt of `process` to
/// enter. `ticket` is the ticket of this attempt.
fn is_held_by(process: Variable, ticket: impl Into<Term>) -> Term {
    HELD.constant_term() & HOLDER.equals(process) & HELD_TICKET.equals(ticket)
}

/// Returns a formula that is true if the lock stays available to `process` until `deadline`. The
/// deadline is a time on the clock of `process`. Until this time, the grantor either grants no
/// request at all, or reserves the lock for one attempt of `process` to enter. `ticket` is the
/// ticket of this attempt.
fn is_reserved(process: Variable, ticket: impl Into<Term>, deadline: Symbol) -> Term {
    let remaining = deadline.at(process) - CLOCK.at(process);
    let reserved = HELD_UNTIL.minus(GRANTOR_CLOCK);
    (CLOSED.constant_term() | is_held_by(process, ticket)) & ends_before(remaining, reserved)
}

/// Returns a formula that is true if a grant is in flight and its receiver could claim the lock
/// with this grant now. `process` is the receiver, `ticket` is the ticket of the grant, and `round`
/// is the number of the granted request.
fn is_usable(process: Variable, ticket: Variable, round: Variable) -> Term {
    GRANT.at((process, ticket, round))
        & ticket.equals(TICKET.at(process))
        & round.equals(ROUND.at(process))
        & PENDING.at(process)
        & is_waiting_or_inside(process)
        & CLOCK.at(process).less(ASKED_UNTIL.at(process))
}

fn client_actions(variant: Option<&str>) -> Vec<Action> {
    let next = TICKET.at(X) + 1;
    let send = |action: Action, ticket: Term| {
        let round = ROUND.at(X) + 1;
        action
            .set(ROUND, X, &round)
            .set(PENDING, X, true)
            .set(ASKED_UNTIL, X, CLOCK.at(X).plus(LEASE))
            .add_tuple(REQUEST, (Term::from(X), ticket, round))
    };
    let wants = M.equals(TICKET.at(X)) & is_waiting_or_inside(X);
    let over = |action: Action| action.set(INSIDE, X, false).set(PENDING, X, false);
    let deadline = match variant {
        Some("deadline-from-answer") => CLOCK.at(X).plus(LEASE),
        _ => ASKED_UNTIL.at(X),
    };
    let elapse =
        elapse(&[G]).when(is_within_rates(G)).set(GRANTOR_CLOCK, (), GRANTOR_CLOCK.plus(G));
    let enter = Action::new("enter", [X]).when(!is_waiting_or_inside(X)).set(WAITING, X, true);
    vec![
        elapse,
        send(enter.set(TICKET, X, &next), next),
        send(Action::new("request-again", [X]).when(is_waiting_or_inside(X)), TICKET.at(X)),
        Action::new("receive-grant", [X, M, N])
            .when(GRANT.at((X, M, N)) & wants.clone() & PENDING.at(X) & N.equals(ROUND.at(X)))
            .set(INSIDE_UNTIL, X, deadline)
            .set(PENDING, X, false)
            .set(WAITING, X, false)
            .set(INSIDE, X, true),
        Action::new("receive-old-grant", [X, M, N])
            .when(GRANT.at((X, M, N)) & !wants.clone())
            .add_tuple(RELEASE, (X, M)),
        // A message `Turn` permits nothing, so the model has no such message. This action may
        // happen at any time.
        Action::new("receive-old-turn", [X, M])
            .when(M.at_most(TICKET.at(X)) & !wants)
            .add_tuple(RELEASE, (X, M)),
        Action::new("request-times-out", [X]).when(PENDING.at(X)).set(PENDING, X, false),
        over(Action::new("leave", [X]).when(INSIDE.at(X)))
            .add_tuple(RELEASE, (Term::from(X), TICKET.at(X))),
        over(Action::new("crash", [X, M]).when(TICKET.at(X).less(M)))
            .set(WAITING, X, false)
            .set(TICKET, X, M)
            .set(ROUND, X, 0),
    ]
}

fn grantor_actions(variant: Option<&str>) -> Vec<Action> {
    let kept = if variant == Some("impatient") { RENEWAL } else { EXPIRY };
    let reserve = |action: Action| action.set(HELD_UNTIL, (), GRANTOR_CLOCK.plus(kept));
    let hold = |action: Action| {
        let action = action.set(HELD, (), true).set(HOLDER, (), X).set(HELD_TICKET, (), M);
        reserve(action)
    };
    // A newer request of the holder replaces the holder's claim.
    let is_replaced = HOLDER.equals(X) & HELD_TICKET.less(M);
    let is_free = !CLOSED.constant_term() & (!HELD.constant_term() | is_replaced.clone());
    let is_requested = REQUEST.at((X, M, N));
    let renewal = Action::new("grant-renewal", [X, M, N])
        .when(is_requested.clone() & !CLOSED.constant_term() & is_held_by(X, M))
        .add_tuple(GRANT, (X, M, N));
    let restart = Action::new("restart-grantor", []).set(HELD, (), false).set(
        HELD_UNTIL,
        (),
        GRANTOR_CLOCK.plus(EXPIRY),
    );
    vec![
        hold(Action::new("grant", [X, M, N]).when(is_requested.clone() & is_free))
            .add_tuple(GRANT, (X, M, N)),
        if variant == Some("renewal-ignored") { renewal } else { reserve(renewal) },
        Action::new("replace-claim", [X, M, N])
            .when(is_requested & HELD.constant_term() & is_replaced)
            .set(HELD, (), false),
        hold(
            Action::new("call-next", [X, M]).when(!CLOSED.constant_term() & !HELD.constant_term()),
        ),
        Action::new("receive-release", [X, M]).when(RELEASE.at((X, M)) & is_held_by(X, M)).set(
            HELD,
            (),
            false,
        ),
        Action::new("expire", [])
            .when(
                HELD_UNTIL.at_most(GRANTOR_CLOCK) & (HELD.constant_term() | CLOSED.constant_term()),
            )
            .set(HELD, (), false)
            .set(CLOSED, (), false),
        restart.set(CLOSED, (), variant != Some("forgotten-grants")),
    ]
}

fn invariant() -> Vec<Conjunct> {
    let mut conjuncts = claims_and_grants();
    conjuncts.extend(deadlines());
    conjuncts.extend(messages());
    conjuncts
}

fn claims_and_grants() -> Vec<Conjunct> {
    vec![
        Conjunct::new(
            "mutual-exclusion",
            "no two processes claim the lock",
            for_all([P, Q], (claims(P) & claims(Q)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "claim-reserved",
            "a claimed lock is granted to no other process until the deadline",
            for_all([P], claims(P).implies(is_reserved(P, TICKET.at(P), INSIDE_UNTIL))),
        ),
        Conjunct::new(
            "grant-reserved",
            "a lock whose grant is in flight is reserved until the deadline of the request",
            for_all([P, K, R], is_usable(P, K, R).implies(is_reserved(P, K, ASKED_UNTIL))),
        ),
        Conjunct::new(
            "one-claim-or-grant",
            "while a process claims the lock, no other one can use a grant",
            for_all([P, Q, K, R], (claims(P) & is_usable(Q, K, R)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "one-grant",
            "grants for at most one process can be used",
            for_all(
                [P, Q, K, R, L, S],
                (is_usable(P, K, R) & is_usable(Q, L, S)).implies(P.equals(Q)),
            ),
        ),
    ]
}

fn deadlines() -> Vec<Conjunct> {
    let is_near = |deadline: Symbol| deadline.at(P).at_most(CLOCK.at(P).plus(LEASE));
    vec![
        Conjunct::new(
            "phases",
            "no process waits and is inside at once, and an idle one has no pending request",
            for_all(
                [P],
                !(WAITING.at(P) & INSIDE.at(P)) & PENDING.at(P).implies(is_waiting_or_inside(P)),
            ),
        ),
        Conjunct::new(
            "request-deadline",
            "the deadline of a request is at most a lease away",
            for_all([P], PENDING.at(P).implies(is_near(ASKED_UNTIL))),
        ),
        Conjunct::new(
            "entry-deadline",
            "the deadline of an entry is at most a lease away",
            for_all([P], INSIDE.at(P).implies(is_near(INSIDE_UNTIL))),
        ),
        Conjunct::new(
            "closed",
            "a restarted grantor has no holder until earlier grants have expired",
            !(CLOSED.constant_term() & HELD.constant_term()),
        ),
    ]
}

fn messages() -> Vec<Conjunct> {
    let is_current = K.equals(TICKET.at(P));
    let is_past = K.less(TICKET.at(P)) | (is_current.clone() & R.at_most(ROUND.at(P)));
    let about =
        |message: Symbol| for_all([P, K, R], message.at((P, K, R)).implies(is_past.clone()));
    vec![
        Conjunct::new(
            "requests-sent",
            "a request in flight is not newer than the last one of its process",
            about(REQUEST),
        ),
        Conjunct::new(
            "grants-requested",
            "a grant in flight is not newer than the last request of its process",
            about(GRANT),
        ),
        Conjunct::new(
            "released",
            "a released entry is over",
            for_all(
                [P, K],
                RELEASE
                    .at((P, K))
                    .implies(K.less(TICKET.at(P)) | (is_current & !is_waiting_or_inside(P))),
            ),
        ),
    ]
}

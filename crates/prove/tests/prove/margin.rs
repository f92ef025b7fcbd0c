//! Tests of the margins on which the proofs of leases depend. A margin is an inequality between two
//! durations on drifting clocks. If the durations in a model are those of the code, the solver must
//! prove the model. If the duration of a client is one unit longer, the solver must refute the
//! model.

use num_rational::Ratio;
use tenure_algorithms::election::raft::{Config as ElectionConfig, RaftElection};
use tenure_algorithms::mutex::LeaseDurations;
use tenure_core::Algorithm;
use tenure_prove::{
    Assignment, Evaluator, LeaseModelParameters, Model, RaftLeaseModelParameters, Sort, Structure,
    Symbol, Value, apply_updates, prove,
};
use tenure_session::SessionDurations;

const SECOND: u64 = 1_000_000_000;
const MILLION: u32 = 1_000_000;

/// If `is_proved` is true, asserts that the model is proved. Otherwise, asserts that the solver
/// finds a counterexample to induction.
fn assert_decided(model: &Model, is_proved: bool) {
    let Some(solver) = crate::support::z3() else { return };
    let report = prove(model, &solver).expect("the solver runs");
    let open: Vec<String> =
        report.unproved_obligations().map(|it| it.obligation.to_string()).collect();
    assert_eq!(report.is_proved(), is_proved, "{open:?}");
    assert_eq!(report.counterexample().is_some(), !is_proved, "{open:?}");
}

/// Returns the two durations of a client's session, in nanoseconds: the validity at the client, and
/// the TTL at the service.
fn session(ttl: u64, drift_ppm: u32) -> LeaseModelParameters {
    let SessionDurations { ttl, validity, .. } = SessionDurations::new(ttl, drift_ppm);
    LeaseModelParameters { lease: validity, expiry: ttl, drift_ppm }
}

fn one_more(times: LeaseModelParameters) -> LeaseModelParameters {
    LeaseModelParameters { lease: times.lease + 1, ..times }
}

#[test]
fn validity_of_a_session_is_proved() {
    let times = session(10 * SECOND, 10_000);
    assert_eq!(times.lease, 9_801_980_198);
    assert_decided(&times.model(), true);
}

#[test]
fn one_nanosecond_more_than_validity_is_refuted() {
    let times = session(10 * SECOND, 10_000);
    assert_decided(&one_more(times).model(), false);
}

/// Checks that the validity of a session satisfies the inequality on which the proof depends. A
/// validity that is one nanosecond longer must violate this inequality.
#[test]
fn validity_is_the_derived_margin() {
    for (ttl, drift_ppm) in sessions() {
        let satisfies_margin = |times: LeaseModelParameters| {
            let (slow, fast) = (MILLION - drift_ppm, MILLION + drift_ppm);
            u128::from(times.lease) * u128::from(fast) <= u128::from(ttl) * u128::from(slow)
        };
        let times = session(ttl, drift_ppm);
        assert!(satisfies_margin(times) && !satisfies_margin(one_more(times)), "{times:?}");
    }
}

/// Returns the sessions to examine. Each session is a pair: a TTL in nanoseconds, and a drift in
/// parts per million.
fn sessions() -> impl Iterator<Item = (u64, u32)> {
    let ttls = [21, 2_000, SECOND, 5 * SECOND, 10 * SECOND, 60 * SECOND, 3_600 * SECOND];
    ttls.into_iter().flat_map(|ttl| [0, 100, 10_000, 50_000].map(|drift| (ttl, drift)))
}

/// Checks that a longer duration is unsafe: a run of the model ends with two processes inside. A
/// counterexample to induction alone would not show this.
#[test]
fn one_nanosecond_more_than_validity_has_a_run_with_two_inside() {
    for (ttl, drift_ppm) in sessions() {
        let times = session(ttl, drift_ppm);
        assert!(Run::of(times).is_exclusive(), "{times:?}");
        assert!(!Run::of(one_more(times)).is_exclusive(), "{times:?}");
    }
}

struct Run {
    model: Model,
    state: Structure,
}

impl Run {
    /// Creates a run in which the first process enters, and its lease then expires at the grantor.
    /// After that, the second process enters. The clock of the grantor is fast, and the clocks of
    /// both processes are slow.
    fn of(times: LeaseModelParameters) -> Self {
        let mut run = Run::initial(times);
        let (first, second) = (Value::process(0), Value::process(1));
        let request = |process| [("x", process), ("m", Value::Int(1)), ("n", Value::Int(1))];
        run.step("enter", &[("x", first)]);
        run.step("grant", &request(first));
        run.step("receive-grant", &request(first));
        run.elapse(times);
        run.step("expire", &[]);
        run.step("enter", &[("x", second)]);
        run.step("grant", &request(second));
        run.step("receive-grant", &request(second));
        run
    }

    /// Creates a run. In its initial state, all clocks read 0.
    fn initial(times: LeaseModelParameters) -> Self {
        let model = times.model();
        let mut state = Structure::new(2);
        let [slow, fast] = rates(times);
        let constants = [
            ("slow", slow),
            ("fast", fast),
            ("lease", units(times.lease)),
            ("expiry", units(times.expiry)),
        ];
        for (name, value) in constants {
            let symbol = model.symbols().find(|symbol| symbol.name == name);
            state.set(symbol.expect("the constant exists"), [], Value::Real(value));
        }
        let run = Run { model, state };
        let axioms = run.model.axioms.iter().map(|axiom| &axiom.formula);
        for formula in axioms.chain(&run.model.initial_conditions) {
            assert!(Evaluator::new(&run.state).holds(formula, &Assignment::new()), "{formula}");
        }
        run
    }

    /// Lets time pass until the lease expires on the clock of the grantor.
    fn elapse(&mut self, times: LeaseModelParameters) {
        let [slow, fast] = rates(times);
        let expiry = units(times.expiry);
        let elapsed = expiry / fast;
        let advance = Symbol::function("advance", &[Sort::Process], Sort::Real);
        for process in [0, 1].map(Value::process) {
            self.state.set(advance, [process], Value::Real(elapsed * slow));
        }
        self.step("elapse", &[("d", Value::Real(elapsed)), ("g", Value::Real(elapsed * fast))]);
    }

    /// Takes an action, which must be possible.
    fn step(&mut self, name: &str, parameters: &[(&str, Value)]) {
        let action = self.model.actions.iter().find(|action| action.name == name);
        let action = action.expect("the action exists");
        let value = |name: &str| parameters.iter().find(|(parameter, _)| *parameter == name);
        let assignment: Assignment = action
            .parameters
            .iter()
            .map(|it| (*it, value(it.name).expect("each parameter has a value").1))
            .collect();
        let is_possible = Evaluator::new(&self.state).holds(&action.guard, &assignment);
        assert!(is_possible, "{name} in {:?}", self.state.facts(self.model.symbols()));
        self.state = apply_updates(&self.state, action, &assignment);
    }

    /// Returns true if at most one process claims the lock in the present state of the run.
    fn is_exclusive(&self) -> bool {
        let property = &self.model.property().formula;
        Evaluator::new(&self.state).holds(property, &Assignment::new())
    }
}

/// Returns the lowest and the highest rate of a clock.
fn rates(times: LeaseModelParameters) -> [Ratio<i128>; 2] {
    let (drift, million) = (i128::from(times.drift_ppm), i128::from(MILLION));
    [million - drift, million + drift].map(|rate| Ratio::new(rate, million))
}

fn units(duration: u64) -> Ratio<i128> {
    i128::from(duration).into()
}

#[test]
fn lease_tolerates_the_drift_on_its_card() {
    let times = LeaseDurations::for_message_delay(1);
    let drifting = |drift_ppm| {
        let (lease, expiry) = (times.lease.max, times.reservation.min);
        LeaseModelParameters { lease, expiry, drift_ppm }.model()
    };
    assert_eq!(times.tolerated_drift_ppm(), 52_631);
    assert_decided(&drifting(times.tolerated_drift_ppm()), true);
    assert_decided(&drifting(times.tolerated_drift_ppm() + 1), false);
}

#[test]
#[ignore = "long: 7 s"]
fn raft_tolerates_the_drift_on_its_card() {
    let config = ElectionConfig::with_defaults(3, 1);
    let card = RaftElection::card(&config, 3);
    let drifting = |drift_ppm| {
        let (heartbeat, lease) = (config.heartbeat_interval.max, config.lease_duration.max);
        RaftLeaseModelParameters {
            heartbeat,
            lease,
            election: config.election_timeout.min,
            drift_ppm,
        }
        .model()
    };
    assert_eq!(card.drift_ppm, 43_478);
    assert_decided(&drifting(card.drift_ppm), true);
    assert_decided(&drifting(card.drift_ppm + 1), false);
}

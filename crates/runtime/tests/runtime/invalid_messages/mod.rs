//! Sends messages that can be decoded but that no correct process sends. Checks that no process
//! panics, and that every user is served after a restart of all processes.

mod faulty_process;
mod live;
mod mutation;
pub(crate) mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_algorithms::catalogue::{AlgorithmVisitor, Parameters, names, visit};
use tenure_core::{
    Agreement, Algorithm, CrashModel, EffectBuffer, Election, Input, Mutex, Protocol,
};

use self::mutation::{Variant, variants};
use self::world::{Due, Service, SplitMix64, World};

const SIZE: u32 = 3;

/// Algorithms without invalid messages: their messages carry no values, or any value is allowed.
const ANY_IS_VALID: [&str; 3] = ["dining-philosophers", "drinking-philosophers", "floodset"];

/// Returns the names of all algorithms in the catalogue. Four algorithms occur a second time,
/// behind an adapter that makes the channels ordered.
fn algorithms() -> impl Iterator<Item = String> {
    let over = ["lamport", "suzuki-kasami", "raft", "coordinated:bully"];
    names().map(String::from).chain(over.map(|name| format!("fifo:{name}")))
}

/// Runs a group with one algorithm, and returns the failures.
trait Attack {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String>;
}

struct Of<A>(A);

impl<A: Attack> AlgorithmVisitor for Of<A> {
    type Output = Vec<String>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Vec<String> {
        self.0.attack::<P>(config, Service::lock())
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Vec<String> {
        self.0.attack::<P>(config, Service::election())
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Vec<String> {
        let service = Service::agreement(&config, SIZE);
        service.map_or_else(Vec::new, |service| self.0.attack::<P>(config, service))
    }
}

fn attack_all(attack: impl Attack + Copy) {
    let failures = algorithms().flat_map(|name| {
        let parameters = Parameters::with_defaults(SIZE);
        let failures = visit(&name, &parameters, Of(attack)).expect("a name of the catalogue");
        failures.into_iter().map(move |what| format!("{name}: {what}"))
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn booted<P: Protocol>(config: P::Config, service: Service<P>, seed: u64) -> World<P> {
    World::boot(SIZE, config, service, vec![None; SIZE as usize], seed)
}

/// Sends each invalid variant of a message to a copy of the process that receives the message.
#[derive(Clone, Copy)]
struct SendVariants {
    is_validated: bool,
}

impl Attack for SendVariants {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String> {
        let may_reject = !ANY_IS_VALID.contains(&P::card(&config, SIZE).name.as_ref());
        let mut world = booted(config, service, 1);
        let mut failures = Vec::new();
        let mut rejected = 0;
        for _ in 0..2_000 {
            if world.is_served(3) {
                break;
            }
            let Some(due) = world.next() else { break };
            if let Due::Message { from, to, message } = &due {
                let receiver = &world.members[to.index()];
                if let Err(why) = receiver.validator.clone().check_message(message) {
                    failures.push(format!("a correct message was rejected: {message:?}: {why}"));
                }
                for Variant { message: invalid, .. } in variants(message) {
                    let mut receiver = receiver.clone();
                    if self.is_validated && receiver.validator.check_message(&invalid).is_err() {
                        rejected += 1;
                        continue;
                    }
                    let (from, sent) = (*from, format!("{invalid:?}"));
                    let step = || {
                        let mut batch: EffectBuffer<P, SplitMix64> =
                            EffectBuffer::new(SplitMix64(fastrand::Rng::with_seed(1)));
                        receiver
                            .process
                            .step(Input::Message { from, message: invalid }, &mut batch);
                    };
                    if catch_unwind(AssertUnwindSafe(step)).is_err() {
                        failures.push(format!("{to} panics after {sent}"));
                    }
                }
            }
            world.perform(due);
        }
        if !world.is_served(1) {
            failures.push("correct processes are not served".into());
        }
        if self.is_validated && may_reject && rejected == 0 {
            failures.push("no message was rejected".into());
        }
        failures
    }
}

#[test]
fn accepted_messages_cause_no_panic() {
    attack_all(SendVariants { is_validated: true });
}

/// Control experiment: processes without a validator receive invalid messages, and some of these
/// processes panic.
#[test]
fn unvalidated_messages_cause_panics() {
    for name in ["nishio-li-manning", "repaired-ring"] {
        let failures =
            visit(name, &Parameters::with_defaults(SIZE), Of(SendVariants { is_validated: false }))
                .unwrap();
        assert!(!failures.is_empty(), "{name}");
    }
}

/// Sends invalid messages for a while, and then restarts all processes as correct processes.
#[derive(Clone, Copy)]
struct SendAndRestart {
    seed: u64,
}

impl Attack for SendAndRestart {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String> {
        let survives = P::card(&config, SIZE).faults.crashes == CrashModel::Recovery;
        let mut world = booted(config, service, self.seed);
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let mut sent = Vec::new();
        let variants = || {
            for _ in 0..400 {
                let Some(due) = world.next() else { break };
                if let Due::Message { from, to, message } = &due
                    && rng.u8(0..4) == 0
                {
                    let copies = variants(message);
                    if let Some(Variant { message: invalid, .. }) = rng.choice(copies) {
                        sent.push(format!("{to} received {invalid:?}"));
                        world.perform(Due::Message { from: *from, to: *to, message: invalid });
                    }
                }
                world.perform(due);
            }
            let mut correct = world.restarted(survives, self.seed);
            if !correct.serves(1, 5_000) {
                correct.suspect_all();
            }
            correct.serves(1, 5_000)
        };
        match catch_unwind(AssertUnwindSafe(variants)) {
            Ok(true) => Vec::new(),
            Ok(false) => vec![format!("serves no user after seed {}", self.seed)],
            Err(_) => vec![format!("panics in seed {}: {sent:#?}", self.seed)],
        }
    }
}

#[test]
fn users_are_served_after_invalid_messages_and_restart() {
    for seed in crate::seeds(0..1) {
        attack_all(SendAndRestart { seed });
    }
}

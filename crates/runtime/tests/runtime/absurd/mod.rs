//! Messages that can be read and cannot be true: what is believed of them makes no process panic,
//! and after a restart of all everybody is served again.

mod liar;
mod live;
mod mutation;
pub(crate) mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_algorithms::catalogue::{Parameters, Visitor, names, visit};
use tenure_core::{Agreement, Algorithm, Batch, Crashes, Election, Input, Mutex, Protocol};

use self::mutation::{Lie, lies};
use self::world::{Dice, Due, Service, World};

const SIZE: u32 = 3;

/// Everything that has a name, and some over the adapter.
fn everything() -> impl Iterator<Item = String> {
    let over = ["lamport", "suzuki-kasami", "raft", "coordinated:bully"];
    names().map(String::from).chain(over.map(|name| format!("fifo:{name}")))
}

/// What to do with a group of one algorithm; says what was wrong.
trait Attack {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String>;
}

struct Of<A>(A);

impl<A: Attack> Visitor for Of<A> {
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
    let wrong = everything().flat_map(|name| {
        let parameters = Parameters::plain(SIZE);
        let wrong = visit(&name, &parameters, Of(attack)).expect("the catalogue has this name");
        wrong.into_iter().map(move |what| format!("{name}: {what}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn booted<P: Protocol>(config: P::Config, service: Service<P>, seed: u64) -> World<P> {
    World::boot(SIZE, config, service, vec![None; SIZE as usize], seed)
}

/// Throws every absurd copy of every message at a copy of its receiver.
#[derive(Clone, Copy)]
struct Throw {
    checks: bool,
}

impl Attack for Throw {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String> {
        let mut world = booted(config, service, 1);
        let mut wrong = Vec::new();
        let mut disbelieved = 0;
        for _ in 0..2_000 {
            if world.is_served(6) {
                break;
            }
            let Some(due) = world.next() else { break };
            if let Due::Message { from, to, message } = &due {
                let receiver = &world.members[to.index()];
                if let Err(why) = receiver.plausible.clone().hear(message) {
                    wrong.push(format!("{message:?} was sent and is not believed: {why}"));
                }
                for Lie { message: absurd, .. } in lies(message) {
                    let mut receiver = receiver.clone();
                    if self.checks && receiver.plausible.hear(&absurd).is_err() {
                        disbelieved += 1;
                        continue;
                    }
                    let (from, told) = (*from, format!("{absurd:?}"));
                    let step = || {
                        let mut batch: Batch<P, Dice> =
                            Batch::new(Dice(fastrand::Rng::with_seed(1)));
                        receiver.process.step(Input::Message { from, message: absurd }, &mut batch);
                    };
                    if catch_unwind(AssertUnwindSafe(step)).is_err() {
                        wrong.push(format!("{to} does not survive {told}"));
                    }
                }
            }
            world.perform(due);
        }
        if !world.is_served(1) {
            wrong.push("not even honest processes are served".into());
        }
        if self.checks && disbelieved == 0 {
            wrong.push("everything is believed".into());
        }
        wrong
    }
}

#[test]
fn nothing_that_is_believed_makes_a_process_panic() {
    attack_all(Throw { checks: true });
}

/// The control.
#[test]
fn without_the_check_it_would() {
    for name in ["nishio-li-manning", "repaired-ring"] {
        let hurt = visit(name, &Parameters::plain(SIZE), Of(Throw { checks: false })).unwrap();
        assert!(!hurt.is_empty(), "{name}");
    }
}

/// Lies for a while, then restarts everybody and is honest.
#[derive(Clone, Copy)]
struct Poison {
    seed: u64,
}

impl Attack for Poison {
    fn attack<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<String> {
        let survives = P::card(&config, SIZE).faults.crashes == Crashes::Recovery;
        let mut world = booted(config, service, self.seed);
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let mut told = Vec::new();
        let lies = || {
            for _ in 0..400 {
                let Some(due) = world.next() else { break };
                if let Due::Message { from, to, message } = &due
                    && rng.u8(0..4) == 0
                {
                    let copies = lies(message);
                    if let Some(Lie { message: absurd, .. }) = rng.choice(copies) {
                        told.push(format!("{to} was told {absurd:?}"));
                        world.perform(Due::Message { from: *from, to: *to, message: absurd });
                    }
                }
                world.perform(due);
            }
            let mut honest = world.restarted(survives, self.seed);
            if !honest.serves(1, 5_000) {
                honest.suspect_all();
            }
            honest.serves(1, 5_000)
        };
        match catch_unwind(AssertUnwindSafe(lies)) {
            Ok(true) => Vec::new(),
            Ok(false) => vec![format!("serves nobody after seed {}", self.seed)],
            Err(_) => vec![format!("panics in seed {}: {told:#?}", self.seed)],
        }
    }
}

#[test]
fn after_lies_and_a_restart_of_all_everybody_is_served() {
    for seed in crate::seeds(0..4) {
        attack_all(Poison { seed });
    }
}

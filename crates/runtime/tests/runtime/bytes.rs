//! Bytes that nobody meant to send take no process down: the short part of `fuzz/`. Whoever fuzzes
//! finds out by and by how messages begin; here they are those of honest processes, damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use tenure_algorithms::catalogue::{Parameters, Visitor, names, visit};
use tenure_core::{Agreement, Algorithm, Election, Group, Mutex, ProcessId, VectorClock};
use tenure_runtime::exercise::{self, Belief};

use crate::absurd::world::{Due, Service, World};

const SIZE: u32 = 3;

/// Who is told.
const ME: ProcessId = ProcessId(1);

/// The ends of what can be counted with, of what can be added to, of what is said of terms, and
/// some beyond.
const ABSURD: [u64; 9] = [
    (1 << 31) - 1,
    u32::MAX as u64,
    (1 << 39) + 1,
    (1 << 40) - 1,
    1 << 40,
    1 << 62,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// One process of a group, told what a seed says.
struct Told {
    belief: Belief,
    seed: u64,
}

impl Visitor for Told {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        let bytes = self.bytes::<P>(config.clone(), Service::lock());
        exercise::lock::<P>(Group::new(ME, SIZE), &config, self.belief, &bytes);
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) {
        let bytes = self.bytes::<P>(config.clone(), Service::election());
        exercise::election::<P>(Group::new(ME, SIZE), &config, self.belief, &bytes);
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) {
        let Some(service) = Service::agreement(&config, SIZE) else { return };
        let bytes = self.bytes::<P>(config.clone(), service);
        exercise::agreement::<P>(Group::new(ME, SIZE), &config, self.belief, &bytes);
    }
}

impl Told {
    /// What happens, one thing after the other: mostly messages, some as they were sent and some
    /// damaged; and at the end anything at all.
    fn bytes<P: Algorithm>(&self, config: P::Config, service: Service<P>) -> Vec<u8> {
        let mut rng = Rng::with_seed(self.seed);
        let sent = sent(config, service, self.seed);
        let mut bytes = Vec::new();
        for _ in 0..120 {
            // A crash, a suspicion or a timer.
            let other = [rng.u8(..) & !7 | rng.u8(0..3), rng.u8(0..SIZE as u8)];
            let Some((from, message)) = rng.choice(&sent).filter(|_| rng.u8(0..4) > 0) else {
                bytes.extend(other);
                continue;
            };
            let mut message = message.clone();
            for _ in 0..rng.u8(0..3) {
                damage(&mut rng, &mut message);
            }
            message.truncate(255);
            bytes.extend([rng.u8(3..8), *from, message.len() as u8]);
            bytes.extend(message);
        }
        bytes.extend((0..300).map(|_| rng.u8(..)));
        bytes
    }
}

/// What honest processes send, in envelopes, and from whom.
fn sent<P: Algorithm>(config: P::Config, service: Service<P>, seed: u64) -> Vec<(u8, Vec<u8>)> {
    let mut world = World::boot(SIZE, config, service, vec![None; SIZE as usize], seed);
    let mut sent = Vec::new();
    for _ in 0..200 {
        let Some(due) = world.next() else { break };
        if let Due::Message { from, message, .. } = &due
            && *from != ME
        {
            let envelope = (1_u64, None::<VectorClock>, message);
            let bytes = postcard::to_stdvec(&envelope).expect("a message can be encoded");
            sent.push((from.0 as u8, bytes));
        }
        world.perform(due);
    }
    sent
}

/// Puts another number in some place, or leaves out or adds a byte.
fn damage(rng: &mut Rng, message: &mut Vec<u8>) {
    if message.is_empty() {
        return;
    }
    let place = rng.usize(0..message.len());
    let rest = message.split_off(place);
    let behind = match postcard::take_from_bytes::<u64>(&rest) {
        Ok((_, behind)) => behind,
        Err(_) => &rest[1..],
    };
    let number = match rng.u8(0..8) {
        0 => None,
        1 | 2 => Some(rng.u64(0..4)),
        3 => Some(rng.u64(..)),
        _ => rng.choice(ABSURD),
    };
    let number = number.map(|number| postcard::to_stdvec(&number).expect("a number is encoded"));
    message.extend(number.into_iter().flatten());
    message.extend(behind);
}

/// Whether a process survives what a seed says.
fn survives(name: &str, belief: Belief, seed: u64) -> bool {
    let told = || visit(name, &Parameters::plain(SIZE), Told { belief, seed });
    catch_unwind(AssertUnwindSafe(told)).is_ok_and(|known| known.is_ok())
}

#[test]
fn no_bytes_take_a_process_down() {
    for seed in crate::seeds(0..20) {
        for name in names() {
            let replay = format!("cargo xtask attack bytes --seeds {seed}..{}", seed + 1);
            assert!(survives(name, Belief::Plausible, seed), "{name}: {replay}");
        }
    }
}

/// The control: these bytes would, if processes believed what they are told.
#[test]
fn whoever_believes_everything_is_taken_down() {
    let falls = |name: &&str| (0..40).any(|seed| !survives(name, Belief::Everything, seed));
    let fallen: Vec<&str> = names().filter(falls).collect();
    eprintln!("{fallen:?}");
    for name in ["repaired-ring", "nishio-li-manning"] {
        assert!(fallen.contains(&name), "{name} is not among {fallen:?}");
    }
}

//! Short version of the fuzz tests in `fuzz/`: no process crashes on arbitrary bytes. A fuzzer
//! learns the format of messages over time. These tests instead start with messages of correct
//! processes, and damage them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use tenure_algorithms::catalogue::{AlgorithmVisitor, Parameters, names, visit};
use tenure_core::{Agreement, Algorithm, Election, Group, Mutex, ProcessId, VectorClock};
use tenure_runtime::fuzzing::{self, ValidationMode};

use crate::invalid_messages::world::{Due, Service, World};

const SIZE: u32 = 3;

const ME: ProcessId = ProcessId(1);

/// Numbers that a damaged message may contain. Each number is close to a limit or above it. The
/// limits are those of 32-bit numbers, of term numbers, and of 64-bit numbers.
const IMPOSSIBLE: [u64; 9] = [
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

/// Visitor that receives the type of an algorithm. It runs one process of the algorithm on bytes
/// that the seed determines.
struct FuzzVisitor {
    validation: ValidationMode,
    seed: u64,
}

impl AlgorithmVisitor for FuzzVisitor {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        let bytes = self.bytes::<P>(config.clone(), Service::lock());
        fuzzing::fuzz_lock::<P>(Group::new(ME, SIZE), &config, self.validation, &bytes);
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) {
        let bytes = self.bytes::<P>(config.clone(), Service::election());
        fuzzing::fuzz_election::<P>(Group::new(ME, SIZE), &config, self.validation, &bytes);
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) {
        let Some(service) = Service::agreement(&config, SIZE) else { return };
        let bytes = self.bytes::<P>(config.clone(), service);
        fuzzing::fuzz_agreement::<P>(Group::new(ME, SIZE), &config, self.validation, &bytes);
    }
}

impl FuzzVisitor {
    /// Returns bytes that encode events. Most events are messages, some of them damaged. The last
    /// 300 bytes are random.
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

/// Returns messages that correct processes have sent. Each element contains the number of the
/// sender, and the envelope with the message.
fn sent<P: Algorithm>(config: P::Config, service: Service<P>, seed: u64) -> Vec<(u8, Vec<u8>)> {
    let mut world = World::boot(SIZE, config, service, vec![None; SIZE as usize], seed);
    let mut sent = Vec::new();
    for _ in 0..200 {
        let Some(due) = world.next() else { break };
        if let Due::Message { from, message, .. } = &due
            && *from != ME
        {
            let envelope = (1_u64, None::<VectorClock>, message);
            let bytes = postcard::to_stdvec(&envelope).expect("a message is serializable");
            sent.push((from.0 as u8, bytes));
        }
        world.perform(due);
    }
    sent
}

/// Damages a message at a random position. Removes the number that begins at this position, or one
/// byte if no number begins there. Then inserts another number at this position, or nothing.
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
        _ => rng.choice(IMPOSSIBLE),
    };
    let number =
        number.map(|number| postcard::to_stdvec(&number).expect("a number is serializable"));
    message.extend(number.into_iter().flatten());
    message.extend(behind);
}

fn survives(name: &str, validation: ValidationMode, seed: u64) -> bool {
    let run = || visit(name, &Parameters::with_defaults(SIZE), FuzzVisitor { validation, seed });
    catch_unwind(AssertUnwindSafe(run)).is_ok_and(|known| known.is_ok())
}

#[test]
fn arbitrary_bytes_crash_no_process() {
    for seed in crate::seeds(0..20) {
        for name in names() {
            let replay = format!("cargo xtask attack bytes --seeds {seed}..{}", seed + 1);
            assert!(survives(name, ValidationMode::On, seed), "{name}: {replay}");
        }
    }
}

/// Control experiment for [`arbitrary_bytes_crash_no_process`]. Processes without validation
/// receive the same kind of bytes, and some of these processes crash.
#[test]
fn processes_without_validation_crash() {
    let crashes = |name: &&str| (0..40).any(|seed| !survives(name, ValidationMode::Off, seed));
    let crashed: Vec<&str> = names().filter(crashes).collect();
    eprintln!("{crashed:?}");
    for name in ["repaired-ring", "nishio-li-manning"] {
        assert!(crashed.contains(&name), "{name} is not among {crashed:?}");
    }
}

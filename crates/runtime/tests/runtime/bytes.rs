//! Bytes that nobody meant to send take no process down: the short part of `fuzz/`.

use tenure_algorithms::catalogue::{Parameters, Visitor, names, visit};
use tenure_core::{Agreement, Algorithm, Election, Group, Mutex, ProcessId};
use tenure_runtime::exercise;

const SIZE: u32 = 3;

/// One process of a group, told these bytes.
struct Told<'a>(&'a [u8]);

impl Visitor for Told<'_> {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        exercise::lock::<P>(Group::new(ProcessId(1), SIZE), &config, self.0);
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) {
        exercise::election::<P>(Group::new(ProcessId(1), SIZE), &config, self.0);
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) {
        exercise::agreement::<P>(Group::new(ProcessId(1), SIZE), &config, self.0);
    }
}

/// Mostly small numbers, of which messages are made.
fn bytes(seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let byte = |rng: &mut fastrand::Rng| match rng.u8(0..8) {
        0 => rng.u8(..),
        1 => 0xFF,
        _ => rng.u8(0..12),
    };
    (0..600).map(|_| byte(&mut rng)).collect()
}

#[test]
fn no_bytes_take_a_process_down() {
    for seed in crate::seeds(0..40) {
        let bytes = bytes(seed);
        for name in names() {
            let told = || {
                visit(name, &Parameters::plain(SIZE), Told(&bytes))
                    .expect("a name of the catalogue");
            };
            let survived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(told)).is_ok();
            assert!(survived, "{name}: cargo xtask attack bytes --seeds {seed}..{}", seed + 1);
        }
    }
}

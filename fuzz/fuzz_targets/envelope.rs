//! Runs a process on arbitrary bytes, which encode messages, timers, suspicions, and crashes with
//! recovery: `cargo +nightly fuzz run envelope`.
//!
//! The first byte chooses the algorithm. The process must not panic, and its saved states and sent
//! messages must survive a round trip through their encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_algorithms::catalogue::{AlgorithmVisitor, Parameters, names, visit};
use tenure_core::{Agreement, Algorithm, Election, Group, Mutex, ProcessId};
use tenure_runtime::fuzzing::{self, ValidationMode};

const SIZE: u32 = 3;

/// AlgorithmVisitor that runs one process of a group on these bytes.
struct FuzzVisitor<'a>(&'a [u8]);

impl AlgorithmVisitor for FuzzVisitor<'_> {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        fuzzing::fuzz_lock::<P>(
            Group::new(ProcessId(1), SIZE),
            &config,
            ValidationMode::On,
            self.0,
        );
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) {
        fuzzing::fuzz_election::<P>(
            Group::new(ProcessId(1), SIZE),
            &config,
            ValidationMode::On,
            self.0,
        );
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) {
        let group = Group::new(ProcessId(1), SIZE);
        fuzzing::fuzz_agreement::<P>(group, &config, ValidationMode::On, self.0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&index, bytes)) = bytes.split_first() else { return };
    let names: Vec<&str> = names().collect();
    let name = names[usize::from(index) % names.len()];
    visit(name, &Parameters::with_defaults(SIZE), FuzzVisitor(bytes))
        .expect("a name of the catalogue");
});

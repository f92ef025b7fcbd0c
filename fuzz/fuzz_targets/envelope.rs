//! What a node does with any bytes, from the envelope to a boot with what was saved:
//! `cargo +nightly fuzz run envelope`.
//!
//! The first byte chooses the algorithm. Whatever the others say, the process must not panic, and
//! what it saves and sends must be read back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_algorithms::catalogue::{Parameters, Visitor, names, visit};
use tenure_core::{Agreement, Algorithm, Election, Group, Mutex, ProcessId};
use tenure_runtime::exercise::{self, Belief};

const SIZE: u32 = 3;

/// One process of a group, told these bytes.
struct Told<'a>(&'a [u8]);

impl Visitor for Told<'_> {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        exercise::lock::<P>(Group::new(ProcessId(1), SIZE), &config, Belief::Plausible, self.0);
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) {
        exercise::election::<P>(Group::new(ProcessId(1), SIZE), &config, Belief::Plausible, self.0);
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) {
        let group = Group::new(ProcessId(1), SIZE);
        exercise::agreement::<P>(group, &config, Belief::Plausible, self.0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let names: Vec<&str> = names().collect();
    let name = names[usize::from(which) % names.len()];
    visit(name, &Parameters::plain(SIZE), Told(bytes)).expect("a name of the catalogue");
});

//! What many leases cost the leader that counts them:
//! `cargo run --release -p tenure-session --example many`.
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use std::hint::black_box;
use std::time::Instant;

use allocation_counter::measure;
use tenure_session::{Lessor, Parts, Renewal, RunOut, Timers};

/// How many leases.
const MANY: u64 = 100_000;

/// How long each is, in seconds.
const TTL: u64 = 10;

/// Names as clients draw them.
fn name(place: u64) -> u64 {
    (place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn main() {
    let mut lessor = Lessor::new(Parts { number: 1, least: 1 });
    let mut timers = Timers::default();
    let grants = measure(|| {
        for place in 0..MANY {
            let part = lessor.left(name(place), TTL, TTL).expect("it begins now");
            timers.arm(name(place), (place + part * MANY) as u32);
        }
    });
    let each = |all: u64| all as f64 / MANY as f64;
    println!("{MANY} leases");
    println!(
        "  a lease: {:.0} bytes, {:.2} allocations",
        each(grants.bytes_current as u64),
        each(grants.count_current as u64)
    );
    let begun = Instant::now();
    for place in 0..MANY {
        match lessor.renew(name(place)) {
            Renewal::Answered { part } => timers.arm(name(place), (place + 2 * part * MANY) as u32),
            other => panic!("all of it is left, and not {other:?}"),
        }
    }
    println!("  a renewal: {:.0} ns", each(begun.elapsed().as_nanos() as u64));
    let begun = Instant::now();
    (0..MANY).for_each(|_| assert!(black_box(timers.fire(1)).is_none(), "nothing is due"));
    println!("  to see that none is due: {:.0} ns", each(begun.elapsed().as_nanos() as u64));
    let begun = Instant::now();
    let mut ended = 0;
    while let Some((lease, _)) = timers.fire(u32::MAX) {
        assert_eq!(lessor.run_out(lease, 0), RunOut::End, "its only part is over");
        lessor.ended(lease);
        ended += 1;
    }
    assert_eq!(ended, MANY, "each ends once");
    println!(
        "  to find and end one that is due: {:.0} ns",
        each(begun.elapsed().as_nanos() as u64)
    );
}

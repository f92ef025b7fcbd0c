//! Measures the memory that a leader needs per lease, and the time per renewal and expiry, with
//! many leases: `cargo run --release -p tenure-session --example many`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::hint::black_box;
use std::time::Instant;

use allocation_counter::measure;
use tenure_session::{CheckpointPolicy, LeaseProposal, Lessor, RenewalOutcome, TimerQueue};

const LEASES: u64 = 100_000;

/// TTL of each lease, in seconds.
const TTL: u64 = 10;

/// Returns the ID of the lease with the number `place`. The IDs are spread over all 64-bit numbers,
/// like the random IDs that clients choose.
fn name(place: u64) -> u64 {
    (place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn main() {
    let mut lessor = Lessor::new(CheckpointPolicy { count: 1, min_length: 1 });
    let mut timers = TimerQueue::default();
    let grants = measure(|| {
        for place in 0..LEASES {
            let part = lessor.start_countdown(name(place), TTL, TTL).expect("the lease begins");
            timers.arm(name(place), (place + part * LEASES) as u32);
        }
    });
    let each = |all: u64| all as f64 / LEASES as f64;
    println!("{LEASES} leases");
    println!(
        "  a lease: {:.0} bytes, {:.2} allocations",
        each(grants.bytes_current as u64),
        each(grants.count_current as u64)
    );
    let started = Instant::now();
    for place in 0..LEASES {
        match lessor.renew(name(place)) {
            RenewalOutcome::Accepted { part_length: part } => {
                timers.arm(name(place), (place + 2 * part * LEASES) as u32)
            }
            other => panic!("the full TTL is left, not {other:?}"),
        }
    }
    println!("  a renewal: {:.0} ns", each(started.elapsed().as_nanos() as u64));
    let started = Instant::now();
    (0..LEASES).for_each(|_| assert!(black_box(timers.pop_due(1)).is_none(), "no timer is due"));
    println!("  to see that none is due: {:.0} ns", each(started.elapsed().as_nanos() as u64));
    let started = Instant::now();
    let mut ended = 0;
    while let Some((lease, _)) = timers.pop_due(u32::MAX) {
        assert_eq!(lessor.on_timer(lease, 0), LeaseProposal::Expire, "its only part has passed");
        lessor.remove(lease);
        ended += 1;
    }
    assert_eq!(ended, LEASES, "each lease ends once");
    println!(
        "  to find and end one that is due: {:.0} ns",
        each(started.elapsed().as_nanos() as u64)
    );
}

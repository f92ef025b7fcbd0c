//! A lock at a leader that has a lease, where the network parts: whoever is inside is out before
//! anybody on the other side is in, while clocks keep time; and what it costs when it is not put
//! out.

use tenure_algorithms::compose::{Coordinated, MutexOnly, coordinated};
use tenure_algorithms::election::{Raft, raft};
use tenure_algorithms::mutex::Times;
use tenure_check::{Judgement, Report};
use tenure_core::monitors::MutualExclusion;
use tenure_core::{Delay, ProcessId, TICKS_PER_UNIT};

use crate::among::with;

type Lock = MutexOnly<Coordinated<Raft>>;

/// All times as short as they can be where messages take none: an election timeout above heartbeat
/// and lease, a lease above a renewal, and an expiry above the lease.
fn times() -> Times {
    Times { lease: Delay::units(2), expiry: Delay::units(3), renewal: Delay::units(1), rounds: 1 }
}

/// P1 may be cut off, at any moment and for ever; whoever is cut off may be suspected from then on.
fn parted(times: Option<Times>, entries: [u32; 3]) -> Report {
    let election = raft::Config {
        election: Delay::between_units(3, 4),
        heartbeat: Delay::units(1),
        lease: Delay::units(1),
        rounds: 1,
        ..raft::Config::plain(3, TICKS_PER_UNIT)
    };
    let config = coordinated::Config { election, times };
    let check = with::<Lock>(3, config).entries(entries).initiators([]);
    let check = check.fifo().detecting().term_max(2).in_flight(2).synchronous(0..=0);
    check.partitioning([ProcessId(0)]).always(MutualExclusion::new()).run()
}

#[test]
#[ignore = "two minutes of a core when optimised"]
fn while_clocks_keep_time_two_are_never_inside_wherever_the_cut_is() {
    parted(Some(times()), [1, 1, 0]).assert_holds();
}

/// The negative controls: an entry that does not end, and one that is given away too soon.
#[test]
fn an_entry_that_does_not_end_or_is_given_away_at_once_is_one_of_two() {
    let at_once = Times { expiry: Delay::units(0), ..times() };
    for times in [None, Some(at_once)] {
        let report = parted(times, [1, 1, 0]);
        assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
    }
}

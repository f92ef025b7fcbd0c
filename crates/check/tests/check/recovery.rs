//! Tests of recovery. Some tests check the row of recovery in the fault matrix (section 5.6 of the
//! checklist). Another test checks that searches with recoveries may shift timestamps.

use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, Lamport, Maekawa, MisraRing, NaimiTrehel, Raymond, RicartAgrawala,
    SuzukiKasami, TokenRing, maekawa, raymond,
};
use tenure_check::Check;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{Algorithm, Mutex};

use crate::by_service::{of, with};
use crate::catalogue::safe_and_live;
use crate::faults::Outcome::{self, Blocked, Unsafe};
use crate::faults::cell;
use crate::verdicts::verdicts;

fn after_recovery<P: Mutex>(check: Check<P>) -> Outcome {
    cell(check.max_crashes(1).max_recoveries(1))
}

/// A recovery makes these locks unsafe, because the recovered process has lost its state. A
/// coordinator forgets its current grant. Any other process forgets the answers that it has
/// received.
#[test]
fn forgotten_grant_is_unsafe_after_recovery() {
    assert_eq!(after_recovery(of::<Central>(3).request_limits([0, 1, 1])), Unsafe);
    assert_eq!(after_recovery(of::<Lamport>(2).fifo()), Unsafe);
    assert_eq!(after_recovery(of::<RicartAgrawala>(2)), Unsafe);
    assert_eq!(after_recovery(of::<CarvalhoRoucairol>(2).request_limits(2)), Unsafe);
    let pairs = maekawa::Config::with_quorum_kind(QuorumKind::Pairs, 3).expect("pairs exist");
    assert_eq!(after_recovery(with::<Maekawa>(3, pairs).request_limits([1, 1, 0]).fifo()), Unsafe);
}

/// A token that is lost in a crash stays lost after the recovery. No process makes a new token, so
/// there are never two tokens.
#[test]
fn crashed_token_stays_lost() {
    for size in 2..=3 {
        assert_eq!(after_recovery(of::<TokenRing>(size)), Blocked);
        assert_eq!(after_recovery(of::<SuzukiKasami>(size)), Blocked);
        assert_eq!(after_recovery(of::<NaimiTrehel>(size)), Blocked);
        let star = raymond::Config::with_tree_shape(TreeShape::Star, size);
        assert_eq!(after_recovery(with::<Raymond>(size, star)), Blocked);
    }
    assert_eq!(after_recovery(of::<MisraRing>(2).fifo()), Blocked);
}

/// Compares searches with and without shifts of timestamps, for locks whose processes crash and
/// recover. A shift decreases all timestamps of a state by the same number. After a recovery, the
/// logical clock of a process restarts at zero. A search must not confuse this zero with a
/// timestamp that a shift has decreased to zero.
#[test]
fn rebasing_keeps_judgements_with_recovery() {
    fn agrees<P: Mutex + Algorithm>(check: impl Fn() -> Check<P>) {
        let (plain, reduced) = (check().run(), check().reducing_by_timestamp_shifts().run());
        assert_eq!(verdicts(&plain), verdicts(&reduced), "{plain}\n{reduced}");
        assert!(!plain.holds(), "recovery should violate a property: {plain}");
    }
    let faults = |entries: [u32; 2]| {
        move || {
            safe_and_live(
                of::<RicartAgrawala>(2).request_limits(entries).max_crashes(1).max_recoveries(1),
            )
        }
    };
    agrees(faults([1, 1]));
    agrees(faults([2, 2]));
    agrees(|| {
        safe_and_live(of::<CarvalhoRoucairol>(2).request_limits(2).max_crashes(1).max_recoveries(1))
    });
}

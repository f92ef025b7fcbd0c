//! Processes that come back: the row of recovery in the catalogue's fault matrix, 5.6; and searches
//! that shift stamps.

use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, Lamport, Maekawa, MisraRing, NaimiTrehel, Raymond, RicartAgrawala,
    SuzukiKasami, TokenRing, maekawa, raymond,
};
use tenure_check::Check;
use tenure_claims::claims;
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Algorithm, Mutex};

use crate::among::{of, with};
use crate::faults::Cell::{self, Blocked, Unsafe};
use crate::faults::cell;

fn back<P: Mutex>(check: Check<P>) -> Cell {
    cell(check.crashing(1).recovering(1))
}

/// The coordinator forgets who is inside, the others whom they have answered.
#[claims("5.6-recovery")]
#[test]
fn whoever_forgets_what_it_granted_lets_another_in() {
    assert_eq!(back(of::<Central>(3).entries([0, 1, 1])), Unsafe);
    assert_eq!(back(of::<Lamport>(2).fifo()), Unsafe);
    assert_eq!(back(of::<RicartAgrawala>(2)), Unsafe);
    assert_eq!(back(of::<CarvalhoRoucairol>(2).entries(2)), Unsafe);
    let pairs = maekawa::Config::of(Kind::Pairs, 3).expect("there are pairs");
    assert_eq!(back(with::<Maekawa>(3, pairs).entries([1, 1, 0]).fifo()), Unsafe);
}

/// No token is made anew, so there are never two, and a lost one stays lost.
#[claims("5.6-recovery")]
#[test]
fn a_token_that_crashed_with_its_process_is_not_made_anew() {
    for size in 2..=3 {
        assert_eq!(back(of::<TokenRing>(size)), Blocked);
        assert_eq!(back(of::<SuzukiKasami>(size)), Blocked);
        assert_eq!(back(of::<NaimiTrehel>(size)), Blocked);
        let star = raymond::Config::of(Shape::Star, size);
        assert_eq!(back(with::<Raymond>(size, star)), Blocked);
    }
    assert_eq!(back(of::<MisraRing>(2).fifo()), Blocked);
}

/// A clock that begins at zero again is not the smallest stamp of the others' shifted to zero.
#[test]
fn whoever_comes_back_with_a_clock_of_zero_changes_no_verdict_where_stamps_are_rebased() {
    fn agrees<P: Mutex + Algorithm>(check: impl Fn() -> Check<P>) {
        let (plain, reduced) = (check().run(), check().rebasing().run());
        assert_eq!(plain.properties, reduced.properties, "{plain}\n{reduced}");
        let length = |name| plain.counterexample(name).map(|found| found.length());
        for name in ["mutual-exclusion", "starvation-freedom"] {
            let other = reduced.counterexample(name).map(|found| found.length());
            assert_eq!(length(name), other, "{name}");
        }
        assert!(!plain.holds(), "forgetting is no harm here: {plain}");
    }
    let faults = |entries: [u32; 2]| {
        move || {
            let check = of::<RicartAgrawala>(2).entries(entries).crashing(1).recovering(1);
            check.always(MutualExclusion::new()).starvation_free()
        }
    };
    agrees(faults([1, 1]));
    agrees(faults([2, 2]));
    agrees(|| {
        let check = of::<CarvalhoRoucairol>(2).entries(2).crashing(1).recovering(1);
        check.always(MutualExclusion::new()).starvation_free()
    });
}

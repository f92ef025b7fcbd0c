//! Processes that come back, in searches that shift stamps.

use tenure_algorithms::mutex::{CarvalhoRoucairol, RicartAgrawala};
use tenure_check::Check;
use tenure_core::monitors::MutualExclusion;
use tenure_core::{Mutex, Rebase};

/// A clock that begins at zero again is not the smallest stamp of the others' shifted to zero.
#[test]
fn whoever_comes_back_with_a_clock_of_zero_changes_no_verdict_where_stamps_are_rebased() {
    fn agrees<P: Mutex + Rebase>(check: impl Fn() -> Check<P>) {
        let (plain, reduced) = (check().run(), check().rebasing().run());
        assert_eq!(plain.properties, reduced.properties, "{plain}\n{reduced}");
        let length = |name| plain.counterexample(name).map(|found| found.length());
        for name in ["mutual-exclusion", "progress"] {
            let other = reduced.counterexample(name).map(|found| found.length());
            assert_eq!(length(name), other, "{name}");
        }
        assert!(!plain.holds(), "forgetting is no harm here: {plain}");
    }
    let faults = |entries: [u32; 2]| {
        move || {
            let check = Check::<RicartAgrawala>::of(2).entries(entries).crashing(1).recovering(1);
            check.always(MutualExclusion::new()).progress()
        }
    };
    agrees(faults([1, 1]));
    agrees(faults([2, 2]));
    agrees(|| {
        let check = Check::<CarvalhoRoucairol>::of(2).entries(2).crashing(1).recovering(1);
        check.always(MutualExclusion::new()).progress()
    });
}

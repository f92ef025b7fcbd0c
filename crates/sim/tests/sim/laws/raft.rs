//! Raft's election over seeds: what it costs, and what it survives.

use tenure_claims::claims;
use tenure_core::{Order, ProcessId, Timing};
use tenure_sim::{
    Chance, Ended, Fault, Judgement, Memory, Recovery, Report, Settings, Span, When, Workload,
};

use super::{parameters, run_with};

fn electing(size: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::elect();
    settings.network.latency = Span::between_units(0, 2).into();
    settings.network.order = Some(Order::Reordered);
    settings
}

/// Under both rules; what is promised holds, and no term has two leaders.
fn held(settings: &Settings, mut look: impl FnMut(&Report)) {
    for variant in [None, Some("pre-vote")] {
        let mut parameters = parameters(settings);
        parameters.variants = variant.into_iter().map(str::to_owned).collect();
        let report = run_with("raft", &parameters, settings.clone());
        let told = format!("{variant:?}, n = {}, seed {}", settings.size, settings.seed);
        assert_eq!(report.failures().next(), None, "{told}");
        assert_eq!(report.verdict("one-leader-per-term"), Some(Judgement::Holds), "{told}");
        assert_eq!(report.ended, Ended::Served, "{told}");
        look(&report);
    }
}

/// 2.12.
#[claims("A-RAFT")]
#[test]
fn uncontested_it_costs_four_messages_a_peer_and_four_hops() {
    for size in 2..12_u32 {
        let mut settings = Settings::new(size);
        settings.workload = Workload::elect_by([ProcessId(size / 2)]);
        let parameters = parameters(&settings);
        let report = run_with("raft", &parameters, settings);
        assert_eq!(report.metrics.sent, 4 * u64::from(size - 1), "n = {size}");
        // Three until everybody knows it, and one until the leader has heard that they do.
        assert_eq!(report.finished_at_units(), 4.0, "n = {size}");
        assert_eq!(report.leaders, [ProcessId(size / 2)], "whoever was first, n = {size}");
    }
}

#[test]
fn when_all_stand_at_once_votes_split_and_somebody_wins_a_later_term() {
    for size in [2, 3, 4, 5, 9] {
        for seed in 0..150 {
            held(&electing(size, seed), |report| assert_eq!(report.leaders.len(), 1));
        }
    }
}

#[test]
fn it_survives_loss_duplication_and_reordering() {
    for seed in 0..300 {
        let mut settings = electing(5, seed);
        settings.network.loss = Chance::of(0.1);
        settings.network.duplication = Chance::of(0.1);
        held(&settings, |_| {});
    }
}

#[test]
fn a_leader_that_dies_is_replaced_and_follows_when_it_comes_back() {
    let mut deposed = 0;
    for seed in 0..200 {
        let mut settings = electing(5, seed);
        let process = ProcessId((seed % 5) as u32);
        let when = When::At(100_000_000);
        settings.faults = vec![Fault::Crash { process, when, recovery: None }];
        held(&settings, |report| {
            assert!(report.leaders != [process], "seed {seed}");
            deposed += 1;
        });
        let back = Recovery { after: 100_000_000, memory: Memory::Stable };
        settings.faults = vec![Fault::Crash { process, when, recovery: Some(back) }];
        held(&settings, |_| {});
    }
    assert!(deposed > 0);
}

/// In its n-th step that saves something, before the save or after it; nobody hears of that step.
#[test]
fn a_crash_in_the_middle_of_a_save_is_survived_whichever_save_it_is() {
    let mut crashes = 0;
    for seed in 0..120 {
        let mut settings = electing(3, seed);
        let process = ProcessId((seed % 3) as u32);
        let when = When::Saving { save: 1 + seed / 6 % 4, is_kept: seed % 2 == 0 };
        let back = Recovery { after: 1_000_000, memory: Memory::Stable };
        settings.faults = vec![Fault::Crash { process, when, recovery: Some(back) }];
        held(&settings, |report| {
            let crashed = report.faults.iter().find(|count| count.fault == "crash");
            crashes += crashed.expect("it was asked for").observed;
        });
    }
    // Everybody saves twice, and few more often.
    assert!(crashes > 60, "{crashes}");
}

/// 2.12: safe whatever delays are; live once they are bounded.
#[test]
fn before_delays_are_bounded_terms_may_be_wasted_and_afterwards_somebody_leads() {
    for seed in 0..100 {
        let mut settings = electing(4, seed);
        settings.time.timing = Some(Timing::Partial);
        settings.time.gst = 200_000_000;
        held(&settings, |_| {});
    }
}

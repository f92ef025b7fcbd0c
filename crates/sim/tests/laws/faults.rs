//! What each fault does to each algorithm that was not made for it.

use tenure_core::{Layer, Order, ProcessId, Promise};
use tenure_sim::{Chance, Fault, Memory, Recovery, Settings, Span, Verdict, When, Workload};

use crate::{LOCKS, busy, run};

/// How often a property is violated over some seeds, by one fault that the card excludes.
fn violated(name: &str, property: &str, change: impl Fn(&mut Settings)) -> usize {
    let run = |seed| {
        let mut settings = busy(3, 2, seed);
        settings.beyond_assumptions = true;
        change(&mut settings);
        run(name, settings).verdict(property) == Some(Verdict::Violated)
    };
    (0..300).filter(|seed| run(*seed)).count()
}

#[test]
fn the_fault_matrix_appears_under_the_faults_that_it_names() {
    let lose = |settings: &mut Settings| settings.network.loss = Chance::at_most(0.2, 1);
    let duplicate =
        |settings: &mut Settings| settings.network.duplication = Chance::at_most(0.2, 1);
    let reorder = |settings: &mut Settings| {
        settings.network.order = Some(Order::Reordered);
        settings.network.latency = Span::exponential_units(3).into();
    };
    for name in LOCKS {
        assert!(violated(name, "progress", lose) > 0, "{name} survives the loss of one message");
        assert_eq!(violated(name, "mutual-exclusion", lose), 0, "{name}: loss is not unsafe");
    }
    assert!(violated("token-ring", "mutual-exclusion", duplicate) > 0, "two tokens");
    assert_eq!(violated("ricart-agrawala", "mutual-exclusion", duplicate), 0, "tags help");
    assert!(violated("lamport", "mutual-exclusion", reorder) > 0, "it needs channels in order");
    for name in ["central", "token-ring", "ricart-agrawala"] {
        assert_eq!(violated(name, "mutual-exclusion", reorder), 0, "{name}");
        assert_eq!(violated(name, "progress", reorder), 0, "{name}");
    }
}

#[test]
fn a_crash_blocks_as_the_fault_matrix_says() {
    let crash = |when| {
        move |settings: &mut Settings| {
            let process = ProcessId(1);
            settings.faults = vec![Fault::Crash { process, when, recovery: None }];
        }
    };
    let inside = When::Inside { entry: 1, after: 1 };
    let waiting = When::Waiting { request: 2, after: 1 };
    for name in LOCKS {
        for when in [inside, waiting] {
            assert!(violated(name, "progress", crash(when)) > 0, "{name}, {when:?}");
            assert_eq!(violated(name, "mutual-exclusion", crash(when)), 0, "{name}, {when:?}");
        }
    }
    let idle = |settings: &mut Settings| {
        crash(When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(2), 3, 0);
    };
    assert_eq!(violated("central", "progress", idle), 0, "central survives an idle client");
    for name in ["token-ring", "lamport", "ricart-agrawala"] {
        assert!(violated(name, "progress", idle) > 0, "{name} needs everybody");
    }
}

#[test]
fn forgetting_is_unsafe_where_others_count_on_it() {
    let forget = |process, when| {
        move |settings: &mut Settings| {
            let recovery = Some(Recovery { after: 1, memory: Memory::Lost });
            settings.workload = Workload::entries(6);
            settings.faults = vec![Fault::Crash { process, when, recovery }];
        }
    };
    let coordinator = forget(ProcessId(0), When::OnMessage(2));
    assert!(violated("central", "mutual-exclusion", coordinator) > 0, "it forgets the holder");
    let waiter = forget(ProcessId(1), When::Waiting { request: 1, after: 1_000_000 });
    let seen = violated("ricart-agrawala", "mutual-exclusion-strict", waiter)
        + violated("ricart-agrawala", "progress", waiter);
    assert!(seen > 0, "it forgets whom it deferred");
}

#[test]
fn fifo_makes_loss_duplication_and_reordering_harmless() {
    for name in LOCKS {
        for seed in 0..40 {
            let mut settings = busy(3, 2, seed);
            settings.network.loss = Chance::of(0.1);
            settings.network.duplication = Chance::of(0.1);
            let name = format!("fifo:{name}");
            // Not the order of entries: a message sent anew carries news of a later request.
            let (safe, live) = (Promise::MutualExclusion, Promise::Progress);
            settings.watch.properties = Some(vec![safe, live, Promise::Fencing]);
            let report = run(&name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entered, 6, "{name}, seed {seed}");
            let channel = report.metrics.sent_in(Layer::Channel);
            assert!(channel > 0 || report.metrics.dropped > 0, "{name}, seed {seed}");
        }
    }
}

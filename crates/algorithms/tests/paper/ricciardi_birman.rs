//! Group membership of Ricciardi and Birman: a majority of each view decides the next view.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RicciardiBirman;
use tenure_algorithms::agreement::ricciardi_birman::VariantId;
use tenure_core::monitors::ViewAgreement;
use tenure_core::service::membership::{Command, Event, View};
use tenure_core::{ChannelOrder, Monitor, PeerVerdict, ProcessSet};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::{
    command_and_drain, crash_and_drain, crash_and_suspect, events, lose_all, p, pass_all,
    suspicion_and_drain,
};

fn cluster(size: u32) -> TestCluster<RicciardiBirman> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, Variants::none())
}

fn view(number: u64, members: &[u32]) -> View {
    View { number, members: members.iter().copied().map(p).collect() }
}

/// Returns the newest view that each live process knows.
fn views(cluster: &TestCluster<RicciardiBirman>) -> Vec<View> {
    cluster
        .live_processes()
        .iter()
        .filter_map(|at| Some(cluster.process(*at)?.view().clone()))
        .collect()
}

/// Lets processes leave, rejoin, crash and be suspected falsely, in random order. Returns true if
/// all live processes have the same view, and this view contains exactly the live processes.
/// Returns an error for a violation.
fn run(size: u32, variants: Variants<VariantId>, crashes: u32, seed: u64) -> Result<bool, String> {
    let mut cluster =
        TestCluster::<RicciardiBirman>::with_same_config(size, ChannelOrder::Fifo, variants);
    let (mut monitor, mut rng, mut crashes) = (ViewAgreement::default(), SplitMix64(seed), crashes);
    let mut wrong: Vec<(u32, u32)> = Vec::new();
    for _ in 0..120 {
        let some = |rng: &mut SplitMix64| 1 + rng.below(size as usize) as u32;
        let (at, peer) = (some(&mut rng), some(&mut rng));
        match rng.below(24) {
            0 if cluster.is_up(p(at)) => {
                let command = if rng.one_in(2) { Command::Leave } else { Command::Join };
                cluster.issue_command(p(at), command);
            }
            1 if crashes > 0 && cluster.is_up(p(at)) => {
                crashes -= 1;
                crash_and_suspect(&mut cluster, at);
            }
            2 if at != peer && cluster.is_up(p(at)) && cluster.is_up(p(peer)) => {
                cluster.report_suspicion(p(at), p(peer), PeerVerdict::Suspect);
                wrong.push((at, peer));
            }
            3 => {
                for (at, peer) in wrong.drain(..) {
                    if cluster.is_up(p(at)) && cluster.is_up(p(peer)) {
                        cluster.report_suspicion(p(at), p(peer), PeerVerdict::Trust);
                    }
                }
            }
            _ => {
                if let Some(link) = rng.pick(&cluster.links_in_use()) {
                    cluster.deliver(*link, &mut rng);
                }
            }
        }
    }
    for (at, peer) in wrong {
        if cluster.is_up(p(at)) && cluster.is_up(p(peer)) {
            cluster.report_suspicion(p(at), p(peer), PeerVerdict::Trust);
        }
    }
    for at in cluster.live_processes() {
        cluster.issue_command(at, Command::Join);
    }
    cluster.deliver_all(&mut rng);
    for (at, seen) in cluster.take_events() {
        monitor.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
    }
    let live: ProcessSet = cluster.live_processes().into_iter().collect();
    let views = views(&cluster);
    Ok(views.iter().all(|view| view.members == live && *view == views[0]))
}

#[test]
fn senior_changes_the_view_in_three_steps() {
    for size in 2..=6 {
        let mut cluster = cluster(size);
        command_and_drain(&mut cluster, size, Command::Leave);
        let others = u64::from(size) - 1;
        let kinds = ["wish", "propose", "accept", "install", "interrogate", "refuse"];
        let sent = kinds.map(|kind| cluster.sent_count(kind));
        assert_eq!(sent, [others, others, others, others, 0, 0]);
        let members: Vec<u32> = (1..size).collect();
        assert_eq!(views(&cluster), vec![view(2, &members); size as usize]);
    }
}

#[test]
fn new_proposer_interrogates_first() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(3), Command::Leave);
    cluster.deliver_at((p(3), p(1)), 0);
    // P2 accepts that P3 leaves. P1 learns of it, installs the view, and crashes before it informs
    // any process.
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    assert_eq!(cluster.process(p(1)).map(|it| it.view().clone()), Some(view(2, &[1, 2])));
    for at in [2, 3] {
        lose_all(&mut cluster, 1, at);
    }
    crash_and_drain(&mut cluster, 1);
    // P2 alone is not a majority of the second view. It asks P1, the only other member, and gets no
    // answer.
    assert_eq!(cluster.sent_count("interrogate"), 2 + 1);
    assert_eq!(views(&cluster), [view(2, &[1, 2]), view(2, &[1, 2])]);
}

#[test]
fn crash_of_senior_costs_two_more_steps() {
    let mut cluster = cluster(5);
    crash_and_drain(&mut cluster, 1);
    assert_eq!(views(&cluster), vec![view(2, &[2, 3, 4, 5]); 4]);
    assert_eq!(cluster.sent_count("interrogate"), 4);
    assert_eq!(cluster.sent_count("promise"), 3);
}

/// Separates two processes from the other three processes. The two processes decide no view. The
/// three processes decide a view without them. After the separation, all five join one view.
#[test]
fn minority_waits_and_rejoins() {
    let mut cluster = cluster(5);
    let (few, many) = ([1, 2], [3, 4, 5]);
    for (here, there) in [(&few[..], &many[..]), (&many, &few)] {
        for at in here {
            for peer in there {
                cluster.report_suspicion(p(*at), p(*peer), PeerVerdict::Suspect);
            }
        }
    }
    // No message passes between the two sides.
    let is_cut = |from: u32, to: u32| few.contains(&from) != few.contains(&to);
    let mut rng = SplitMix64(1);
    while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
        match is_cut(link.0.display_number(), link.1.display_number()) {
            true => cluster.lose_oldest(link),
            false => cluster.deliver(link, &mut rng),
        }
    }
    let (first, second) = (view(1, &[1, 2, 3, 4, 5]), view(2, &[3, 4, 5]));
    assert_eq!(views(&cluster), [&first, &first, &second, &second, &second].map(View::clone));
    for (at, peer) in few.into_iter().flat_map(|few| many.map(|many| (few, many))) {
        cluster.report_suspicion(p(at), p(peer), PeerVerdict::Trust);
        cluster.report_suspicion(p(peer), p(at), PeerVerdict::Trust);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    let views = views(&cluster);
    assert_eq!(views[0].members, ProcessSet::first_n(5));
    assert!(views.iter().all(|view| *view == views[0]), "{views:?}");
}

/// P1 proposes to remove P3. P2 suspects P1 and starts a proposal of its own, and P1 promises to
/// follow P2. So P1's proposal is refused when it arrives. Then P2 trusts P1 again and proposes
/// nothing, so P1 must repeat its proposal.
#[test]
fn refused_proposer_tries_again() {
    let mut cluster = cluster(3);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    pass_all(&mut cluster, &[(2, 1), (2, 3), (2, 3)]);
    cluster.issue_command(p(3), Command::Leave);
    pass_all(&mut cluster, &[(3, 1), (2, 1)]);
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Trust);
    assert_eq!(views(&cluster), vec![view(2, &[1, 2]); 3]);
}

#[test]
fn views_are_unique_and_converge() {
    for seed in 0..1000 {
        let size = 3 + seed as u32 % 4;
        assert_eq!(run(size, Variants::none(), 0, seed), Ok(true), "seed {seed}");
        assert!(run(size, Variants::none(), 1, seed).is_ok(), "seed {seed}, with one crash");
    }
}

#[test]
fn each_mistake_is_caught() {
    for switch in [VariantId::Minority, VariantId::TwoPhases] {
        let variants = Variants::none().with(switch);
        let caught = (0..2000).any(|seed| run(3, variants, 0, seed).is_err());
        assert!(caught, "{switch:?}");
    }
}

#[test]
fn users_learn_of_leaving_and_joining() {
    let mut cluster = cluster(3);
    let mut events_after = |command| {
        command_and_drain(&mut cluster, 2, command);
        let at_p2 = events(&mut cluster).into_iter().filter(|(at, _)| *at == 2);
        at_p2.map(|(_, event)| event).collect::<Vec<_>>()
    };
    assert_eq!(events_after(Command::Leave), [Event::Removed { view: view(2, &[1, 3]) }]);
    assert_eq!(events_after(Command::Join), [Event::Installed { view: view(3, &[1, 2, 3]) }]);
}

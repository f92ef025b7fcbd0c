//! Chang–Roberts on a ring that mends itself.

use std::collections::BTreeSet;

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::election::RepairedChangRoberts;
use tenure_algorithms::election::repaired_chang_roberts::Config;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, Order, ProcessId, Term, Verdict};

use crate::support::election::{beliefs, choices, elect, everybody, opinions, place_of, ranks};
use crate::support::{p, permutations};
use tenure_trace::{Dice, Seen, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ranks(ids))
}

fn stage(ids: &[u32]) -> Stage<RepairedChangRoberts> {
    Stage::alike(ids.len() as u32, Order::Reordered, ring(ids))
}

fn drain(stage: &mut Stage<RepairedChangRoberts>) {
    stage.drain(&mut Dice(0));
}

/// A process crashes, and all the others get to know.
fn dies(stage: &mut Stage<RepairedChangRoberts>, process: u32) {
    stage.crash(p(process));
    for peer in stage.live() {
        stage.suspicion(peer, p(process), Verdict::Suspect);
    }
}

/// The terms that anybody was told of, in their order.
fn terms(stage: &mut Stage<RepairedChangRoberts>) -> Vec<Term> {
    let term = |(_, seen)| match seen {
        Seen::Event(Event::Elected { term, .. }) => Some(term),
        _ => None,
    };
    let mut terms: Vec<Term> = stage.take_seen().into_iter().filter_map(term).collect();
    terms.dedup();
    terms
}

fn led(number: u64, leader: u32) -> Term {
    Term { number, leader: p(leader) }
}

#[test]
fn without_a_crash_it_sends_what_chang_roberts_sends_message_for_message() {
    for size in 1..=5 {
        permutations(size, |ids| {
            let plain =
                chang_roberts::Config { ranks: ranks(ids), ..chang_roberts::Config::plain(size) };
            for initiators in choices(size) {
                let order = Order::Fifo;
                let (first, _) =
                    elect::<ChangRoberts>(size, order, plain.clone(), &initiators, 0, 1);
                let (second, beliefs) =
                    elect::<RepairedChangRoberts>(size, order, ring(ids), &initiators, 0, 1);
                assert_eq!(first.sent(), second.sent(), "{ids:?} {initiators:?}");
                assert_eq!(beliefs, vec![place_of(size, ids); size as usize]);
            }
        });
    }
}

#[test]
fn any_order_of_delivery_and_duplicates_change_nothing() {
    for seed in 0..1000 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let order = Order::Reordered;
        let (_, beliefs) =
            elect::<RepairedChangRoberts>(5, order, ring(&ids), &everybody(5), 4, seed);
        assert_eq!(beliefs, [place_of(5, &ids); 5], "seed {seed}");
    }
}

/// stale messages are dropped, and a new term begins when the leader is suspected.
#[test]
fn when_the_leader_dies_the_largest_of_the_rest_leads_in_the_next_term() {
    let mut stage = stage(&[2, 4, 1, 3]);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(1, 2)]);
    dies(&mut stage, 2);
    drain(&mut stage);
    assert_eq!(beliefs(&mut stage), [Some(p(4)), None, Some(p(4)), Some(p(4))]);
    stage.command(p(3), Command::Elect);
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(3, 4)], "on the ring of three");
}

/// 3.14, 5.7: an orphan is removed by the first who suspects its owner, wherever it is.
#[test]
fn a_rank_whose_owner_died_is_removed_and_the_next_largest_wins() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.command(p(4), Command::Elect);
    dies(&mut stage, 4);
    drain(&mut stage);
    assert_eq!(beliefs(&mut stage), [Some(p(3)), Some(p(3)), Some(p(3)), None]);
}

/// Nobody has yet passed it on when they come to suspect its owner: the second lap tells.
#[test]
fn an_orphan_that_everybody_suspects_before_it_comes_is_removed_on_its_second_lap() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.command(p(4), Command::Elect);
    stage.crash(p(4));
    for peer in [1, 2, 3] {
        stage.suspicion(p(peer), p(4), Verdict::Suspect);
    }
    stage.pass((p(4), p(1)), 0);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(3)), 0);
    assert_eq!(stage.sent_of("election"), 4, "one lap");
    stage.pass((p(3), p(1)), 0);
    assert_eq!(stage.sent_of("election"), 5, "P1 begins a new term");
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(2, 3)]);
}

#[test]
fn a_rank_that_died_with_the_process_on_its_way_is_sent_again() {
    let mut stage = stage(&[4, 1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.crash(p(2));
    drain(&mut stage);
    assert_eq!(stage.sent_of("election"), 1);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    assert_eq!(stage.queue((p(1), p(3))).len(), 1);
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(1, 1)], "of the same term");
    assert_eq!((stage.sent_of("election"), stage.sent_of("elected")), (4, 3));
}

#[test]
fn an_announcement_that_died_on_its_way_is_sent_again() {
    let mut stage = stage(&[4, 1, 2, 3]);
    stage.command(p(1), Command::Elect);
    (1..=4).for_each(|at| stage.pass((p(at), p(at % 4 + 1)), 0));
    stage.crash(p(2));
    drain(&mut stage);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    drain(&mut stage);
    assert_eq!(beliefs(&mut stage), [Some(p(1)), None, Some(p(1)), Some(p(1))]);
}

#[test]
fn a_crash_of_somebody_else_costs_one_message_and_no_election() {
    let mut stage = stage(&[4, 1, 2, 3]);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    let before = stage.total_sent();
    terms(&mut stage);
    dies(&mut stage, 3);
    drain(&mut stage);
    assert_eq!(stage.total_sent(), before + 1);
    assert_eq!(terms(&mut stage), []);
}

/// 3.4: f adjacent crashes survive, and here f is N − 1.
#[test]
fn of_five_the_last_that_is_left_leads() {
    for first in 0..5 {
        let mut stage = stage(&[1, 2, 3, 4, 5]);
        stage.command(p(1), Command::Elect);
        drain(&mut stage);
        let rest: Vec<u32> = (0..4).map(|step| (first + step) % 5 + 1).collect();
        let last = (first + 4) % 5 + 1;
        rest.iter().for_each(|process| dies(&mut stage, *process));
        stage.command(p(last), Command::Elect);
        drain(&mut stage);
        assert_eq!(beliefs(&mut stage)[p(last).index()], Some(p(last)));
    }
}

#[test]
fn whoever_comes_back_begins_a_term_that_is_newer_than_all_that_the_others_know_of() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    dies(&mut stage, 2);
    for _ in 0..3 {
        stage.command(p(1), Command::Elect);
        drain(&mut stage);
    }
    assert_eq!(terms(&mut stage).last(), Some(&led(4, 4)));
    stage.recover(p(2));
    for peer in [1, 3, 4] {
        stage.suspicion(p(peer), p(2), Verdict::Trust);
    }
    drain(&mut stage);
    assert_eq!((stage.sent_of("query"), stage.sent_of("answer")), (3, 3));
    assert_eq!(beliefs(&mut stage), [Some(p(4)); 4]);
    assert!(stage.process(p(2)).unwrap().highest_term() > 4);
}

/// I-66: a recovered process with the highest rank takes over.
#[test]
fn the_largest_that_comes_back_leads_in_a_new_term() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    dies(&mut stage, 4);
    drain(&mut stage);
    stage.recover(p(4));
    for peer in [1, 2, 3] {
        stage.suspicion(p(peer), p(4), Verdict::Trust);
    }
    drain(&mut stage);
    assert_eq!(beliefs(&mut stage), [Some(p(4)); 4]);
    assert!(stage.process(p(1)).unwrap().highest_term() > 2);
}

/// What it granted in a term would else be granted again.
#[test]
fn a_leader_that_comes_back_unnoticed_leads_in_a_new_term_and_not_in_the_old_one() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(3), Command::Elect);
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(1, 3)]);
    stage.crash(p(3));
    stage.recover(p(3));
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(2, 3)]);
    // Nor does a rank that its earlier life has sent, and that comes round only now.
    stage.command(p(3), Command::Elect);
    stage.crash(p(3));
    stage.recover(p(3));
    drain(&mut stage);
    assert_eq!(terms(&mut stage), [led(4, 3)]);
}

/// I-61, 5.7 *wrong timeouts*: one more election with the same winner.
#[test]
fn whoever_suspects_the_leader_in_vain_begins_a_term_and_believes_in_it_when_it_trusts() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    terms(&mut stage);
    stage.suspicion(p(2), p(4), Verdict::Suspect);
    drain(&mut stage);
    let four = Some(p(4));
    assert_eq!(beliefs(&mut stage), [four, None, four, four]);
    stage.suspicion(p(2), p(4), Verdict::Trust);
    assert_eq!(beliefs(&mut stage)[1], four);
    assert_eq!(stage.process(p(2)).unwrap().highest_term(), 2, "one more term");
}

#[test]
fn a_process_that_was_skipped_in_vain_learns_of_it_when_it_is_trusted_and_wins() {
    let mut stage = stage(&[1, 2, 3, 4]);
    stage.suspicion(p(3), p(4), Verdict::Suspect);
    stage.command(p(1), Command::Elect);
    drain(&mut stage);
    let three = Some(p(3));
    assert_eq!(beliefs(&mut stage), [three, three, three, None]);
    stage.suspicion(p(3), p(4), Verdict::Trust);
    drain(&mut stage);
    assert_eq!(beliefs(&mut stage), [Some(p(4)); 4]);
}

#[test]
fn it_is_the_fault_tolerant_variant_of_chang_roberts_also_as_the_leader_of_a_lock() {
    let variants = vec!["fault-tolerant".to_string()];
    let parameters = Parameters { variants, ..Parameters::plain(4) };
    for (name, found) in [
        ("chang-roberts", "repaired-chang-roberts"),
        ("fifo:chang-roberts", "fifo:repaired-chang-roberts"),
        ("coordinated:chang-roberts", "coordinated:repaired-chang-roberts"),
    ] {
        assert_eq!(catalogue::card(name, &parameters).unwrap().name, found);
    }
    for (mutex, election, found) in [
        ("coordinated:chang-roberts", "chang-roberts", "coordinated:repaired-chang-roberts"),
        ("lamport", "chang-roberts", "lamport beside repaired-chang-roberts"),
        ("token-ring", "chang-roberts", "repaired-ring beside repaired-chang-roberts"),
    ] {
        assert_eq!(catalogue::office_card(mutex, election, &parameters).unwrap().name, found);
    }
    assert!(catalogue::office_card("lamport", "bully", &parameters).is_err());
    let plain = catalogue::card("chang-roberts", &Parameters::plain(4)).unwrap();
    assert_eq!(plain.name, "chang-roberts");
    assert!(plain.variants.iter().any(|variant| variant.name == "fault-tolerant"));
}

/// A stage with a detector that tells the truth sooner or later, and is wrong now and then.
struct Storm {
    stage: Stage<RepairedChangRoberts>,
    dice: Dice,
    /// Who suspects whom.
    suspected: BTreeSet<(ProcessId, ProcessId)>,
}

impl Storm {
    /// Where a detector would say something new: the observer, and of whom it speaks.
    fn untold(&self) -> Vec<(ProcessId, ProcessId)> {
        let everybody = self.stage.everybody();
        let pairs = self.stage.live().into_iter().flat_map(|observer| {
            everybody
                .iter()
                .filter(move |peer| **peer != observer)
                .map(move |peer| (observer, *peer))
        });
        pairs
            .filter(|(at, peer)| self.suspected.contains(&(*at, *peer)) == self.stage.is_up(*peer))
            .collect()
    }

    /// The detector of one process changes its mind about another.
    fn tell(&mut self, (observer, peer): (ProcessId, ProcessId)) {
        let verdict = match self.suspected.remove(&(observer, peer)) {
            true => Verdict::Trust,
            false => Verdict::Suspect,
        };
        if verdict == Verdict::Suspect {
            self.suspected.insert((observer, peer));
        }
        self.stage.suspicion(observer, peer, verdict);
    }

    fn deliver(&mut self) {
        if let Some(link) = self.dice.pick(&self.stage.busy_links()).copied() {
            self.stage.deliver(link, &mut self.dice);
        }
    }

    /// Somebody crashes, comes back, starts an election or is wrong about another.
    fn fault(&mut self) {
        let at = *self.dice.pick(&self.stage.everybody()).expect("there are some");
        let other = *self.dice.pick(&self.stage.everybody()).expect("there are some");
        match self.dice.below(4) {
            0 if self.stage.is_up(at) => {
                self.stage.crash(at);
                self.suspected.retain(|(observer, _)| *observer != at);
            }
            1 if !self.stage.is_up(at) => self.stage.recover(at),
            2 if self.stage.is_up(at) => self.stage.command(at, Command::Elect),
            3 if self.stage.is_up(at) && at != other => self.tell((at, other)),
            _ => {}
        }
    }

    /// Delivers everything, and lets the detectors tell the truth, in any order.
    fn calm(&mut self) {
        for _ in 0..100_000 {
            let untold = self.untold();
            match self.dice.pick(&untold).copied() {
                Some(pair) if self.dice.one_in(3) => self.tell(pair),
                None if self.stage.busy_links().is_empty() => return,
                _ => self.deliver(),
            }
        }
        panic!("elections breed elections");
    }
}

#[test]
fn after_crashes_returns_and_mistakes_in_any_order_all_agree_on_the_largest_that_is_up() {
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let size = 2 + dice.below(4) as u32;
        let mut ids: Vec<u32> = (1..=size).collect();
        dice.shuffle(&mut ids);
        let mut storm = Storm { stage: stage(&ids), dice, suspected: BTreeSet::new() };
        for _ in 0..80 {
            match storm.dice.below(8) {
                0 => storm.fault(),
                1 => {
                    let untold = storm.untold();
                    if let Some(pair) = storm.dice.pick(&untold).copied() {
                        storm.tell(pair);
                    }
                }
                _ => storm.deliver(),
            }
        }
        if storm.stage.live().is_empty() {
            continue;
        }
        storm.calm();
        let live = storm.stage.live();
        let largest = live.iter().max_by_key(|at| ids[at.index()]).copied();
        let believed = opinions(&mut storm.stage);
        let some = believed[live[0].index()].and(largest);
        assert!(live.iter().all(|at| believed[at.index()] == some), "seed {seed}: {believed:?}");
        storm.stage.command(live[0], Command::Elect);
        storm.calm();
        let believed = beliefs(&mut storm.stage);
        assert!(live.iter().all(|at| believed[at.index()] == largest), "seed {seed}: {believed:?}");
    }
}

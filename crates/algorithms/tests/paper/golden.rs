//! The stories under `tests/golden`, one folder an algorithm.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::Coordinated;
use tenure_algorithms::election::{
    Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, ItaiRodeh, LeLann, Raft,
    RepairedChangRoberts, bully, chang_roberts, dolev_klawe_rodeh, franklin, hirschberg_sinclair,
    lelann, raft, repaired_chang_roberts,
};
use tenure_algorithms::mutex::dijkstra_ring::State;
use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, DijkstraRing, EdgeChasing, KMutex, Lamport, Maekawa, Majority,
    MisraRing, NaimiTrehel, NishioLiManning, Raymond, RepairedRing, RicartAgrawala, SuzukiKasami,
    TokenRing, TolerantRicartAgrawala, carvalho_roucairol, central, dijkstra_ring, edge_chasing,
    k_mutex, lamport, maekawa, majority, misra_ring, raymond, repaired_ring, ricart_agrawala,
    token_ring,
};
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Delay, Group, Rank, TICKS_PER_UNIT};
use tenure_trace::golden;

use crate::support::p;

const TWO: NonZeroU32 = NonZeroU32::new(2).unwrap();

#[test]
fn central() {
    let config = central::Config { coordinator: p(5), ..central::Config::default() };
    golden::<Central>("tests/golden/central", |_| config.clone());
}

#[test]
fn ricart_agrawala() {
    let config = |_: Group| ricart_agrawala::Config::default();
    golden::<RicartAgrawala>("tests/golden/ricart_agrawala", config);
}

#[test]
fn tolerant_ricart_agrawala() {
    golden::<TolerantRicartAgrawala>("tests/golden/tolerant_ricart_agrawala", |_| ());
}

#[test]
fn nishio_li_manning() {
    golden::<NishioLiManning>("tests/golden/nishio_li_manning", |_| ());
}

#[test]
fn k_mutex() {
    golden::<KMutex>("tests/golden/k_mutex", |_| k_mutex::Config::at_most(TWO));
}

#[test]
fn carvalho_roucairol() {
    let config = |_: Group| carvalho_roucairol::Config::default();
    golden::<CarvalhoRoucairol>("tests/golden/carvalho_roucairol", config);
}

#[test]
fn carvalho_roucairol_without_asking_again() {
    let variants = Variants::none().with(carvalho_roucairol::Switch::NoRerequest);
    let config = |_: Group| carvalho_roucairol::Config { variants };
    golden::<CarvalhoRoucairol>("tests/golden/carvalho_roucairol_no_rerequest", config);
}

#[test]
fn lamport() {
    golden::<Lamport>("tests/golden/lamport", |_| lamport::Config::default());
}

#[test]
fn maekawa_on_pairs() {
    let config = |group: Group| maekawa::Config::of(Kind::Pairs, group.size()).unwrap();
    golden::<Maekawa>("tests/golden/maekawa", config);
    golden::<Maekawa>("tests/golden/maekawa_duplicate", config);
}

#[test]
fn majority() {
    let config = |group: Group| majority::Config::of(Kind::Majority, group.size()).unwrap();
    golden::<Majority>("tests/golden/majority", config);
}

/// All three are privileged at the start.
#[test]
fn dijkstra_ring() {
    let start = [State { own: 1, left: 1 }, State { own: 2, left: 0 }, State { own: 1, left: 2 }];
    let config =
        |_| dijkstra_ring::Config { start: start.into(), ..dijkstra_ring::Config::default() };
    golden::<DijkstraRing>("tests/golden/dijkstra_ring", config);
}

#[test]
fn repaired_ring() {
    let config = |_: Group| repaired_ring::Config::default();
    golden::<RepairedRing>("tests/golden/repaired_ring", config);
}

#[test]
fn edge_chasing() {
    let config = |_: Group| edge_chasing::Config::default();
    golden::<EdgeChasing>("tests/golden/edge_chasing", config);
}

#[test]
fn edge_chasing_with_mistakes() {
    for (folder, switch) in [
        ("edge_chasing_no_detection", edge_chasing::Switch::NoDetection),
        ("edge_chasing_unnumbered_abort", edge_chasing::Switch::UnnumberedAbort),
    ] {
        let variants = Variants::none().with(switch);
        let config = |_: Group| edge_chasing::Config { variants };
        golden::<EdgeChasing>(&format!("tests/golden/{folder}"), config);
    }
}

#[test]
fn misra_ring() {
    golden::<MisraRing>("tests/golden/misra_ring", |_| misra_ring::Config::default());
}

#[test]
fn suzuki_kasami() {
    golden::<SuzukiKasami>("tests/golden/suzuki_kasami", |_| ());
}

#[test]
fn naimi_trehel() {
    golden::<NaimiTrehel>("tests/golden/naimi_trehel", |_| ());
}

#[test]
fn raymond_on_a_path() {
    let config = |group: Group| raymond::Config::of(Shape::Path, group.size());
    golden::<Raymond>("tests/golden/raymond", config);
}

#[test]
fn token_ring() {
    golden::<TokenRing>("tests/golden/token_ring", |_| token_ring::Config::default());
}

fn bully_config(group: Group) -> bully::Config {
    bully::Config::plain(group.size(), TICKS_PER_UNIT)
}

#[test]
fn bully() {
    golden::<Bully>("tests/golden/bully", bully_config);
}

#[test]
fn bully_without_terms() {
    let variants = Variants::none().with(bully::Switch::NoTerms);
    let config = |group| bully::Config { variants, ..bully_config(group) };
    golden::<Bully>("tests/golden/bully_without_terms", config);
}

#[test]
fn chang_roberts() {
    let config = |group: Group| chang_roberts::Config::plain(group.size());
    golden::<ChangRoberts>("tests/golden/chang_roberts", config);
}

#[test]
fn chang_roberts_on_a_decreasing_ring() {
    let config = |group: Group| chang_roberts::Config {
        ranks: (1..=group.size()).rev().map(Rank::of_id).collect(),
        variants: Variants::none(),
    };
    golden::<ChangRoberts>("tests/golden/chang_roberts_decreasing", config);
}

#[test]
fn chang_roberts_with_28() {
    let config = |_| chang_roberts::Config {
        ranks: [17, 9, 28, 3, 24, 15].map(Rank::of_id).into(),
        variants: Variants::none(),
    };
    golden::<ChangRoberts>("tests/golden/chang_roberts_28", config);
}

#[test]
fn chang_roberts_that_wait_for_ever() {
    let config = |_| chang_roberts::Config {
        ranks: [3, 1, 2].map(Rank::of_id).into(),
        variants: Variants::none(),
    };
    golden::<ChangRoberts>("tests/golden/chang_roberts_stuck", config);
}

#[test]
fn repaired_chang_roberts() {
    let config = |group: Group| repaired_chang_roberts::Config::plain(group.size());
    golden::<RepairedChangRoberts>("tests/golden/repaired_chang_roberts", config);
}

#[test]
fn hirschberg_sinclair() {
    let config = |group: Group| hirschberg_sinclair::Config::plain(group.size());
    golden::<HirschbergSinclair>("tests/golden/hirschberg_sinclair", config);
}

#[test]
fn hirschberg_sinclair_of_eight() {
    let config =
        |_| hirschberg_sinclair::Config { ranks: [8, 1, 5, 2, 7, 3, 6, 4].map(Rank::of_id).into() };
    golden::<HirschbergSinclair>("tests/golden/hirschberg_sinclair_eight", config);
}

#[test]
fn lelann() {
    let config = |group: Group| lelann::Config::plain(group.size());
    golden::<LeLann>("tests/golden/lelann", config);
}

#[test]
fn lelann_forward_first() {
    let variants = Variants::none().with(lelann::Switch::ForwardFirst);
    let config = |group: Group| lelann::Config { variants, ..lelann::Config::plain(group.size()) };
    golden::<LeLann>("tests/golden/lelann_forward_first", config);
}

#[test]
fn dolev_klawe_rodeh() {
    let config = |group: Group| dolev_klawe_rodeh::Config::plain(group.size());
    golden::<DolevKlaweRodeh>("tests/golden/dolev_klawe_rodeh", config);
}

#[test]
fn franklin() {
    let config = |group: Group| franklin::Config::plain(group.size());
    golden::<Franklin>("tests/golden/franklin", config);
}

#[test]
fn itai_rodeh() {
    golden::<ItaiRodeh>("tests/golden/itai_rodeh", |_| ());
}

fn raft_config(group: Group) -> raft::Config {
    raft::Config::plain(group.size(), TICKS_PER_UNIT)
}

#[test]
fn raft() {
    golden::<Raft>("tests/golden/raft", raft_config);
}

#[test]
fn raft_that_forgets_its_vote() {
    let variants = Variants::none().with(raft::Switch::ForgottenVote);
    let config = |group| raft::Config { variants, ..raft_config(group) };
    golden::<Raft>("tests/golden/raft_forgotten_vote", config);
}

#[test]
fn coordinated() {
    golden::<Coordinated<Bully>>("tests/golden/coordinated", bully_config);
}

#[test]
fn fifo() {
    let config = |_: Group| fifo::Config {
        resend: Delay::units(3),
        ..fifo::Config::around(central::Config::default())
    };
    golden::<Fifo<Central>>("tests/golden/fifo", config);
}

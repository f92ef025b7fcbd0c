//! Tests of wrong suspicions. A failure detector that is only eventually perfect may suspect a live
//! process. A composition, such as a lock at an elected leader, keeps its promises if its card
//! permits wrong suspicions. The card of a lock at a leader without a lease does not permit them:
//! this lock needs a detector that makes no mistakes.

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, Checkable, Judgement};
use tenure_core::monitors::{LeaderScope, MutualExclusion, OneLeader};
use tenure_core::{
    Agreement, Algorithm, Card, ChannelOrder, DetectorClass, Election, Mutex, Property,
    SystemModel, Timing,
};

/// Maximum number of states of a search. If a lock without a lease violates a property, the search
/// finds the violation within a tenth of this number.
const MAX_STATES: u64 = 20_000;

/// Visitor of the catalogue. It checks an algorithm with two processes and one wrong suspicion. It
/// returns the judgement of the algorithm's safety property, or `None` if the algorithm does not
/// promise this property.
struct Suspect;

impl Suspect {
    fn check<P: Algorithm + Checkable>(config: P::Config, card: &Card) -> Check<P> {
        let check = Check::<P>::with_protocol_config(2, config)
            .max_false_suspicions(1)
            .max_term(2)
            .in_flight_per_link(4);
        let check = if card.order == ChannelOrder::Fifo { check.fifo() } else { check };
        check.max_states(MAX_STATES)
    }
}

impl AlgorithmVisitor for Suspect {
    type Output = Option<Judgement>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Option<Judgement> {
        let card = P::card(&config, 2);
        let exclusion = Property::MutualExclusion;
        card.promises.contains(&exclusion).then(|| {
            let check = Suspect::check::<P>(config, &card).request_limits(1);
            check.always(MutualExclusion::new()).run().judgement_of(exclusion.name())
        })
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Option<Judgement> {
        let card = P::card(&config, 2);
        let one = Property::OneLeaderAtATime;
        card.promises.contains(&one).then(|| {
            let check = Suspect::check::<P>(config, &card);
            check.always(OneLeader::new(LeaderScope::Overall)).run().judgement_of(one.name())
        })
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) -> Option<Judgement> {
        None
    }
}

/// Returns true if the algorithm keeps its promises although a live process may be suspected.
fn permits_wrong_suspicions(card: &Card) -> bool {
    let around = SystemModel { false_suspicion: true, ..card.fault_free_system_model() };
    card.unmet_assumptions(&around).next().is_none()
}

fn parameters() -> Parameters {
    Parameters { sequence_number_modulus: 1, ..Parameters::with_defaults(2) }
}

fn judge(name: &str) -> Option<Judgement> {
    catalogue::visit(name, &parameters(), Suspect).expect("a name of the catalogue")
}

/// Returns the asynchronous compositions that do not use the reliable channel. A composition that
/// uses the channel is the same algorithm with more states.
fn compositions() -> impl Iterator<Item = (&'static str, Card)> {
    let names = catalogue::composition_names().filter(|name| !name.starts_with("fifo:"));
    let cards = names.filter_map(|name| Some((name, catalogue::card(name, &parameters()).ok()?)));
    cards.filter(|(_, card)| card.timing == Timing::Asynchronous)
}

#[test]
fn compositions_keep_promises_despite_permitted_suspicion() {
    let mut judged = 0;
    for (name, _) in compositions().filter(|(_, card)| permits_wrong_suspicions(card)) {
        let judgement = judge(name);
        assert_ne!(judgement, Some(Judgement::Violated), "{name}");
        judged += u32::from(judgement.is_some());
    }
    assert!(judged > 5, "{judged} compositions promise a judged property");
}

/// Locks at a leader without a lease do not tolerate wrong suspicions. With one wrong suspicion, at
/// least ten of these locks admit two processes.
#[test]
fn wrong_suspicion_breaks_lock_at_leader_without_lease() {
    let mut broken = 0;
    for (name, card) in compositions() {
        let is_without_lease = name.starts_with("coordinated:") && card.timed_promises.is_empty();
        assert!(!is_without_lease || card.detection == DetectorClass::Perfect, "{name}");
        if is_without_lease {
            broken += u32::from(judge(name) == Some(Judgement::Violated));
        }
    }
    assert!(broken >= 10, "{broken} locks admit two processes");
    for name in ["coordinated:repaired-chang-roberts", "coordinated:restarting-chang-roberts"] {
        assert_eq!(judge(name), Some(Judgement::Violated), "{name}");
    }
}

//! What the books say about a run, to be held beside what it measured.

use tenure_core::quorum::Quorums;
use tenure_core::tree::Tree;
use tenure_core::{Cost, Layer, ProcessId, Service};
use tenure_sim::{Entries, Initiators, Pattern, Report, Settings, theory};

use super::plan::Plan;

/// What the literature says of an algorithm, in hops of messages and in numbers of entries.
pub(crate) struct Page {
    name: &'static str,
    /// From request to entry, nobody else wanting to.
    pub(crate) entry: &'static str,
    /// From an exit to the next entry, somebody waiting.
    pub(crate) synchronisation: &'static str,
    /// The most entries of one other while a process waits.
    pub(crate) bypass: &'static str,
}

const fn page(
    name: &'static str,
    entry: &'static str,
    synchronisation: &'static str,
    bypass: &'static str,
) -> Page {
    Page { name, entry, synchronisation, bypass }
}

const PAGES: &[Page] = &[
    page("central", "2 (0 at the coordinator)", "2", "no bound"),
    page("token-ring", "0…N", "1…N", "1"),
    page("lamport", "2", "1", "2"),
    page("ricart-agrawala", "2", "1", "2"),
    page("carvalho-roucairol", "0 or 2", "1", "no bound"),
    page("maekawa", "2", "2", "not known"),
    page("suzuki-kasami", "0 or 2", "1", "no bound"),
    page("raymond", "0…2D", "1…D", "no bound"),
    page("naimi-trehel", "0…N", "1", "no bound"),
    page("k-mutex", "2", "1", "not known"),
    page("misra-ring", "0…N", "1…N", "1"),
    page("repaired-ring", "0…N", "1…N", "1"),
    page("majority", "2", "2", "not known"),
    page("nishio-li-manning", "0 or 2", "1", "no bound"),
    page("tolerant-ricart-agrawala", "2", "1", "2"),
    page("dijkstra-ring", "0…N", "1…N", "1"),
];

/// What the literature says of an algorithm, when it has a page there.
pub(crate) fn look_up(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name == name)
}

/// A number of messages that theory expects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// Per entry, or per election.
    pub(crate) messages: f64,
    /// What kind of number it is.
    pub(crate) says: Kind,
}

/// What kind of number theory gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// That many in every run.
    Exact,
    /// That many on average over what is drawn.
    Mean,
    /// Never more.
    Most,
    /// Never fewer.
    Least,
}

impl Kind {
    /// The words before the number.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Kind::Exact => "exactly",
            Kind::Mean => "on average",
            Kind::Most => "at most",
            Kind::Least => "at least",
        }
    }
}

/// Messages per entry or election that theory expects of these runs; nothing where it has no
/// formula, or faults or variants are at work that it knows nothing of.
pub(crate) fn expected(plan: &Plan) -> Option<Expected> {
    let settings = plan.common();
    if !is_plain(plan) {
        return None;
    }
    match plan.card.service {
        Service::Election => election(plan, settings),
        _ => entry(plan, settings),
    }
}

/// Whether nothing goes wrong and the algorithm is the one of the books.
fn is_plain(plan: &Plan) -> bool {
    let settings = plan.common();
    settings.faults.is_empty()
        && settings.down.is_empty()
        && settings.limits.until.is_none()
        && !settings.network.loss.possible()
        && !settings.network.duplication.possible()
        && plan.parameters.variants.is_empty()
}

fn entry(plan: &Plan, settings: &Settings) -> Option<Expected> {
    let n = plan.size();
    let others = f64::from(n - 1);
    let locking = settings.workload.locking.as_ref()?;
    let sequential = matches!(locking.pattern, Pattern::Sequential { .. });
    let alike = matches!(locking.entries, Entries::Each(each) if each > 0);
    let messages = |messages, says| Some(Expected { messages, says });
    // Whether a figure that is a mean over processes comes out exactly.
    let (spread, known) = if sequential { (Kind::Mean, true) } else { (Kind::Exact, alike) };
    match plan.card.name.as_str() {
        "lamport" => messages(3.0 * others, Kind::Exact),
        "ricart-agrawala" => messages(2.0 * others, Kind::Exact),
        "central" if known => messages(3.0 * others / f64::from(n), spread),
        "maekawa" if known => {
            let quorums = Quorums::of(plan.parameters.quorums, n).ok()?;
            let sizes = (0..n).map(|i| f64::from(quorums.quorum(ProcessId(i)).len() - 1));
            let votes = 3.0 * sizes.sum::<f64>() / f64::from(n);
            messages(votes, if sequential { Kind::Mean } else { Kind::Least })
        }
        "carvalho-roucairol" if sequential => {
            messages(theory::carvalho_roucairol_mean(n), Kind::Mean)
        }
        "suzuki-kasami" if sequential => messages(theory::suzuki_kasami_mean(n), Kind::Mean),
        "raymond" if sequential => {
            let tree = Tree::of(plan.parameters.tree, n);
            messages(theory::raymond_mean(&tree), Kind::Mean)
        }
        "naimi-trehel" if sequential => messages(theory::naimi_trehel_mean(n), Kind::Mean),
        _ => None,
    }
}

fn election(plan: &Plan, settings: &Settings) -> Option<Expected> {
    let n = plan.size();
    let name = plan.card.name.as_str();
    let messages = |messages, says| Some(Expected { messages, says });
    let by_all = matches!(settings.workload.initiators, Some(Initiators::All));
    match name {
        "lelann" if n > 1 => return messages(f64::from(n) * f64::from(n), Kind::Exact),
        "hirschberg-sinclair" if by_all => {
            return messages(theory::hirschberg_sinclair_bound(n) as f64, Kind::Most);
        }
        "dolev-klawe-rodeh" => {
            return messages(theory::dolev_klawe_rodeh_bound(n) as f64, Kind::Most);
        }
        "franklin" => return messages(theory::franklin_bound(n) as f64, Kind::Most),
        "chang-roberts" => {}
        _ => return None,
    }
    if by_all && plan.draws_ids() {
        return messages(theory::chang_roberts_mean(n), Kind::Mean);
    }
    if plan.draws_ids() {
        return None;
    }
    messages(chang_roberts(plan, settings)? as f64, Kind::Exact)
}

/// On this very ring.
fn chang_roberts(plan: &Plan, settings: &Settings) -> Option<u64> {
    let n = plan.size();
    // Only the order matters, and weights are not needed for it.
    let ranks: Vec<_> = (0..n).map(|place| settings.rank(ProcessId(place))).collect();
    let mut sorted: Vec<usize> = (0..ranks.len()).collect();
    sorted.sort_unstable_by_key(|place| ranks[*place]);
    let mut ids = vec![0; ranks.len()];
    for (id, place) in (1..).zip(&sorted) {
        ids[*place] = id;
    }
    match settings.workload.initiators.as_ref()? {
        Initiators::All => Some(theory::chang_roberts(&ids)),
        Initiators::Listed(listed) => {
            let [initiator] = listed[..] else { return None };
            let largest = u32::try_from(*sorted.last()?).ok()?;
            let hops = (largest + n - initiator.0) % n;
            Some(theory::chang_roberts_single(n, hops))
        }
    }
}

/// The messages of one run that theory predicts exactly for the ring that was drawn.
pub(crate) fn predicted(plan: &Plan, settings: &Settings) -> Option<u64> {
    let plain = is_plain(plan) && plan.draws_ids() && plan.card.name == "chang-roberts";
    if plain { chang_roberts(plan, settings) } else { None }
}

/// Whether a figure lies outside of what the card says of all that happens in a run. A formula
/// that goes on behind a comma speaks of something besides, a change of leader for example.
pub(crate) fn is_outside(cost: &Cost, measured: f64) -> bool {
    let below = measured < cost.least as f64 - 1e-9;
    let above = cost.most.is_some_and(|most| measured > most as f64 + 1e-9);
    !cost.formula.contains(',') && (below || above)
}

/// Messages per entry, or per election, of a run: those of the lock or of the election itself,
/// not of what it stands on.
pub(crate) fn measured(plan: &Plan, report: &Report) -> f64 {
    match plan.card.service {
        Service::Election => report.metrics.sent_in(Layer::Election) as f64,
        _ => report.metrics.messages_per_entry(Layer::Mutex),
    }
}

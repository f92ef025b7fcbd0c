//! What the books say about a run, to be held beside what it measured.

use tenure_core::quorum::Quorums;
use tenure_core::tree::Tree;
use tenure_core::{Cost, Layer, ProcessId, Service, TICKS_PER_UNIT};
use tenure_sim::{Entries, Initiators, Pattern, Report, Settings, Span, theory};

use super::plan::Plan;

/// What the literature says of an algorithm, in hops of messages and in numbers of entries.
pub(crate) struct Page {
    name: &'static str,
    /// From request to entry, nobody else wanting to.
    pub(crate) entry: &'static str,
    /// From an exit to the next entry, somebody waiting.
    pub(crate) synchronisation: Handing,
    /// The most entries of one other while a process waits.
    pub(crate) bypass: &'static str,
    /// Whether requests are served in the order in which one happened before the other.
    pub(crate) order: &'static str,
}

/// How many messages, one after the other, hand the critical section on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// So many.
    Hops(u32),
    /// From the next on the ring to all the way round.
    Ring,
    /// From a neighbour in the tree to its diameter.
    Tree,
}

impl Handing {
    /// The same in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Handing::Hops(1) => "1",
            Handing::Hops(_) => "2",
            Handing::Ring => "1…N",
            Handing::Tree => "1…D",
        }
    }

    /// One number, or the least and the most, in a group that is planned.
    fn ends(self, plan: &Plan) -> Vec<f64> {
        match self {
            Handing::Hops(hops) => vec![f64::from(hops)],
            Handing::Ring => vec![1.0, f64::from(plan.size())],
            Handing::Tree => {
                let diameter = Tree::of(plan.parameters.tree, plan.size()).diameter();
                vec![1.0, f64::from(diameter)]
            }
        }
    }
}

const fn page(
    name: &'static str,
    [entry, bypass, order]: [&'static str; 3],
    synchronisation: Handing,
) -> Page {
    Page { name, entry, synchronisation, bypass, order }
}

const PAGES: &[Page] = &[
    page(
        "central",
        ["2 (0 at the coordinator)", "no bound", "but for what users say"],
        Handing::Hops(2),
    ),
    page("token-ring", ["0…N", "1", "no"], Handing::Ring),
    page("lamport", ["2", "2", "if users pass its clock on"], Handing::Hops(1)),
    page("ricart-agrawala", ["2", "2", "if users pass its clock on"], Handing::Hops(1)),
    page("carvalho-roucairol", ["0 or 2", "no bound", "no"], Handing::Hops(1)),
    page("maekawa", ["2", "not known", "no"], Handing::Hops(2)),
    page("suzuki-kasami", ["0 or 2", "no bound", "no"], Handing::Hops(1)),
    page("raymond", ["0…2D", "no bound", "no"], Handing::Tree),
    page("naimi-trehel", ["0…N", "no bound", "no"], Handing::Hops(1)),
    page("k-mutex", ["2", "not known", "not known"], Handing::Hops(1)),
    page("misra-ring", ["0…N", "1", "no"], Handing::Ring),
    page("repaired-ring", ["0…N", "1", "no"], Handing::Ring),
    page("majority", ["2", "not known", "no"], Handing::Hops(2)),
    page("nishio-li-manning", ["0 or 2", "no bound", "no"], Handing::Hops(1)),
    page("tolerant-ricart-agrawala", ["2", "2", "not known"], Handing::Hops(1)),
    page("dijkstra-ring", ["0…N", "1", "no"], Handing::Ring),
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

/// Delays that theory expects of these runs, in virtual units: from an exit to the next entry, or
/// from the start of an election until all know its end. One number, or the least and the most;
/// none where messages take no fixed time, or theory has none.
pub(crate) fn delays(plan: &Plan) -> Vec<f64> {
    let settings = plan.common();
    let latency = settings.network.latency.usual();
    if !is_plain(plan) || !latency.is_constant() || settings.time.step != Span::ZERO {
        return Vec::new();
    }
    let hops = match plan.card.service {
        Service::Election => hops_to_elect(plan, settings),
        _ => look_up(&plan.card.name).map(|page| page.synchronisation.ends(plan)),
    };
    let unit = latency.most().map_or(0.0, |ticks| ticks as f64 / TICKS_PER_UNIT as f64);
    hops.into_iter().flatten().map(|hops| hops * unit).collect()
}

/// Where all start at once: a lap for every rank, and one more to announce the largest.
fn hops_to_elect(plan: &Plan, settings: &Settings) -> Option<Vec<f64>> {
    let n = f64::from(plan.size());
    if !matches!(settings.workload.initiators, Some(Initiators::All)) {
        return None;
    }
    match plan.card.name.as_str() {
        "lelann" => Some(vec![n]),
        "chang-roberts" => Some(vec![2.0 * n - 1.0]),
        "bully" => Some(vec![1.0]),
        _ => None,
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

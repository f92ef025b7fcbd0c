//! The algorithm OM(m) of L. Lamport, R. Shostak and M. Pease, *The Byzantine generals problem*,
//! ACM TOPLAS 4(3), 1982. The search follows the recursive definition of OM(m), and computes sets
//! of outcomes instead of sending messages.
//!
//! The instances of OM(m − 1) inside OM(m) are independent, because a liar may lie differently in
//! each of them. Therefore the possible outcomes of OM(m) are all combinations of the possible
//! outcomes of its instances, and the search need not enumerate runs.

use std::collections::BTreeSet;

/// Decisions of the generals, by the number of the general. The value is true for *attack*. The
/// commander and the liars have the value `None`, because IC1 and IC2 do not restrict how they act.
type Outcome = Vec<Option<bool>>;

/// Rule by which a lieutenant decides in the last step of OM(m). `Majority` is the correct rule,
/// and the other rules are mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The lieutenant takes the majority of the commander's value and the reports.
    Majority,
    /// The lieutenant takes the commander's value, and ignores the reports.
    Direct,
    /// The lieutenant takes the majority of the reports, and ignores the commander's value.
    Reports,
}

/// Verdicts on the conditions IC1 and IC2, for all sets of at most `m` liars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdicts {
    /// IC1: all loyal lieutenants obey the same order.
    pub(crate) agreement: bool,
    /// IC2: if the commander is loyal, every loyal lieutenant obeys the order of the commander.
    pub(crate) validity: bool,
}

/// Determines whether OM(m) among `n` generals satisfies IC1 and IC2. The first general is the
/// commander.
pub(crate) fn verdicts(n: usize, m: usize, rule: Rule) -> Verdicts {
    let mut found = Verdicts { agreement: true, validity: true };
    for liars in (0..1_u32 << n).filter(|set| set.count_ones() as usize <= m) {
        let lies = |general: usize| liars >> general & 1 == 1;
        for order in [false, true] {
            let lieutenants: Vec<usize> = (1..n).collect();
            for outcome in outcomes(n, m, 0, &lieutenants, order, &lies, rule) {
                let obeyed: BTreeSet<bool> = outcome.into_iter().flatten().collect();
                found.agreement &= obeyed.len() < 2;
                found.validity &= lies(0) || obeyed.iter().all(|value| *value == order);
            }
        }
    }
    found
}

/// Returns all possible outcomes of OM(m) with this commander and these lieutenants.
fn outcomes(
    n: usize,
    m: usize,
    commander: usize,
    lieutenants: &[usize],
    order: bool,
    lies: &impl Fn(usize) -> bool,
    rule: Rule,
) -> BTreeSet<Outcome> {
    let mut all = BTreeSet::new();
    for told in told(commander, lieutenants, order, lies) {
        // Returns 1 if a loyal lieutenant has received *attack*, 0 if it has received *retreat*,
        // and `None` for all other generals.
        let own = |general: usize| {
            let place = lieutenants.iter().position(|it| *it == general)?;
            (!lies(general)).then_some(usize::from(told[place]))
        };
        let count: Vec<Option<usize>> = (0..n).map(own).collect();
        if m == 0 || rule == Rule::Direct {
            all.insert(count.iter().map(|value| value.map(|attacks| attacks == 1)).collect());
            continue;
        }
        let zero: Vec<Option<usize>> = count.iter().map(|own| own.map(|_| 0)).collect();
        let mut counts = BTreeSet::from([if rule == Rule::Reports { zero } else { count }]);
        for (place, reporter) in lieutenants.iter().enumerate() {
            let others: Vec<usize> =
                lieutenants.iter().copied().filter(|it| it != reporter).collect();
            let reports = outcomes(n, m - 1, *reporter, &others, told[place], lies, rule);
            counts = counts
                .iter()
                .flat_map(|count| reports.iter().map(|report| add(count, report)))
                .collect();
        }
        let values = lieutenants.len() - usize::from(rule == Rule::Reports);
        let majority = |attacks: usize| 2 * attacks > values;
        all.extend(
            counts.iter().map(|count| {
                count.iter().map(|attacks| attacks.map(majority)).collect::<Outcome>()
            }),
        );
    }
    all
}

/// Returns the values that a commander can send to its lieutenants. A loyal commander sends its
/// order to all of them. A liar sends any values.
fn told(
    commander: usize,
    lieutenants: &[usize],
    order: bool,
    lies: &impl Fn(usize) -> bool,
) -> Vec<Vec<bool>> {
    if !lies(commander) {
        return vec![vec![order; lieutenants.len()]];
    }
    let every = 0..1_u32 << lieutenants.len();
    every.map(|set| (0..lieutenants.len()).map(|at| set >> at & 1 == 1).collect()).collect()
}

fn add(count: &[Option<usize>], report: &Outcome) -> Vec<Option<usize>> {
    let sum = |(attacks, value): (&Option<usize>, &Option<bool>)| {
        attacks.map(|attacks| attacks + usize::from(*value == Some(true)))
    };
    count.iter().zip(report).map(sum).collect()
}

/// Returns the number of messages of OM(m) among `n` generals, by its definition.
pub(crate) fn messages(n: u64, m: u64) -> u64 {
    match m {
        0 => n - 1,
        m => (n - 1) + (n - 1) * messages(n - 1, m - 1),
    }
}

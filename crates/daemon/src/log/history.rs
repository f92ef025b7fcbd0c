//! Whether what clients saw can have come of one counter and one register: is there an order of
//! all operations, each between the moment when it was asked and the one when it was answered,
//! in which every answer is right?
//!
//! For operations that tell which write they saw this need not be searched for. *The counter*:
//! an increment is told what it made of the counter, so the values are the order, and what is to
//! be seen is that nobody was answered before somebody with a smaller value asked. *The
//! register*: nothing is written twice, so a write and its reads lie together in every order.
//! Such a cluster has to be before another if one of its operations ended before one of the other
//! began; there is an order if no two have to be before each other (P. Gibbons and E. Korach,
//! *Testing shared memories*, SIAM J. Comput. 26, 1997). Both are exact: tests compare them with
//! a search over all orders.
//!
//! What was asked and never answered may have been done at any time since, or never.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::Property;

use super::machine::Tag;

/// What a client asked, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Whose it is: no two operations have the same.
    pub tag: Tag,
    /// What was asked.
    pub what: What,
    /// When it was asked first, in nanoseconds from the start; 1 or more.
    pub asked: u64,
    /// What came of it.
    pub end: End,
}

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// To add one to the counter.
    Add,
    /// To write the tag into the register.
    Set,
    /// To read the counter.
    GetCounter,
    /// To read the register.
    GetRegister,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Nobody has said so far.
    Unknown,
    /// It was not done, nor will it be.
    Refused,
    /// It was done, and answered then, with this.
    Answered(u64, Saw),
}

/// What a client saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Saw {
    /// The counter; of an increment, what it made of it.
    Counter(u64),
    /// The register.
    Register(Option<Tag>),
    /// That it was written.
    Written,
}

/// Something that cannot have come of one counter and one register, or of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What was promised.
    pub property: Property,
    /// What is wrong, in a sentence.
    pub says: String,
}

impl Fault {
    pub(super) fn of(property: Property, says: String) -> Self {
        Fault { property, says }
    }

    fn stale(says: String) -> Self {
        Fault::of(Property::LinearizableReads, says)
    }
}

impl Operation {
    fn answer(&self) -> Option<(u64, Saw)> {
        match self.end {
            End::Answered(at, saw) => Some((at, saw)),
            End::Unknown | End::Refused => None,
        }
    }
}

/// Judges what was asked of the counter.
///
/// # Errors
///
/// The first [`Fault`]: no order explains it.
pub fn counter(operations: &[Operation]) -> Result<(), Fault> {
    let mut steps: BTreeMap<u64, Step<'_>> = BTreeMap::new();
    let mut pending: Vec<&Operation> = Vec::new();
    for operation in operations {
        match (operation.what, operation.answer()) {
            (What::Add, None) if operation.end == End::Unknown => pending.push(operation),
            (What::Add, Some((at, Saw::Counter(value)))) => {
                let step = steps.entry(value).or_default();
                if let Some((_, other)) = step.add.replace((at, operation)) {
                    return Err(Fault::of(
                        Property::Durability,
                        format!(
                            "{} and {} were both told that they made the counter {value}: one of \
                             them is lost",
                            other.tag, operation.tag
                        ),
                    ));
                }
                step.sees(at, operation);
            }
            (What::GetCounter, Some((at, Saw::Counter(value)))) => {
                steps.entry(value).or_default().sees(at, operation);
            }
            _ => {}
        }
    }
    in_order(&steps)?;
    filled(&steps, pending)
}

/// Those who saw one value of the counter.
#[derive(Default)]
struct Step<'a> {
    /// Who was told to have made it, and when.
    add: Option<(u64, &'a Operation)>,
    /// Who was answered first, and when.
    first: Option<(u64, &'a Operation)>,
    /// Who asked last.
    last: Option<&'a Operation>,
}

impl<'a> Step<'a> {
    fn sees(&mut self, at: u64, operation: &'a Operation) {
        if self.first.is_none_or(|(first, _)| at < first) {
            self.first = Some((at, operation));
        }
        if self.last.is_none_or(|last| last.asked < operation.asked) {
            self.last = Some(operation);
        }
    }
}

/// Nobody was answered before somebody asked who saw less.
fn in_order(steps: &BTreeMap<u64, Step<'_>>) -> Result<(), Fault> {
    let mut last: Option<(u64, &Operation)> = None;
    for (value, step) in steps {
        let Some((at, first)) = step.first else { continue };
        if let Some((less, late)) = last
            && at < late.asked
        {
            let (late, first) = (late.tag, first.tag);
            return Err(Fault::stale(format!(
                "{late} was told that the counter is {less}, and had asked after {first} was told \
                 {value}"
            )));
        }
        if let Some((_, add)) = step.add
            && at < add.asked
        {
            let (add, first) = (add.tag, first.tag);
            return Err(Fault::stale(format!(
                "{first} was told that the counter is {value} before {add} asked to make it that"
            )));
        }
        if let Some(asked) = step.last
            && last.is_none_or(|(_, late)| late.asked < asked.asked)
        {
            last = Some((*value, asked));
        }
    }
    Ok(())
}

/// Values that nobody was told to have made were made by increments without an answer, asked
/// before anybody saw as much: the earliest for the smallest.
fn filled(steps: &BTreeMap<u64, Step<'_>>, mut pending: Vec<&Operation>) -> Result<(), Fault> {
    if steps.get(&0).is_some_and(|step| step.add.is_some()) {
        let says = "an increment was told that it made the counter 0".to_owned();
        return Err(Fault::of(Property::Integrity, says));
    }
    pending.sort_by_key(|it| it.asked);
    let mut pending = pending.into_iter();
    let mut made = 0;
    // From the largest value down: when anybody had seen as much or more.
    let mut seen: Vec<(u64, u64)> = Vec::new();
    let mut earliest = u64::MAX;
    for (value, step) in steps.iter().rev() {
        earliest = earliest.min(step.first.map_or(u64::MAX, |(at, _)| at));
        seen.push((*value, earliest));
    }
    for (value, by) in seen.into_iter().rev().filter(|(value, _)| *value > 0) {
        let own = u64::from(steps[&value].add.is_some());
        while made + own < value {
            if pending.next().is_none_or(|it| it.asked > by) {
                return Err(Fault::of(
                    Property::Integrity,
                    format!(
                        "the counter was {value} when no more than {} increments had been asked \
                         for",
                        made + own
                    ),
                ));
            }
            made += 1;
        }
        made += own;
    }
    Ok(())
}

/// Judges what was asked of the register.
///
/// # Errors
///
/// The first [`Fault`]: no order explains it.
pub fn register(operations: &[Operation]) -> Result<(), Fault> {
    let mut clusters: BTreeMap<Option<Tag>, Cluster> = BTreeMap::new();
    // Before all, nothing was written.
    clusters.insert(None, Cluster { asked: 0, low: 0, high: 0, is_seen: true });
    for operation in operations.iter().filter(|it| it.what == What::Set) {
        let answered = match operation.end {
            End::Refused => continue,
            End::Unknown => None,
            End::Answered(at, _) => Some(at),
        };
        clusters.insert(
            Some(operation.tag),
            Cluster {
                asked: operation.asked,
                low: answered.unwrap_or(u64::MAX),
                high: operation.asked,
                is_seen: answered.is_some(),
            },
        );
    }
    for operation in operations.iter().filter(|it| it.what == What::GetRegister) {
        let Some((at, Saw::Register(value))) = operation.answer() else { continue };
        let Some(cluster) = clusters.get_mut(&value) else {
            let (reader, value) = (operation.tag, shown(value));
            return Err(Fault::of(
                Property::NoCreation,
                format!("{reader} read {value}, which nobody has written"),
            ));
        };
        if at < cluster.asked {
            let (reader, value) = (operation.tag, shown(value));
            return Err(Fault::stale(format!("{reader} read {value} before it was written")));
        }
        cluster.low = cluster.low.min(at);
        cluster.high = cluster.high.max(operation.asked);
        cluster.is_seen = true;
    }
    // What nobody was told of, or has seen, may never have been written.
    clusters.retain(|_, cluster| cluster.is_seen);
    one_after_another(&clusters)
}

/// A write and those who read it.
#[derive(Clone, Copy)]
struct Cluster {
    /// When the write was asked for.
    asked: u64,
    /// When the first of them ended.
    low: u64,
    /// When the last of them began.
    high: u64,
    /// Whether anybody knows that it was written.
    is_seen: bool,
}

/// No two clusters have to be before each other.
fn one_after_another(clusters: &BTreeMap<Option<Tag>, Cluster>) -> Result<(), Fault> {
    let is_long = |cluster: &Cluster| cluster.low < cluster.high;
    let (mut long, short): (Vec<_>, Vec<_>) = clusters.iter().partition(|(_, it)| is_long(it));
    let both = |(one, first): (&Option<Tag>, &Cluster),
                (other, second): (&Option<Tag>, &Cluster)| {
        let conflict = first.low < second.high && second.low < first.high;
        let says = || {
            let (one, other) = (shown(*one), shown(*other));
            format!("{one} was read from before to after {other} was there: one of them is stale")
        };
        if conflict { Err(Fault::stale(says())) } else { Ok(()) }
    };
    long.sort_by_key(|(_, it)| it.low);
    long.windows(2).try_for_each(|pair| both(pair[0], pair[1]))?;
    short.into_iter().try_for_each(|it| {
        // Long ones do not overlap: the last that has begun is the only one that it can be in.
        let begun = long.partition_point(|(_, other)| other.low < it.1.high);
        begun.checked_sub(1).map_or(Ok(()), |last| both(long[last], it))
    })
}

fn shown(value: Option<Tag>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |tag| tag.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u64) -> Tag {
        Tag { client: 1, number }
    }

    fn operation(number: u64, what: What, asked: u64, end: End) -> Operation {
        Operation { tag: tag(number), what, asked, end }
    }

    fn add(number: u64, asked: u64, answered: u64, value: u64) -> Operation {
        operation(number, What::Add, asked, End::Answered(answered, Saw::Counter(value)))
    }

    fn get(number: u64, asked: u64, answered: u64, value: u64) -> Operation {
        operation(number, What::GetCounter, asked, End::Answered(answered, Saw::Counter(value)))
    }

    fn set(number: u64, asked: u64, answered: u64) -> Operation {
        operation(number, What::Set, asked, End::Answered(answered, Saw::Written))
    }

    fn read(number: u64, asked: u64, answered: u64, value: Option<u64>) -> Operation {
        let saw = Saw::Register(value.map(tag));
        operation(number, What::GetRegister, asked, End::Answered(answered, saw))
    }

    fn violated(judged: Result<(), Fault>) -> Property {
        judged.expect_err("something is wrong").property
    }

    #[test]
    fn a_stale_read_is_found() {
        let stale = [add(1, 1, 2, 1), add(2, 3, 4, 2), get(3, 5, 6, 1)];
        assert_eq!(violated(counter(&stale)), Property::LinearizableReads);
        let beside = [add(1, 1, 2, 1), add(2, 3, 6, 2), get(3, 5, 6, 1)];
        assert_eq!(counter(&beside), Ok(()));
        let stale = [set(1, 1, 2), set(2, 3, 4), read(3, 5, 6, Some(1))];
        assert_eq!(violated(register(&stale)), Property::LinearizableReads);
        let back = [set(1, 1, 9), read(2, 2, 3, Some(1)), read(3, 4, 5, None)];
        assert_eq!(violated(register(&back)), Property::LinearizableReads);
        assert_eq!(register(&[set(1, 1, 9), read(3, 4, 5, None)]), Ok(()));
    }

    #[test]
    fn a_lost_acknowledgement_is_found() {
        let again = [add(1, 1, 2, 1), add(2, 3, 4, 1)];
        assert_eq!(violated(counter(&again)), Property::Durability);
        let fewer = [add(1, 1, 2, 1), get(2, 3, 4, 0)];
        assert_eq!(violated(counter(&fewer)), Property::LinearizableReads);
        let gone = [set(1, 1, 2), read(2, 3, 4, None)];
        assert_eq!(violated(register(&gone)), Property::LinearizableReads);
    }

    #[test]
    fn what_is_done_twice_or_by_nobody_is_found() {
        assert_eq!(violated(counter(&[add(1, 1, 2, 2)])), Property::Integrity);
        assert_eq!(violated(counter(&[add(1, 1, 2, 1), get(2, 3, 4, 2)])), Property::Integrity);
        assert_eq!(violated(register(&[read(1, 1, 2, Some(7))])), Property::NoCreation);
        let refused = operation(7, What::Set, 1, End::Refused);
        assert_eq!(violated(register(&[refused, read(1, 2, 3, Some(7))])), Property::NoCreation);
    }

    #[test]
    fn what_was_never_answered_may_have_been_done_or_not() {
        let unknown = |number, what| operation(number, what, 3, End::Unknown);
        let history = [add(1, 1, 2, 1), unknown(2, What::Add), get(3, 4, 5, 2)];
        assert_eq!(counter(&history), Ok(()));
        assert_eq!(counter(&history[..2]), Ok(()));
        let early = [add(1, 1, 2, 1), get(3, 1, 2, 2), unknown(2, What::Add)];
        assert_eq!(violated(counter(&early)), Property::Integrity);
        let history = [set(1, 1, 2), unknown(2, What::Set), read(3, 4, 5, Some(2))];
        assert_eq!(register(&history), Ok(()));
        let back = [read(4, 6, 7, Some(1))];
        assert_eq!(register(&[&history[..2], &back].concat()), Ok(()));
        let both = [&history[..], &back].concat();
        assert_eq!(violated(register(&both)), Property::LinearizableReads);
    }

    /// Whether any order explains it: tries all.
    fn is_explained(operations: &[Operation], counter: u64, register: Option<Tag>) -> bool {
        let must = |it: &Operation| matches!(it.end, End::Answered(..));
        if !operations.iter().any(must) {
            return true;
        }
        let ended = |it: &Operation| it.answer().map_or(u64::MAX, |(at, _)| at);
        let first = operations.iter().map(ended).min().unwrap_or(u64::MAX);
        (0..operations.len()).any(|place| {
            let it = &operations[place];
            let (counter, register, saw) = match it.what {
                What::Add => (counter + 1, register, Saw::Counter(counter + 1)),
                What::Set => (counter, Some(it.tag), Saw::Written),
                What::GetCounter => (counter, register, Saw::Counter(counter)),
                What::GetRegister => (counter, register, Saw::Register(register)),
            };
            let right = match it.end {
                End::Answered(_, seen) => seen == saw,
                End::Unknown => true,
                End::Refused => false,
            };
            // It may be next if nothing else ended before it began.
            let rest = || [&operations[..place], &operations[place + 1..]].concat();
            right && it.asked <= first && is_explained(&rest(), counter, register)
        })
    }

    /// Some operations, drawn; about half of such histories can be explained.
    fn drawn(rng: &mut fastrand::Rng, of: [What; 2]) -> Vec<Operation> {
        let many = rng.u64(1..6);
        let operation = |number: u64, rng: &mut fastrand::Rng| {
            let (asked, what) = (rng.u64(1..12), of[rng.usize(..2)]);
            let value = rng.u64(0..=many);
            let saw = match what {
                What::Add => Saw::Counter(value.max(1)),
                What::GetCounter => Saw::Counter(value.min(3)),
                What::Set => Saw::Written,
                What::GetRegister => Saw::Register((value > 0).then(|| tag(value))),
            };
            let end = match rng.u32(..8) {
                0 => End::Unknown,
                _ => End::Answered(asked + rng.u64(1..9), saw),
            };
            Operation { tag: tag(number), what, asked, end }
        };
        (1..=many).map(|number| operation(number, rng)).collect()
    }

    #[test]
    fn a_search_over_all_orders_says_the_same() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut explained = [0_u32; 2];
        for _ in 0..20_000 {
            let history = drawn(&mut rng, [What::Add, What::GetCounter]);
            let known = is_explained(&history, 0, None);
            assert_eq!(counter(&history).is_ok(), known, "{history:#?}: {:?}", counter(&history));
            explained[0] += u32::from(known);
            let history = drawn(&mut rng, [What::Set, What::GetRegister]);
            let known = is_explained(&history, 0, None);
            assert_eq!(register(&history).is_ok(), known, "{history:#?}: {:?}", register(&history));
            explained[1] += u32::from(known);
        }
        let both = |many: u32| (2_000..18_000).contains(&many);
        assert!(explained.into_iter().all(both), "{explained:?}");
    }
}

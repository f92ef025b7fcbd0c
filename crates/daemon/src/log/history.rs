//! Linearizability check of a counter and a register. A history is linearizable if its operations
//! have an order in which every response is right, and each operation lies between its request and
//! its response.
//!
//! Operations that tell which write they saw need no search. *Counter*: the response to an
//! increment is the new value, so the values determine the order. The check verifies that no
//! response precedes the request of an operation with a smaller value. *Register*: no value is
//! written twice, so a write and its reads are adjacent in every order. Such a cluster must precede
//! another if one of its operations ended before one of the other began. An order exists if no two
//! clusters must precede each other (P. Gibbons and E. Korach, *Testing shared memories*, SIAM J.
//! Comput. 26, 1997). Both checks are exact: tests compare them with a search over all orders.
//!
//! A request without a response may have taken effect at any time since, or never.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::Property;

use super::state_machine::OperationId;

/// Operation of a client with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Unique identifier.
    pub tag: OperationId,
    /// Kind of the operation.
    #[serde(rename = "what")]
    pub kind: OperationKind,
    /// Time of the first request, in nanoseconds since the start; at least 1.
    #[serde(rename = "asked")]
    pub asked_at: u64,
    /// Result so far.
    pub end: Completion,
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// Increment the counter.
    Add,
    /// Write the tag to the register.
    Set,
    /// Read the counter.
    GetCounter,
    /// Read the register.
    GetRegister,
}

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// No result is known so far.
    Unknown,
    /// The operation had no effect and will have none.
    Refused,
    /// The operation took effect: time and contents of the response.
    Answered(u64, Observation),
}

/// Response that a client received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// Value of the counter; after an increment, the new value.
    Counter(u64),
    /// Value of the register.
    Register(Option<OperationId>),
    /// Confirmation of a write.
    Written,
}

/// Contradiction to the specification of a counter, a register or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Violated property.
    pub property: Property,
    /// Description of the violation.
    pub message: String,
}

impl Violation {
    pub(super) fn new(property: Property, message: String) -> Self {
        Violation { property, message }
    }

    fn stale(message: String) -> Self {
        Violation::new(Property::LinearizableReads, message)
    }
}

impl Operation {
    fn response(&self) -> Option<(u64, Observation)> {
        match self.end {
            Completion::Answered(at, observation) => Some((at, observation)),
            Completion::Unknown | Completion::Refused => None,
        }
    }
}

/// Checks the operations on the counter.
///
/// # Errors
///
/// The first [`Violation`]: no order explains the history.
pub fn check_counter(operations: &[Operation]) -> Result<(), Violation> {
    let mut steps: BTreeMap<u64, Step<'_>> = BTreeMap::new();
    let mut pending: Vec<&Operation> = Vec::new();
    for operation in operations {
        match (operation.kind, operation.response()) {
            (OperationKind::Add, None) if operation.end == Completion::Unknown => {
                pending.push(operation)
            }
            (OperationKind::Add, Some((at, Observation::Counter(value)))) => {
                let step = steps.entry(value).or_default();
                if let Some((_, other)) = step.add.replace((at, operation)) {
                    return Err(Violation::new(
                        Property::Durability,
                        format!(
                            "{} and {} both have the response counter {value}: one of them is \
                             lost",
                            other.tag, operation.tag
                        ),
                    ));
                }
                step.observe(at, operation);
            }
            (OperationKind::GetCounter, Some((at, Observation::Counter(value)))) => {
                steps.entry(value).or_default().observe(at, operation);
            }
            _ => {}
        }
    }
    check_order(&steps)?;
    check_gaps(&steps, pending)
}

/// Operations that observed one value of the counter.
#[derive(Default)]
struct Step<'a> {
    /// Increment with this value as its response, and the time of the response.
    add: Option<(u64, &'a Operation)>,
    /// Operation with the earliest response, and its time.
    first: Option<(u64, &'a Operation)>,
    /// Operation with the latest request.
    last: Option<&'a Operation>,
}

impl<'a> Step<'a> {
    fn observe(&mut self, at: u64, operation: &'a Operation) {
        if self.first.is_none_or(|(first, _)| at < first) {
            self.first = Some((at, operation));
        }
        if self.last.is_none_or(|last| last.asked_at < operation.asked_at) {
            self.last = Some(operation);
        }
    }
}

/// Checks that no response precedes the request of an operation with a smaller value.
fn check_order(steps: &BTreeMap<u64, Step<'_>>) -> Result<(), Violation> {
    let mut last: Option<(u64, &Operation)> = None;
    for (value, step) in steps {
        let Some((at, first)) = step.first else { continue };
        if let Some((less, late)) = last
            && at < late.asked_at
        {
            let (late, first) = (late.tag, first.tag);
            return Err(Violation::stale(format!(
                "{late} has the response counter {less}, but was requested after the response \
                 {value} to {first}"
            )));
        }
        if let Some((_, add)) = step.add
            && at < add.asked_at
        {
            let (add, first) = (add.tag, first.tag);
            return Err(Violation::stale(format!(
                "{first} has the response counter {value}, before the request of {add} that made it"
            )));
        }
        if let Some(operation) = step.last
            && last.is_none_or(|(_, late)| late.asked_at < operation.asked_at)
        {
            last = Some((*value, operation));
        }
    }
    Ok(())
}

/// Explains missing values by increments without a response, whose request preceded any larger
/// value. The earliest request takes the smallest value.
fn check_gaps(
    steps: &BTreeMap<u64, Step<'_>>,
    mut pending: Vec<&Operation>,
) -> Result<(), Violation> {
    if steps.get(&0).is_some_and(|step| step.add.is_some()) {
        let message = "an increment has the response counter 0".to_owned();
        return Err(Violation::new(Property::Integrity, message));
    }
    pending.sort_by_key(|it| it.asked_at);
    let mut pending = pending.into_iter();
    let mut made = 0;
    // From the largest value down: the first time at which this value or a larger one was observed.
    let mut seen: Vec<(u64, u64)> = Vec::new();
    let mut earliest = u64::MAX;
    for (value, step) in steps.iter().rev() {
        earliest = earliest.min(step.first.map_or(u64::MAX, |(at, _)| at));
        seen.push((*value, earliest));
    }
    for (value, by) in seen.into_iter().rev().filter(|(value, _)| *value > 0) {
        let own = u64::from(steps[&value].add.is_some());
        while made + own < value {
            if pending.next().is_none_or(|it| it.asked_at > by) {
                return Err(Violation::new(
                    Property::Integrity,
                    format!(
                        "the counter was {value} when at most {} increments had been requested",
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

/// Checks the operations on the register.
///
/// # Errors
///
/// The first [`Violation`]: no order explains the history.
pub fn check_register(operations: &[Operation]) -> Result<(), Violation> {
    let mut clusters: BTreeMap<Option<OperationId>, Cluster> = BTreeMap::new();
    // The initial, empty value precedes all writes.
    clusters.insert(None, Cluster { asked_at: 0, low: 0, high: 0, is_seen: true });
    for operation in operations.iter().filter(|it| it.kind == OperationKind::Set) {
        let answered = match operation.end {
            Completion::Refused => continue,
            Completion::Unknown => None,
            Completion::Answered(at, _) => Some(at),
        };
        clusters.insert(
            Some(operation.tag),
            Cluster {
                asked_at: operation.asked_at,
                low: answered.unwrap_or(u64::MAX),
                high: operation.asked_at,
                is_seen: answered.is_some(),
            },
        );
    }
    for operation in operations.iter().filter(|it| it.kind == OperationKind::GetRegister) {
        let Some((at, Observation::Register(value))) = operation.response() else { continue };
        let Some(cluster) = clusters.get_mut(&value) else {
            let (reader, value) = (operation.tag, display(value));
            return Err(Violation::new(
                Property::NoCreation,
                format!("{reader} read {value}, which no client wrote"),
            ));
        };
        if at < cluster.asked_at {
            let (reader, value) = (operation.tag, display(value));
            return Err(Violation::stale(format!("{reader} read {value} before it was written")));
        }
        cluster.low = cluster.low.min(at);
        cluster.high = cluster.high.max(operation.asked_at);
        cluster.is_seen = true;
    }
    // A write that was neither confirmed nor read may never have happened.
    clusters.retain(|_, cluster| cluster.is_seen);
    check_disjoint(&clusters)
}

/// Write with its reads.
#[derive(Clone, Copy)]
struct Cluster {
    /// Time of the request to write.
    asked_at: u64,
    /// Earliest end of an operation.
    low: u64,
    /// Latest beginning of an operation.
    high: u64,
    /// True if the write was confirmed or read.
    is_seen: bool,
}

/// Checks that no two clusters must precede each other.
fn check_disjoint(clusters: &BTreeMap<Option<OperationId>, Cluster>) -> Result<(), Violation> {
    let is_long = |cluster: &Cluster| cluster.low < cluster.high;
    let (mut long, short): (Vec<_>, Vec<_>) = clusters.iter().partition(|(_, it)| is_long(it));
    let both = |(one, first): (&Option<OperationId>, &Cluster),
                (other, second): (&Option<OperationId>, &Cluster)| {
        let conflict = first.low < second.high && second.low < first.high;
        let message = || {
            let (one, other) = (display(*one), display(*other));
            format!("{one} was read before and after {other}: one of the reads is stale")
        };
        if conflict { Err(Violation::stale(message())) } else { Ok(()) }
    };
    long.sort_by_key(|(_, it)| it.low);
    long.windows(2).try_for_each(|pair| both(pair[0], pair[1]))?;
    short.into_iter().try_for_each(|it| {
        // Intervals of this kind do not overlap, so only the last one that has begun can contain
        // it.
        let begun = long.partition_point(|(_, other)| other.low < it.1.high);
        begun.checked_sub(1).map_or(Ok(()), |last| both(long[last], it))
    })
}

fn display(value: Option<OperationId>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |tag| tag.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u64) -> OperationId {
        OperationId { client: 1, number }
    }

    fn operation(number: u64, kind: OperationKind, asked_at: u64, end: Completion) -> Operation {
        Operation { tag: tag(number), kind, asked_at, end }
    }

    fn add(number: u64, asked_at: u64, answered: u64, value: u64) -> Operation {
        operation(
            number,
            OperationKind::Add,
            asked_at,
            Completion::Answered(answered, Observation::Counter(value)),
        )
    }

    fn get(number: u64, asked_at: u64, answered: u64, value: u64) -> Operation {
        operation(
            number,
            OperationKind::GetCounter,
            asked_at,
            Completion::Answered(answered, Observation::Counter(value)),
        )
    }

    fn set(number: u64, asked_at: u64, answered: u64) -> Operation {
        operation(
            number,
            OperationKind::Set,
            asked_at,
            Completion::Answered(answered, Observation::Written),
        )
    }

    fn read(number: u64, asked_at: u64, answered: u64, value: Option<u64>) -> Operation {
        let observation = Observation::Register(value.map(tag));
        operation(
            number,
            OperationKind::GetRegister,
            asked_at,
            Completion::Answered(answered, observation),
        )
    }

    fn violated(result: Result<(), Violation>) -> Property {
        result.expect_err("a violation").property
    }

    #[test]
    fn detects_stale_read() {
        let stale = [add(1, 1, 2, 1), add(2, 3, 4, 2), get(3, 5, 6, 1)];
        assert_eq!(violated(check_counter(&stale)), Property::LinearizableReads);
        let concurrent = [add(1, 1, 2, 1), add(2, 3, 6, 2), get(3, 5, 6, 1)];
        assert_eq!(check_counter(&concurrent), Ok(()));
        let stale = [set(1, 1, 2), set(2, 3, 4), read(3, 5, 6, Some(1))];
        assert_eq!(violated(check_register(&stale)), Property::LinearizableReads);
        let back = [set(1, 1, 9), read(2, 2, 3, Some(1)), read(3, 4, 5, None)];
        assert_eq!(violated(check_register(&back)), Property::LinearizableReads);
        assert_eq!(check_register(&[set(1, 1, 9), read(3, 4, 5, None)]), Ok(()));
    }

    #[test]
    fn detects_lost_acknowledgement() {
        let again = [add(1, 1, 2, 1), add(2, 3, 4, 1)];
        assert_eq!(violated(check_counter(&again)), Property::Durability);
        let fewer = [add(1, 1, 2, 1), get(2, 3, 4, 0)];
        assert_eq!(violated(check_counter(&fewer)), Property::LinearizableReads);
        let gone = [set(1, 1, 2), read(2, 3, 4, None)];
        assert_eq!(violated(check_register(&gone)), Property::LinearizableReads);
    }

    #[test]
    fn detects_repeated_and_unrequested_operation() {
        assert_eq!(violated(check_counter(&[add(1, 1, 2, 2)])), Property::Integrity);
        assert_eq!(
            violated(check_counter(&[add(1, 1, 2, 1), get(2, 3, 4, 2)])),
            Property::Integrity
        );
        assert_eq!(violated(check_register(&[read(1, 1, 2, Some(7))])), Property::NoCreation);
        let refused = operation(7, OperationKind::Set, 1, Completion::Refused);
        assert_eq!(
            violated(check_register(&[refused, read(1, 2, 3, Some(7))])),
            Property::NoCreation
        );
    }

    #[test]
    fn unanswered_operation_may_have_taken_effect_or_not() {
        let unknown = |number, kind| operation(number, kind, 3, Completion::Unknown);
        let history = [add(1, 1, 2, 1), unknown(2, OperationKind::Add), get(3, 4, 5, 2)];
        assert_eq!(check_counter(&history), Ok(()));
        assert_eq!(check_counter(&history[..2]), Ok(()));
        let early = [add(1, 1, 2, 1), get(3, 1, 2, 2), unknown(2, OperationKind::Add)];
        assert_eq!(violated(check_counter(&early)), Property::Integrity);
        let history = [set(1, 1, 2), unknown(2, OperationKind::Set), read(3, 4, 5, Some(2))];
        assert_eq!(check_register(&history), Ok(()));
        let back = [read(4, 6, 7, Some(1))];
        assert_eq!(check_register(&[&history[..2], &back].concat()), Ok(()));
        let both = [&history[..], &back].concat();
        assert_eq!(violated(check_register(&both)), Property::LinearizableReads);
    }

    /// True if some order explains the history. Tries all orders.
    fn is_linearizable(
        operations: &[Operation],
        counter: u64,
        register: Option<OperationId>,
    ) -> bool {
        let must = |it: &Operation| matches!(it.end, Completion::Answered(..));
        if !operations.iter().any(must) {
            return true;
        }
        let ended = |it: &Operation| it.response().map_or(u64::MAX, |(at, _)| at);
        let first = operations.iter().map(ended).min().unwrap_or(u64::MAX);
        (0..operations.len()).any(|index| {
            let it = &operations[index];
            let (counter, register, observation) = match it.kind {
                OperationKind::Add => (counter + 1, register, Observation::Counter(counter + 1)),
                OperationKind::Set => (counter, Some(it.tag), Observation::Written),
                OperationKind::GetCounter => (counter, register, Observation::Counter(counter)),
                OperationKind::GetRegister => (counter, register, Observation::Register(register)),
            };
            let right = match it.end {
                Completion::Answered(_, seen) => seen == observation,
                Completion::Unknown => true,
                Completion::Refused => false,
            };
            // An operation may be the next one if no other ended before it began.
            let rest = || [&operations[..index], &operations[index + 1..]].concat();
            right && it.asked_at <= first && is_linearizable(&rest(), counter, register)
        })
    }

    /// Returns random operations. About half of such histories are linearizable.
    fn random_history(rng: &mut fastrand::Rng, of: [OperationKind; 2]) -> Vec<Operation> {
        let many = rng.u64(1..6);
        let operation = |number: u64, rng: &mut fastrand::Rng| {
            let (asked_at, kind) = (rng.u64(1..12), of[rng.usize(..2)]);
            let value = rng.u64(0..=many);
            let observation = match kind {
                OperationKind::Add => Observation::Counter(value.max(1)),
                OperationKind::GetCounter => Observation::Counter(value.min(3)),
                OperationKind::Set => Observation::Written,
                OperationKind::GetRegister => {
                    Observation::Register((value > 0).then(|| tag(value)))
                }
            };
            let end = match rng.u32(..8) {
                0 => Completion::Unknown,
                _ => Completion::Answered(asked_at + rng.u64(1..9), observation),
            };
            Operation { tag: tag(number), kind, asked_at, end }
        };
        (1..=many).map(|number| operation(number, rng)).collect()
    }

    #[test]
    fn check_agrees_with_search_over_all_orders() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut explained = [0_u32; 2];
        for _ in 0..20_000 {
            let history = random_history(&mut rng, [OperationKind::Add, OperationKind::GetCounter]);
            let known = is_linearizable(&history, 0, None);
            assert_eq!(
                check_counter(&history).is_ok(),
                known,
                "{history:#?}: {:?}",
                check_counter(&history)
            );
            explained[0] += u32::from(known);
            let history =
                random_history(&mut rng, [OperationKind::Set, OperationKind::GetRegister]);
            let known = is_linearizable(&history, 0, None);
            assert_eq!(
                check_register(&history).is_ok(),
                known,
                "{history:#?}: {:?}",
                check_register(&history)
            );
            explained[1] += u32::from(known);
        }
        let both = |many: u32| (2_000..18_000).contains(&many);
        assert!(explained.into_iter().all(both), "{explained:?}");
    }
}

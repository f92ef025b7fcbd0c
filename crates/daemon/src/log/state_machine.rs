//! State machine of the log: a counter and a register.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tenure_core::service::log::Payload;

/// Identifier of a client's operation, unique in a cluster. Written as `CLIENT.NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperationId {
    /// Number of the client.
    pub client: u32,
    /// Number of the operation; increasing for each client.
    pub number: u64,
}

/// Change of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Increments the counter. A repetition of the same tag has no effect.
    Add(OperationId),
    /// Writes the tag to the register.
    Set(OperationId),
}

/// Result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The increment made the counter this value.
    Counted(u64),
    /// The register was written.
    Written,
}

/// Counter and register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateMachine {
    counter: u64,
    register: Option<OperationId>,
    /// Number of each client's last increment, and the value that resulted.
    counted: BTreeMap<u32, (u64, u64)>,
}

impl StateMachine {
    /// Returns the value of the counter.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Returns the value of the register; none before the first write.
    pub fn register(&self) -> Option<OperationId> {
        self.register
    }

    /// Applies a change.
    pub fn apply(&mut self, change: Change) -> Outcome {
        match change {
            Change::Set(tag) => {
                self.register = Some(tag);
                Outcome::Written
            }
            Change::Add(OperationId { client, number }) => {
                if let Some((last, value)) = self.counted.get(&client)
                    && number <= *last
                {
                    return Outcome::Counted(*value);
                }
                self.counter += 1;
                self.counted.insert(client, (number, self.counter));
                Outcome::Counted(self.counter)
            }
        }
    }

    /// Encodes the state as one word: the counter, the register, and for each client the number of
    /// its last increment with the resulting value, as in `42_3.18_3.17.42`.
    pub fn snapshot(&self) -> Payload {
        let register = self.register.map_or_else(|| "none".to_owned(), |tag| tag.to_string());
        let mut word = format!("{}_{register}", self.counter);
        for (client, (number, value)) in &self.counted {
            word += &format!("_{client}.{number}.{value}");
        }
        Payload::new(word.as_bytes())
    }

    /// Decodes a snapshot; none if it is invalid.
    pub fn of(snapshot: &Payload) -> Option<StateMachine> {
        let mut parts = std::str::from_utf8(snapshot.bytes()).ok()?.split('_');
        let counter = parts.next()?.parse().ok()?;
        let register = match parts.next()? {
            "none" => None,
            tag => Some(tag.parse().ok()?),
        };
        let counted = parts.map(|part| {
            let (tag, value) = part.rsplit_once('.')?;
            let OperationId { client, number } = tag.parse().ok()?;
            Some((client, (number, value.parse().ok()?)))
        });
        Some(StateMachine { counter, register, counted: counted.collect::<Option<_>>()? })
    }
}

impl Change {
    /// Encodes the change as an entry of the log.
    pub fn payload(self) -> Payload {
        Payload::new(self.to_string().as_bytes())
    }

    /// Decodes an entry of the log; none if it is invalid.
    pub fn of(payload: &Payload) -> Option<Change> {
        let (what, tag) = std::str::from_utf8(payload.bytes()).ok()?.split_once('-')?;
        let tag = tag.parse().ok()?;
        match what {
            "add" => Some(Change::Add(tag)),
            "set" => Some(Change::Set(tag)),
            _ => None,
        }
    }

    /// Returns the identifier of the operation.
    pub fn tag(self) -> OperationId {
        let (Change::Add(tag) | Change::Set(tag)) = self;
        tag
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Add(tag) => write!(f, "add-{tag}"),
            Change::Set(tag) => write!(f, "set-{tag}"),
        }
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.client, self.number)
    }
}

impl FromStr for OperationId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (client, number) = text.split_once('.').ok_or(())?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !digits(client) || !digits(number) {
            return Err(());
        }
        let client = client.parse().map_err(|_| ())?;
        Ok(OperationId { client, number: number.parse().map_err(|_| ())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(client: u32, number: u64) -> OperationId {
        OperationId { client, number }
    }

    #[test]
    fn repeated_increment_counts_once() {
        let mut machine = StateMachine::default();
        assert_eq!(machine.apply(Change::Add(tag(1, 1))), Outcome::Counted(1));
        assert_eq!(machine.apply(Change::Add(tag(2, 1))), Outcome::Counted(2));
        assert_eq!(machine.apply(Change::Add(tag(1, 1))), Outcome::Counted(1));
        assert_eq!(machine.apply(Change::Add(tag(1, 4))), Outcome::Counted(3));
        assert_eq!(machine.apply(Change::Set(tag(2, 2))), Outcome::Written);
        assert_eq!((machine.counter(), machine.register()), (3, Some(tag(2, 2))));
    }

    #[test]
    fn snapshot_contains_the_whole_state() {
        let mut machine = StateMachine::default();
        for change in [Change::Add(tag(1, 1)), Change::Set(tag(2, 7)), Change::Add(tag(300, 4))] {
            assert_eq!(StateMachine::of(&machine.snapshot()), Some(machine.clone()));
            machine.apply(change);
        }
        assert_eq!(machine.snapshot().to_string(), "2_2.7_1.1.1_300.4.2");
        let mut restored = StateMachine::of(&machine.snapshot()).expect("a snapshot");
        assert_eq!(
            restored.apply(Change::Add(tag(300, 4))),
            Outcome::Counted(2),
            "not counted again"
        );
        for wrong in ["", "1", "x_none", "1_2", "1_none_", "1_none_1.1", "1_none_1.1.x"] {
            assert_eq!(StateMachine::of(&Payload::new(wrong.as_bytes())), None, "{wrong}");
        }
    }

    #[test]
    fn changes_round_trip_and_other_bytes_are_rejected() {
        for change in [Change::Add(tag(1, 0)), Change::Set(tag(u32::MAX, u64::MAX))] {
            assert_eq!(Change::of(&change.payload()), Some(change));
        }
        for other in ["", "add", "add-", "add-1", "add-1.", "add-+1.2", "get-1.2", "set-1.2.3"] {
            assert_eq!(Change::of(&Payload::new(other.as_bytes())), None, "{other}");
        }
    }
}

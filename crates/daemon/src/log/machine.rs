//! The counter and the register, as every member makes them of the log.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tenure_core::service::log::Payload;

/// An operation of a client: no two have the same. As text `CLIENT.NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// The number of the client.
    pub client: u32,
    /// The number of the operation: those of a client rise.
    pub number: u64,
}

/// What changes the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The counter is one more. The same tag again changes nothing.
    Add(Tag),
    /// The register holds this tag.
    Set(Tag),
}

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The increment was counted, and made the counter this.
    Counted(u64),
    /// The register was written.
    Written,
}

/// The state that a log comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    counter: u64,
    register: Option<Tag>,
    /// By client: the number of its last increment, and what that made of the counter.
    counted: BTreeMap<u32, (u64, u64)>,
}

impl Machine {
    /// What the counter holds.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// What the register holds, if anybody wrote it.
    pub fn register(&self) -> Option<Tag> {
        self.register
    }

    /// Does what an entry of the log says.
    pub fn apply(&mut self, change: Change) -> Outcome {
        match change {
            Change::Set(tag) => {
                self.register = Some(tag);
                Outcome::Written
            }
            Change::Add(Tag { client, number }) => {
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

    /// What stands for all that was done so far, as a word: the counter, the register, and by
    /// client the number of its last increment and what it made of the counter. `42_3.18_3.17.42`.
    pub fn snapshot(&self) -> Payload {
        let register = self.register.map_or_else(|| "none".to_owned(), |tag| tag.to_string());
        let mut word = format!("{}_{register}", self.counter);
        for (client, (number, value)) in &self.counted {
            word += &format!("_{client}.{number}.{value}");
        }
        Payload::new(word.as_bytes())
    }

    /// The state of a snapshot; nothing where it is none.
    pub fn of(snapshot: &Payload) -> Option<Machine> {
        let mut parts = std::str::from_utf8(snapshot.bytes()).ok()?.split('_');
        let counter = parts.next()?.parse().ok()?;
        let register = match parts.next()? {
            "none" => None,
            tag => Some(tag.parse().ok()?),
        };
        let counted = parts.map(|part| {
            let (tag, value) = part.rsplit_once('.')?;
            let Tag { client, number } = tag.parse().ok()?;
            Some((client, (number, value.parse().ok()?)))
        });
        Some(Machine { counter, register, counted: counted.collect::<Option<_>>()? })
    }
}

impl Change {
    /// As the log has it.
    pub fn payload(self) -> Payload {
        Payload::new(self.to_string().as_bytes())
    }

    /// What an entry of the log says; nothing where it is of somebody else.
    pub fn of(payload: &Payload) -> Option<Change> {
        let (what, tag) = std::str::from_utf8(payload.bytes()).ok()?.split_once('-')?;
        let tag = tag.parse().ok()?;
        match what {
            "add" => Some(Change::Add(tag)),
            "set" => Some(Change::Set(tag)),
            _ => None,
        }
    }

    /// Whose it is.
    pub fn tag(self) -> Tag {
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

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.client, self.number)
    }
}

impl FromStr for Tag {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (client, number) = text.split_once('.').ok_or(())?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !digits(client) || !digits(number) {
            return Err(());
        }
        let client = client.parse().map_err(|_| ())?;
        Ok(Tag { client, number: number.parse().map_err(|_| ())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(client: u32, number: u64) -> Tag {
        Tag { client, number }
    }

    #[test]
    fn an_increment_that_comes_again_is_counted_once_and_answered_as_before() {
        let mut machine = Machine::default();
        assert_eq!(machine.apply(Change::Add(tag(1, 1))), Outcome::Counted(1));
        assert_eq!(machine.apply(Change::Add(tag(2, 1))), Outcome::Counted(2));
        assert_eq!(machine.apply(Change::Add(tag(1, 1))), Outcome::Counted(1));
        assert_eq!(machine.apply(Change::Add(tag(1, 4))), Outcome::Counted(3));
        assert_eq!(machine.apply(Change::Set(tag(2, 2))), Outcome::Written);
        assert_eq!((machine.counter(), machine.register()), (3, Some(tag(2, 2))));
    }

    #[test]
    fn a_snapshot_is_all_that_there_is() {
        let mut machine = Machine::default();
        for change in [Change::Add(tag(1, 1)), Change::Set(tag(2, 7)), Change::Add(tag(300, 4))] {
            assert_eq!(Machine::of(&machine.snapshot()), Some(machine.clone()));
            machine.apply(change);
        }
        assert_eq!(machine.snapshot().to_string(), "2_2.7_1.1.1_300.4.2");
        let mut restored = Machine::of(&machine.snapshot()).expect("a snapshot");
        assert_eq!(restored.apply(Change::Add(tag(300, 4))), Outcome::Counted(2), "not again");
        for wrong in ["", "1", "x_none", "1_2", "1_none_", "1_none_1.1", "1_none_1.1.x"] {
            assert_eq!(Machine::of(&Payload::new(wrong.as_bytes())), None, "{wrong}");
        }
    }

    #[test]
    fn changes_are_read_as_they_are_written_and_other_bytes_are_none() {
        for change in [Change::Add(tag(1, 0)), Change::Set(tag(u32::MAX, u64::MAX))] {
            assert_eq!(Change::of(&change.payload()), Some(change));
        }
        for other in ["", "add", "add-", "add-1", "add-1.", "add-+1.2", "get-1.2", "set-1.2.3"] {
            assert_eq!(Change::of(&Payload::new(other.as_bytes())), None, "{other}");
        }
    }
}

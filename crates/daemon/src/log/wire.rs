//! What clients and members say to each other: a line each.

use std::fmt;

use super::machine::{Change, Tag};

/// The longest line that anybody says, its end included.
pub(super) const LONGEST: usize = 64;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// To change something.
    Change(Change),
    /// What there is.
    Get(Part),
}

/// A part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The counter.
    Counter,
    /// The register.
    Register,
}

/// What a member answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// What the counter holds, or what an increment made of it.
    Counter(u64),
    /// What the register holds, if anybody wrote it.
    Register(Option<Tag>),
    /// The register was written.
    Written,
    /// Nothing was done, nor will be.
    Refused {
        /// The number of the process that leads, as far as the member knows.
        leader: Option<u32>,
    },
    /// Nobody can tell yet whether it will be done.
    Unknown,
}

impl Question {
    /// The question of a line; nothing where it is none.
    pub fn read(line: &str) -> Option<Question> {
        let (what, rest) = line.split_once(' ')?;
        match (what, rest) {
            ("get", "counter") => Some(Question::Get(Part::Counter)),
            ("get", "register") => Some(Question::Get(Part::Register)),
            ("add", tag) => Some(Question::Change(Change::Add(tag.parse().ok()?))),
            ("set", tag) => Some(Question::Change(Change::Set(tag.parse().ok()?))),
            _ => None,
        }
    }
}

impl Answer {
    /// The answer of a line; nothing where it is none.
    pub fn read(line: &str) -> Option<Answer> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (what, rest) {
            ("counter", value) => Some(Answer::Counter(value.parse().ok()?)),
            ("register", "none") => Some(Answer::Register(None)),
            ("register", tag) => Some(Answer::Register(Some(tag.parse().ok()?))),
            ("written", "") => Some(Answer::Written),
            ("refused", "") => Some(Answer::Refused { leader: None }),
            ("refused", leader) => Some(Answer::Refused { leader: Some(leader.parse().ok()?) }),
            ("unknown", "") => Some(Answer::Unknown),
            _ => None,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Change(Change::Add(tag)) => write!(f, "add {tag}"),
            Question::Change(Change::Set(tag)) => write!(f, "set {tag}"),
            Question::Get(Part::Counter) => f.write_str("get counter"),
            Question::Get(Part::Register) => f.write_str("get register"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Counter(value) => write!(f, "counter {value}"),
            Answer::Register(Some(tag)) => write!(f, "register {tag}"),
            Answer::Register(None) => f.write_str("register none"),
            Answer::Written => f.write_str("written"),
            Answer::Refused { leader: Some(leader) } => write!(f, "refused {leader}"),
            Answer::Refused { leader: None } => f.write_str("refused"),
            Answer::Unknown => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag { client: u32::MAX, number: u64::MAX };

    #[test]
    fn questions_and_answers_survive_the_wire() {
        for question in [
            Question::Change(Change::Add(TAG)),
            Question::Change(Change::Set(TAG)),
            Question::Get(Part::Counter),
            Question::Get(Part::Register),
        ] {
            let line = question.to_string();
            assert!(line.len() < LONGEST, "{line}");
            assert_eq!(Question::read(&line), Some(question), "{line}");
        }
        for answer in [
            Answer::Counter(u64::MAX),
            Answer::Register(Some(TAG)),
            Answer::Register(None),
            Answer::Written,
            Answer::Refused { leader: Some(u32::MAX) },
            Answer::Refused { leader: None },
            Answer::Unknown,
        ] {
            let line = answer.to_string();
            assert!(line.len() < LONGEST, "{line}");
            assert_eq!(Answer::read(&line), Some(answer), "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_question_and_no_answer() {
        for line in ["", "get", "get all", "add", "add 1", "add 1.x", "set 1.2 ", "put 1.2"] {
            assert_eq!(Question::read(line), None, "{line}");
        }
        for line in ["", "counter", "counter -1", "register", "written 1", "refused x", "no"] {
            assert_eq!(Answer::read(line), None, "{line}");
        }
    }
}

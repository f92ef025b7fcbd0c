//! Wire format of clients and members: one line per message.

use std::fmt;

use super::state_machine::{Change, OperationId};

/// Upper bound on the length of a line, including its end.
pub(super) const MAX_LINE_BYTES: usize = 64;

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Apply a change.
    Change(Change),
    /// Read a part of the state.
    Get(Part),
}

/// Part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Counter.
    Counter,
    /// Register.
    Register,
}

/// Response of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Response {
    /// Value of the counter; after an increment, the new value.
    Counter(u64),
    /// Value of the register; none before the first write.
    Register(Option<OperationId>),
    /// The register was written.
    Written,
    /// The request had no effect and will have none.
    Refused {
        /// Number of the leader's process, if the member knows it.
        leader: Option<u32>,
    },
    /// The request may yet take effect.
    Unknown,
}

impl Request {
    /// Parses a request; none if the line is invalid.
    pub fn read(line: &str) -> Option<Request> {
        let (what, rest) = line.split_once(' ')?;
        match (what, rest) {
            ("get", "counter") => Some(Request::Get(Part::Counter)),
            ("get", "register") => Some(Request::Get(Part::Register)),
            ("add", tag) => Some(Request::Change(Change::Add(tag.parse().ok()?))),
            ("set", tag) => Some(Request::Change(Change::Set(tag.parse().ok()?))),
            _ => None,
        }
    }
}

impl Response {
    /// Parses a response; none if the line is invalid.
    pub fn read(line: &str) -> Option<Response> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (what, rest) {
            ("counter", value) => Some(Response::Counter(value.parse().ok()?)),
            ("register", "none") => Some(Response::Register(None)),
            ("register", tag) => Some(Response::Register(Some(tag.parse().ok()?))),
            ("written", "") => Some(Response::Written),
            ("refused", "") => Some(Response::Refused { leader: None }),
            ("refused", leader) => Some(Response::Refused { leader: Some(leader.parse().ok()?) }),
            ("unknown", "") => Some(Response::Unknown),
            _ => None,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Change(Change::Add(tag)) => write!(f, "add {tag}"),
            Request::Change(Change::Set(tag)) => write!(f, "set {tag}"),
            Request::Get(Part::Counter) => f.write_str("get counter"),
            Request::Get(Part::Register) => f.write_str("get register"),
        }
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Response::Counter(value) => write!(f, "counter {value}"),
            Response::Register(Some(tag)) => write!(f, "register {tag}"),
            Response::Register(None) => f.write_str("register none"),
            Response::Written => f.write_str("written"),
            Response::Refused { leader: Some(leader) } => write!(f, "refused {leader}"),
            Response::Refused { leader: None } => f.write_str("refused"),
            Response::Unknown => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: OperationId = OperationId { client: u32::MAX, number: u64::MAX };

    #[test]
    fn requests_and_responses_round_trip() {
        for request in [
            Request::Change(Change::Add(TAG)),
            Request::Change(Change::Set(TAG)),
            Request::Get(Part::Counter),
            Request::Get(Part::Register),
        ] {
            let line = request.to_string();
            assert!(line.len() < MAX_LINE_BYTES, "{line}");
            assert_eq!(Request::read(&line), Some(request), "{line}");
        }
        for response in [
            Response::Counter(u64::MAX),
            Response::Register(Some(TAG)),
            Response::Register(None),
            Response::Written,
            Response::Refused { leader: Some(u32::MAX) },
            Response::Refused { leader: None },
            Response::Unknown,
        ] {
            let line = response.to_string();
            assert!(line.len() < MAX_LINE_BYTES, "{line}");
            assert_eq!(Response::read(&line), Some(response), "{line}");
        }
    }

    #[test]
    fn rejects_invalid_lines() {
        for line in ["", "get", "get all", "add", "add 1", "add 1.x", "set 1.2 ", "put 1.2"] {
            assert_eq!(Request::read(line), None, "{line}");
        }
        for line in ["", "counter", "counter -1", "register", "written 1", "refused x", "no"] {
            assert_eq!(Response::read(line), None, "{line}");
        }
    }
}

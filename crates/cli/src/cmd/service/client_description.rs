//! Descriptions of the clients that hold a lock or wait for it. `tenure lock` stores a description
//! of itself in the key of its claim.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tenure_daemon::format_rfc3339;
use tenure_trace::escape_invisible;

/// Version of the format of descriptions. A description of another version is not decoded.
const VERSION: u32 = 1;

/// Maximum number of characters that the output shows of each part of a description.
const MAX_CHARACTERS: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientDescription {
    /// Version of the format. The field has the name of the program, so that other programs can
    /// recognize the description.
    tenure: u32,
    user: String,
    host: String,
    pid: u32,
    /// Name of the program that the client runs, or the text of `--label`. Arguments of the program
    /// are left out, because they may contain secrets.
    command: String,
    /// Time at which the client entered the queue, by the client's clock (RFC 3339).
    queued: String,
    /// Time at which the client acquired the lock, by the client's clock (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// Description of the client that asked this client to give up its lock. `None` if no client
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken_by: Option<String>,
}

impl ClientDescription {
    pub(super) fn of_command(command: &[OsString], label: Option<&str>) -> ClientDescription {
        let program = || {
            let program = command.first().map(Path::new).and_then(Path::file_name);
            program.unwrap_or_default().to_string_lossy().into_owned()
        };
        ClientDescription::of_this_process(label.map_or_else(program, str::to_owned))
    }

    /// Describes this process as a client. `command` is the name of its program.
    pub(super) fn of_this_process(command: String) -> ClientDescription {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let id = || format!("uid {}", rustix::process::geteuid().as_raw());
        ClientDescription {
            tenure: VERSION,
            user: variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(id),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            pid: std::process::id(),
            command,
            queued: format_rfc3339(SystemTime::now()),
            held: None,
            broken_by: None,
        }
    }

    /// Returns this description with the present time as the time of acquisition.
    pub(super) fn with_acquisition_now(&self) -> ClientDescription {
        ClientDescription { held: Some(format_rfc3339(SystemTime::now())), ..self.clone() }
    }

    pub(super) fn with_breaker(&self, breaker: &ClientDescription) -> ClientDescription {
        ClientDescription { broken_by: Some(breaker.to_string()), ..self.clone() }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes a description from the value of a key. Returns `None` if the value is not a
    /// description, or if the description has a version other than `VERSION`.
    pub(super) fn decode(value: &[u8]) -> Option<ClientDescription> {
        serde_json::from_slice(value)
            .ok()
            .filter(|client: &ClientDescription| client.tenure == VERSION)
    }

    pub(super) fn breaker(&self) -> Option<String> {
        self.broken_by.as_deref().map(shown)
    }

    pub(super) fn held_or_queued_since(&self) -> String {
        shown(self.held.as_deref().unwrap_or(&self.queued))
    }
}

/// Formats the description like `alice@db1 4711 report.sh`. Other users may have written its parts,
/// so the parts are escaped and shortened.
impl fmt::Display for ClientDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [user, host, command] = [&self.user, &self.host, &self.command].map(|it| shown(it));
        write!(f, "{user}@{host} {} {command}", self.pid)
    }
}

/// Escapes a text that another user may have written, and shortens it to [`MAX_CHARACTERS`].
pub(super) fn shown(text: &str) -> String {
    let text = escape_invisible(text);
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Owner of a claim, which is the client that holds a lock or waits for it. The owner is inferred
/// from the value of the claim's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimOwner {
    /// The client is a command of Tenure.
    Command(ClientDescription),
    /// The client is another program that has stored a text, such as the value of a leader.
    Text(String),
    /// The client is unknown: its key has an empty value or no text, or was not read.
    Unknown,
}

impl ClaimOwner {
    pub(super) fn of_value(value: &[u8]) -> ClaimOwner {
        match (ClientDescription::decode(value), std::str::from_utf8(value)) {
            (Some(client), _) => ClaimOwner::Command(client),
            (None, Ok(text)) if !text.is_empty() => ClaimOwner::Text(text.to_owned()),
            (None, _) => ClaimOwner::Unknown,
        }
    }

    /// Returns the client as JSON: an object, a text, or null.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            ClaimOwner::Command(it) => serde_json::json!({
                "user": it.user, "host": it.host, "pid": it.pid, "command": it.command,
                "queued": it.queued, "held": it.held,
            }),
            ClaimOwner::Text(text) => serde_json::json!(text),
            ClaimOwner::Unknown => serde_json::Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_contains_the_program_and_no_arguments() {
        let command = ["/usr/bin/mysql", "-psecret"].map(OsString::from);
        let client = ClientDescription::of_command(&command, None);
        let value = String::from_utf8(client.encode()).expect("text");
        assert!(value.contains("\"command\":\"mysql\"") && !value.contains("secret"), "{value}");
        assert_eq!(ClientDescription::decode(value.as_bytes()), Some(client.clone()));
        assert!(client.to_string().ends_with(&format!(" {} mysql", std::process::id())));
        let labelled = ClientDescription::of_command(&command, Some("backup of orders"));
        assert!(labelled.to_string().ends_with(" backup of orders"));
        assert_eq!(client.held_or_queued_since(), client.queued);
        let held = client.with_acquisition_now();
        assert_eq!(Some(held.held_or_queued_since()), held.held);
        assert_eq!(
            (client.breaker(), held.with_breaker(&labelled).breaker()),
            (None, Some(labelled.to_string()))
        );
    }

    #[test]
    fn values_of_other_programs_are_text_or_unknown() {
        let newer =
            ClientDescription { tenure: 2, ..ClientDescription::of_this_process("sh".to_owned()) };
        assert!(matches!(ClaimOwner::of_value(&newer.encode()), ClaimOwner::Text(_)));
        assert_eq!(ClaimOwner::of_value(b"host-7"), ClaimOwner::Text("host-7".to_owned()));
        for unknown in [&b""[..], b"\xff\xfe"] {
            assert_eq!(ClaimOwner::of_value(unknown), ClaimOwner::Unknown);
        }
        let text = "é\u{1b}".repeat(500);
        assert_eq!(ClaimOwner::of_value(text.as_bytes()).to_json(), text);
        let long = shown(&text);
        assert!(long.chars().count() <= MAX_CHARACTERS + 1 && !long.contains('\u{1b}'));
    }
}

//! Descriptions of the clients that hold a lock or wait for it. `tenure lock` stores a description
//! of itself in the keys of its claims.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tenure_daemon::format_rfc3339;
use tenure_trace::escape_invisible;

/// Version of the format of descriptions. A description with another version is not decoded.
const VERSION: u32 = 1;

/// Maximum number of characters that the output contains of each part of a description. A longer
/// part is cut off.
const MAX_CHARACTERS: usize = 80;

/// Description of a client, which is stored as JSON in the key of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientDescription {
    /// Version of the format. The field has the name of the program `tenure`, so that other
    /// programs can recognize the description.
    tenure: u32,
    user: String,
    host: String,
    pid: u32,
    /// Name of the program that the client runs, or the text of `--label`. Arguments of the program
    /// are left out, because they may contain secrets.
    command: String,
    /// Time at which the client created this description, before it entered the queue. The time is
    /// that of the clock of the client (RFC 3339).
    queued: String,
    /// Time at which the client acquired the lock, by the clock of the client (RFC 3339). `None`
    /// while the client waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// Description, as text, of the client that asked this client to give up its lock. `None` if no
    /// client has asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken_by: Option<String>,
}

impl ClientDescription {
    /// Describes this process as a client that runs `command`. If `label` is present, it replaces
    /// the name of the program.
    pub(super) fn of_command(command: &[OsString], label: Option<&str>) -> ClientDescription {
        let program = || {
            let program = command.first().map(Path::new).and_then(Path::file_name);
            program.unwrap_or_default().to_string_lossy().into_owned()
        };
        ClientDescription::of_this_process(label.map_or_else(program, str::to_owned))
    }

    /// Describes this process as a client. `command` is the name of the program that it runs, or a
    /// label.
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

    /// Returns a copy of this description with the present time as the time of acquisition.
    pub(super) fn with_acquisition_now(&self) -> ClientDescription {
        ClientDescription { held: Some(format_rfc3339(SystemTime::now())), ..self.clone() }
    }

    /// Returns a copy of this description that names `breaker` as the client that asked this client
    /// to give up its lock.
    pub(super) fn with_breaker(&self, breaker: &ClientDescription) -> ClientDescription {
        ClientDescription { broken_by: Some(breaker.to_string()), ..self.clone() }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes a description from the value of a key. Returns `None` if the value is not a
    /// description, or if the description has another version than [`VERSION`].
    pub(super) fn decode(value: &[u8]) -> Option<ClientDescription> {
        serde_json::from_slice(value)
            .ok()
            .filter(|client: &ClientDescription| client.tenure == VERSION)
    }

    /// Returns the description of the client that asked this client to give up its lock, for the
    /// output. Returns `None` if no client has asked.
    pub(super) fn breaker(&self) -> Option<String> {
        self.broken_by.as_deref().map(escape_and_shorten)
    }

    /// Returns the time of the acquisition or, if the client still waits, the time at which it
    /// created this description. The text is escaped for the output.
    pub(super) fn held_or_queued_since(&self) -> String {
        escape_and_shorten(self.held.as_deref().unwrap_or(&self.queued))
    }
}

/// Formats the description like `alice@db1 4711 report.sh`. Another user may have written any part
/// of the description, so the parts are escaped and shortened.
impl fmt::Display for ClientDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [user, host, command] =
            [&self.user, &self.host, &self.command].map(|it| escape_and_shorten(it));
        write!(f, "{user}@{host} {} {command}", self.pid)
    }
}

/// Escapes characters in `text` that a terminal does not show, because another user may have
/// written the text. Cuts the text off after [`MAX_CHARACTERS`].
pub(super) fn escape_and_shorten(text: &str) -> String {
    let text = escape_invisible(text);
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Owner of a claim: the client that holds a lock or waits for it. The owner is inferred from the
/// value of the key of the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimOwner {
    /// The value is a description, so the client is `tenure lock`.
    Command(ClientDescription),
    /// The value is another text, such as the value that `tenure elect` or another program
    /// proclaims as the leader.
    Text(String),
    /// The client is unknown: the value is empty or no text, or was not read.
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

    /// Returns the client as JSON: an object for [`ClaimOwner::Command`], a string for
    /// [`ClaimOwner::Text`], and null for [`ClaimOwner::Unknown`].
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
        let long = escape_and_shorten(&text);
        assert!(long.chars().count() <= MAX_CHARACTERS + 1 && !long.contains('\u{1b}'));
    }
}

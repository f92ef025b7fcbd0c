//! Data directory of a member: how it is opened, and errors with the names of members and the
//! options of `tenure serve`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tenure_runtime::StableStorage;
use tenure_runtime::store::{MembershipRecord, OpenError, StateOwner};
use tracing::info;

use crate::config::{Config, ConfigError, InitialClusterState, ValidatedConfig};
use crate::member::eviction::EvictionReason;
use crate::member::{LOG_STATE_SCHEMA, ServeError};

/// Files of a data directory, except the segments of the log and their markers. At least one of
/// these files exists once a member has started, even if it crashed at once.
pub(crate) const OWN_FILES: [&str; 6] =
    ["lock", "state", "state.next", "peers", "peers.next", "log.next"];

/// Number of unknown files that an error message names.
const NAMED_FILES: usize = 3;

/// Opens the data directory, and the record of the membership in it. Fails if this record states
/// that the member was evicted, if the directory contains files of another program, or if the
/// directory cannot be opened.
pub(super) fn open_store(
    config: &Config,
    validated: &ValidatedConfig,
    owner: &StateOwner,
) -> Result<(StableStorage, MembershipRecord), ServeError> {
    check_contents(&validated.directory)?;
    let opened = StableStorage::open(&validated.directory, owner, LOG_STATE_SCHEMA);
    let mut store = opened.map_err(|error| serve_error(error, validated))?;
    let replaces_member = config.initial_cluster_state == InitialClusterState::Existing;
    let is_joining = replaces_member && store.state().is_none();
    let with_registry = store.with_registry(!is_joining);
    store = with_registry.map_err(|error| serve_error(error, validated))?;
    let registry = store.peer_registry().expect("the store was opened with a registry");
    if let Some(why) = registry.eviction_reason() {
        return Err(EvictionReason::Recorded(why).into());
    }
    if is_joining {
        store = store.with_session_at_least(joining_session(SystemTime::now())?)?;
    }
    if !registry.has_joined() {
        let url = &validated.members[validated.me].peer_url;
        info!(url, "not a member yet: waits for tenure member add with this URL");
    }
    Ok((store, registry))
}

/// Checks that a directory may become, or already is, the data directory of a member. Accepts a
/// directory that does not exist. Ignores hidden files and `lost+found`, which volumes contain.
fn check_contents(directory: &Path) -> Result<(), ConfigError> {
    let rejected = |problem: String| {
        let path = directory.display().to_string();
        let expected = "expected a new or empty directory for --data-dir, or one of tenure serve";
        let reason = format!("{problem}: {expected}");
        Err(ConfigError::File { path, reason })
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return rejected("is not a directory".into());
        }
        // A missing directory is created later. Opening the directory reports all other errors.
        Err(_) => return Ok(()),
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into()));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let has_state = names.iter().any(|name| name == "state");
    if !has_state && directory.join("member").is_dir() {
        return rejected("has the data of etcd (member/), which Tenure cannot read".into());
    }
    let is_own = |name: &String| OWN_FILES.contains(&name.as_str()) || name.starts_with("log-");
    let is_ignored = |name: &str| name.starts_with('.') || name == "lost+found";
    let others: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !is_ignored(name)).collect();
    if others.is_empty() || names.iter().any(is_own) {
        return Ok(());
    }
    let more = if others.len() > NAMED_FILES { ", …" } else { "" };
    let shown = others[..others.len().min(NAMED_FILES)].join(", ");
    rejected(format!("has files of another program ({shown}{more})"))
}

/// Converts an error of the data directory. If a file is damaged, the result has the commands that
/// replace the member or restore a backup. [`with_member_names`] converts all other errors.
fn serve_error(error: OpenError, validated: &ValidatedConfig) -> ServeError {
    match error {
        OpenError::Damaged { path, reason } => {
            let me = &validated.members[validated.me];
            let remedy = match validated.members.len() {
                1 => "restore a backup into a new one (`tenure snapshot restore`)".to_owned(),
                _ => format!(
                    "replace the member: `tenure member remove {}`, start it with an empty \
                     directory and --initial-cluster-state existing, `tenure member add {}`",
                    me.name, me.peer_url
                ),
            };
            ServeError::Damaged { path, reason, remedy }
        }
        error => with_member_names(error, validated),
    }
}

/// Converts an error of the data directory. If the directory belongs to another member or another
/// cluster, the result names both owners, and the options that the user should correct.
fn with_member_names(error: OpenError, validated: &ValidatedConfig) -> ServeError {
    let OpenError::WrongOwner { path, found, expected } = error else { return error.into() };
    // The field `cluster` of an owner contains the token of the cluster, a space and the ID of the
    // cluster.
    let token =
        |owner: &StateOwner| owner.cluster.rsplit_once(' ').map(|(token, _)| token.to_owned());
    let is_same_cluster = found.cluster == expected.cluster;
    // The directory contains the index of its owner's process, and the configuration maps indices
    // to names. This mapping is valid if the cluster is the same. It is probably valid if the token
    // differs, but the index and the group size are equal. If only the ID of the cluster differs,
    // members may have been renamed.
    let has_name = is_same_cluster
        || token(&found) != token(&expected)
            && (found.process, found.group_size) == (expected.process, expected.group_size);
    let describe = |StateOwner { cluster, process, group_size }: &StateOwner, has_name| {
        let member = match validated.members.get(process.index()) {
            Some(member) if has_name => format!("member {}", member.name),
            _ => format!(
                "member number {} of {group_size}, in the order of names,",
                process.index() + 1
            ),
        };
        format!("{member} in the cluster {cluster:?}")
    };
    let remedy = match token(&found) {
        _ if is_same_cluster => "give each member its own --data-dir".to_owned(),
        Some(of_file) if Some(&of_file) != token(&expected).as_ref() => {
            format!("start it with --initial-cluster-token {of_file}, or give another --data-dir")
        }
        _ => "correct --initial-cluster or --name, or give another --data-dir".to_owned(),
    };
    let (found, expected) = (describe(&found, has_name), describe(&expected, true));
    ServeError::WrongOwner { path, found, expected, remedy }
}

/// Returns a session number for the first start of a member that replaces another member. `now` is
/// the time of the start.
///
/// The number must differ from all sessions of the replaced member. Otherwise the new member would
/// regard commands of the replaced member in the log as its own.
///
/// # Errors
///
/// [`ServeError::ClockBehind`] if the clock shows a time before 2026.
fn joining_session(now: SystemTime) -> Result<u64, ServeError> {
    // The session is the number of milliseconds since the beginning of 2026. It exceeds all earlier
    // sessions, because a process starts less often than once per millisecond.
    let epoch = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let elapsed = now.duration_since(epoch).map_err(|_| ServeError::ClockBehind)?;
    Ok(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacement_needs_a_clock_after_the_beginning_of_2026() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let in_2027 = joining_session(at(1_798_761_600)).expect("a session");
        assert_eq!(in_2027, 365 * 24 * 3600 * 1000);
        for early in [0, 1_767_225_599] {
            let error = joining_session(at(early)).expect_err("an error");
            let expected = "a member that replaces another one needs a correct clock, and the \
                            clock of this machine shows a time before 2026; set the clock, and \
                            start the member again";
            assert_eq!(error.to_string(), expected);
        }
    }
}

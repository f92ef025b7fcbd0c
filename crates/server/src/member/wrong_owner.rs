//! Error of a member that has the data directory of another member or of another cluster.

use tenure_runtime::store::{OpenError, StateOwner};

use crate::config::ValidatedConfig;
use crate::member::ServeError;

/// Converts an error of the data directory. If the directory belongs to another member or another
/// cluster, the result names both owners, and the options that the user should correct.
pub(super) fn with_member_names(error: OpenError, validated: &ValidatedConfig) -> ServeError {
    let OpenError::WrongOwner { path, found, expected } = error else { return error.into() };
    // The cluster is recorded as its token and its ID.
    let token =
        |owner: &StateOwner| owner.cluster.rsplit_once(' ').map(|(token, _)| token.to_owned());
    let is_same_cluster = found.cluster == expected.cluster;
    // Members of another cluster may have other names. A renamed member has another cluster ID and
    // the same token.
    let has_name = is_same_cluster
        || token(&found) != token(&expected)
            && (found.process, found.group_size) == (expected.process, expected.group_size);
    let describe = |owner: &StateOwner| match validated.members.get(owner.process.index()) {
        Some(member) if has_name => {
            format!("member {} in the cluster {:?}", member.name, owner.cluster)
        }
        _ => owner.to_string(),
    };
    let remedy = match token(&found) {
        _ if is_same_cluster => "give each member its own --data-dir".to_owned(),
        Some(of_file) if Some(&of_file) != token(&expected).as_ref() => {
            format!("start it with --initial-cluster-token {of_file}, or give another --data-dir")
        }
        _ => "correct --initial-cluster or --name, or give another --data-dir".to_owned(),
    };
    let (found, expected) = (describe(&found), describe(&expected));
    ServeError::WrongOwner { path, found, expected, remedy }
}

//! Service `Cluster`: lists and changes the members.
//!
//! The initial cluster in the configuration names all possible members with their peer URLs. The
//! current members are those that keep the log now.

use tenure_core::ProcessId;
use tenure_etcd::etcdserverpb as rpc;

use crate::auth::caller::Caller;
use crate::config::url::parse_urls;
use crate::log::request::MembershipChange;
use crate::rpc::error::RpcError;

/// Lists the members. A linearizable call waits until this member has applied all entries that were
/// committed when the call began. Any other call is also served by a member that has not recovered.
pub(crate) async fn list(
    caller: Caller,
    request: rpc::MemberListRequest,
) -> Result<rpc::MemberListResponse, RpcError> {
    // The caller is checked after the wait, because a member that has not recovered knows no users.
    if request.linearizable {
        caller.wait_linearizable().await?;
    }
    caller.check_authenticated()?;
    Ok(rpc::MemberListResponse { header: caller.response_header(0), members: members(&caller) })
}

/// Adds a member to the cluster. Fails if the initial cluster does not name this member, or if this
/// member already belongs to the cluster.
pub(crate) async fn add(
    caller: Caller,
    request: rpc::MemberAddRequest,
) -> Result<rpc::MemberAddResponse, RpcError> {
    caller.wait_linearizable().await?;
    caller.check_root()?;
    // Peer URLs are compared in normal form.
    let given =
        parse_urls(&request.peer_ur_ls.join(",")).map_err(|_| RpcError::PEER_URL_INVALID)?;
    let given: Vec<String> = given.iter().map(ToString::to_string).collect();
    let position = caller.config.members.iter().position(|it| given.contains(&it.peer_url));
    let index = position.ok_or(RpcError::PEER_URL_UNKNOWN)?;
    let process = ProcessId::from_index(index);
    if caller.with_state(|state| state.members.all().contains(process)) {
        return Err(RpcError::PEER_URL_EXISTS);
    }
    let change = match request.is_learner {
        true => MembershipChange::AddLearner(process.0),
        false => MembershipChange::Add(process.0),
    };
    change_members(&caller, change).await?;
    let added = member_info(&caller, index);
    let (header, members) = (caller.response_header(0), members(&caller));
    Ok(rpc::MemberAddResponse { header, member: Some(added), members })
}

pub(crate) async fn remove(
    caller: Caller,
    request: rpc::MemberRemoveRequest,
) -> Result<rpc::MemberRemoveResponse, RpcError> {
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let process = process_of(&caller, request.id)?;
    change_members(&caller, MembershipChange::Remove(process.0)).await?;
    Ok(rpc::MemberRemoveResponse { header: caller.response_header(0), members: members(&caller) })
}

pub(crate) async fn promote(
    caller: Caller,
    request: rpc::MemberPromoteRequest,
) -> Result<rpc::MemberPromoteResponse, RpcError> {
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let process = process_of(&caller, request.id)?;
    if !caller.with_state(|state| state.members.learners.contains(process)) {
        return Err(RpcError::NOT_LEARNER);
    }
    change_members(&caller, MembershipChange::Promote(process.0)).await?;
    // The learner may have been removed meanwhile.
    process_of(&caller, request.id)?;
    Ok(rpc::MemberPromoteResponse { header: caller.response_header(0), members: members(&caller) })
}

/// Changes the members of the log, and waits until this member has applied the change. Does not
/// wait if the change removes this member, because a removed member receives no more entries. If
/// the outcome of the change is unknown, the call succeeds if the change is applied after the wait.
/// Fails at once if the leader has no contact with a majority of the voters after the change.
///
/// A leader that is removed may stop before it responds. The outcome is unknown then.
async fn change_members(caller: &Caller, change: MembershipChange) -> Result<(), RpcError> {
    let _undecided = caller.track_undecided_request();
    let done = caller.change_members(change).await;
    let is_unknown = |why: &RpcError| [RpcError::LEADER_FAILED, RpcError::TIMED_OUT].contains(why);
    if let Err(why) = done.as_ref()
        && !is_unknown(why)
    {
        return done;
    }
    if change == MembershipChange::Remove(ProcessId::from_index(caller.config.me).0) {
        return done;
    }
    let confirmed = caller.wait_linearizable().await;
    let is_applied = confirmed.is_ok() && caller.with_state(|state| change.is_done(&state.members));
    if is_applied { Ok(()) } else { done }
}

fn process_of(caller: &Caller, id: u64) -> Result<ProcessId, RpcError> {
    let index = caller.config.members.iter().position(|it| it.id == id);
    let process = ProcessId::from_index(index.ok_or(RpcError::MEMBER_NOT_FOUND)?);
    let is_member = caller.with_state(|state| state.members.all().contains(process));
    is_member.then_some(process).ok_or(RpcError::MEMBER_NOT_FOUND)
}

fn members(caller: &Caller) -> Vec<rpc::Member> {
    let processes = caller.with_state(|state| state.members.all());
    processes.iter().map(|process| member_info(caller, process.index())).collect()
}

fn member_info(caller: &Caller, index: usize) -> rpc::Member {
    let process = ProcessId::from_index(index);
    let (urls, is_learner) = caller.with_state(|state| {
        (state.client_urls.get(&process.0).cloned(), state.members.learners.contains(process))
    });
    let it = &caller.config.members[index];
    let own = || (index == caller.config.me).then(|| caller.config.client_urls.clone());
    rpc::Member {
        id: it.id,
        name: it.name.clone(),
        peer_ur_ls: Some(it.peer_url.clone()).filter(|url| !url.is_empty()).into_iter().collect(),
        client_ur_ls: urls.or_else(own).unwrap_or_default(),
        is_learner,
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{Error, Principal};
    use tokio::runtime::{Builder, Runtime};

    use super::*;
    use crate::auth::caller::tests::member_with_users;
    use crate::config::Config;
    use crate::member::Member;

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().expect("a runtime")
    }

    #[test]
    fn linearizable_list_requires_authentication_before_recovery() {
        let first = runtime();
        let (folder, _) = first.block_on(member_with_users("secret"));
        // The member stops with its runtime.
        drop(first);
        let config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        let validated = config.validate().expect("a valid configuration");
        let listed = runtime().block_on(async {
            let (member, _log) = Member::start(&config, validated).expect("a member");
            assert!(!member.has_recovered());
            loop {
                let caller = Caller::new(member.clone(), Principal::Anonymous);
                let listed = list(caller, rpc::MemberListRequest { linearizable: true }).await;
                // A slow machine may need more time for the recovery than one request has.
                let unavailable = [RpcError::NO_LEADER, RpcError::TIMED_OUT];
                if listed.as_ref().err().is_none_or(|error| !unavailable.contains(error)) {
                    return listed;
                }
            }
        });
        assert_eq!(listed.err(), Some(Error::UserEmpty.into()));
    }
}

//! Who the members are, and how that changes.
//!
//! Everybody who can ever be a member is named when the cluster begins, with the URL for its peers.
//! Of those, some keep the log: they are the members.

use tenure_core::ProcessId;
use tenure_etcd::etcdserverpb as rpc;

use crate::caller::Caller;
use crate::errand::Change;
use crate::refusal::Refusal;
use crate::url::urls;

pub(crate) async fn list(
    member: Caller,
    asked: rpc::MemberListRequest,
) -> Result<rpc::MemberListResponse, Refusal> {
    member.is_named()?;
    if asked.linearizable {
        member.confirm().await?;
    }
    Ok(rpc::MemberListResponse { header: member.header(0), members: members(&member) })
}

/// Takes somebody in who was removed before, or did not take part from the beginning.
pub(crate) async fn add(
    member: Caller,
    asked: rpc::MemberAddRequest,
) -> Result<rpc::MemberAddResponse, Refusal> {
    member.confirm().await?;
    member.may_all()?;
    // They are compared as we write them.
    let given = urls(&asked.peer_ur_ls.join(",")).map_err(|_| Refusal::URL_INVALID)?;
    let given: Vec<String> = given.iter().map(ToString::to_string).collect();
    let known = member.plan.members.iter().position(|it| given.contains(&it.peer_url));
    let index = known.ok_or(Refusal::URL_UNKNOWN)?;
    let process = ProcessId::at(index);
    if member.look(|state| state.members.everybody().contains(process)) {
        return Err(Refusal::URL_IN_USE);
    }
    let change = match asked.is_learner {
        true => Change::AddLearner(process.0),
        false => Change::Add(process.0),
    };
    changed(&member, change).await?;
    let added = described(&member, index);
    let (header, members) = (member.header(0), members(&member));
    Ok(rpc::MemberAddResponse { header, member: Some(added), members })
}

/// Has somebody no longer take part.
pub(crate) async fn remove(
    member: Caller,
    asked: rpc::MemberRemoveRequest,
) -> Result<rpc::MemberRemoveResponse, Refusal> {
    member.confirm().await?;
    member.may_all()?;
    let process = known(&member, asked.id)?;
    changed(&member, Change::Remove(process.0)).await?;
    Ok(rpc::MemberRemoveResponse { header: member.header(0), members: members(&member) })
}

/// Gives who has the log without a vote one.
pub(crate) async fn promote(
    member: Caller,
    asked: rpc::MemberPromoteRequest,
) -> Result<rpc::MemberPromoteResponse, Refusal> {
    member.confirm().await?;
    member.may_all()?;
    let process = known(&member, asked.id)?;
    if !member.look(|state| state.members.learners.contains(process)) {
        return Err(Refusal::NO_LEARNER);
    }
    changed(&member, Change::Promote(process.0)).await?;
    Ok(rpc::MemberPromoteResponse { header: member.header(0), members: members(&member) })
}

/// Has the log kept by others, and waits until this member knows that they do. Who is removed is
/// told of nothing any more; and a leader that is may be gone before it says that it was.
async fn changed(member: &Caller, change: Change) -> Result<(), Refusal> {
    let _undecided = member.undecided();
    let done = member.change(change).await;
    let is_unknown = |why: &Refusal| [Refusal::LEADER_FAILED, Refusal::TIMED_OUT].contains(why);
    if let Err(why) = done.as_ref()
        && !is_unknown(why)
    {
        return done;
    }
    if change == Change::Remove(ProcessId::at(member.plan.me).0) {
        return done;
    }
    let confirmed = member.confirm().await;
    let is_so = confirmed.is_ok() && member.look(|state| change.is_done(&state.members));
    if is_so { Ok(()) } else { done }
}

/// The process of a member.
fn known(member: &Caller, id: u64) -> Result<ProcessId, Refusal> {
    let index = member.plan.members.iter().position(|it| it.id == id);
    let process = ProcessId::at(index.ok_or(Refusal::NO_MEMBER)?);
    let is_member = member.look(|state| state.members.everybody().contains(process));
    is_member.then_some(process).ok_or(Refusal::NO_MEMBER)
}

fn members(member: &Caller) -> Vec<rpc::Member> {
    let there = member.look(|state| state.members.everybody());
    there.iter().map(|process| described(member, process.index())).collect()
}

fn described(member: &Caller, index: usize) -> rpc::Member {
    let process = ProcessId::at(index);
    let (urls, is_learner) = member.look(|state| {
        (state.urls.get(&process.0).cloned(), state.members.learners.contains(process))
    });
    let it = &member.plan.members[index];
    let own = || (index == member.plan.me).then(|| member.plan.client_urls.clone());
    rpc::Member {
        id: it.id,
        name: it.name.clone(),
        peer_ur_ls: Some(it.peer_url.clone()).filter(|url| !url.is_empty()).into_iter().collect(),
        client_ur_ls: urls.or_else(own).unwrap_or_default(),
        is_learner,
    }
}

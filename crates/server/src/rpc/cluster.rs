//! Who the members are.

use std::sync::Arc;

use crate::member::Member;
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;

pub(crate) async fn list(
    member: Arc<Member>,
    asked: rpc::MemberListRequest,
) -> Result<rpc::MemberListResponse, Refusal> {
    if asked.linearizable {
        member.confirm().await?;
    }
    Ok(rpc::MemberListResponse { header: member.header(0), members: members(&member) })
}

fn members(member: &Member) -> Vec<rpc::Member> {
    let plan = &member.plan;
    let each = plan.members.iter().enumerate().map(|(index, it)| rpc::Member {
        id: it.id,
        name: it.name.clone(),
        peer_ur_ls: vec![it.peer_url.clone()],
        client_ur_ls: if index == plan.me { plan.client_urls.clone() } else { Vec::new() },
        is_learner: false,
    });
    each.collect()
}

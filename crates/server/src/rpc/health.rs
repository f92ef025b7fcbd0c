//! Health service of gRPC.

use futures_util::{Stream, StreamExt, stream};
use tonic::{Response, Status};

use crate::auth::caller::Caller;
use crate::log::state::LeaderStatus;
use crate::rpc::error::RpcError;
use tenure_etcd::health::health_check_response::ServingStatus;
use tenure_etcd::health::{HealthCheckRequest, HealthCheckResponse};

pub(crate) async fn check(
    caller: Caller,
    request: HealthCheckRequest,
) -> Result<HealthCheckResponse, RpcError> {
    match is_known(&request) {
        true => Ok(response(caller.leader_status())),
        false => Err(RpcError::UNKNOWN_SERVICE),
    }
}

pub(crate) async fn watch(
    caller: Caller,
    request: HealthCheckRequest,
) -> Result<
    Response<impl Stream<Item = Result<HealthCheckResponse, Status>> + Send + 'static>,
    RpcError,
> {
    let mut leader_status = caller.shared.leader_status.subscribe();
    leader_status.mark_changed();
    let statuses = stream::unfold(leader_status, |mut leader_status| async {
        leader_status.changed().await.ok()?;
        let now = *leader_status.borrow_and_update();
        Some((Ok(response(now)), leader_status))
    });
    // The stream of an unknown service stays open, because the service may become known later.
    let unknown = HealthCheckResponse { status: ServingStatus::ServiceUnknown.into() };
    let unknown = stream::iter([Ok(unknown)]).chain(stream::pending());
    Ok(Response::new(match is_known(&request) {
        true => statuses.left_stream(),
        false => unknown.right_stream(),
    }))
}

/// Returns true if the request names no service. The request then concerns the whole member. All
/// named services are unknown, as at etcd.
fn is_known(request: &HealthCheckRequest) -> bool {
    request.service.is_empty()
}

fn response(leader_status: LeaderStatus) -> HealthCheckResponse {
    let status = match leader_status.leader {
        Some(_) => ServingStatus::Serving,
        None => ServingStatus::NotServing,
    };
    HealthCheckResponse { status: status.into() }
}

#[cfg(test)]
mod tests {
    use tenure_runtime::ports::reserve_address;
    use tenure_store::Command;
    use tonic::Code;

    use super::*;
    use crate::config::Config;
    use crate::test_member::TestMember;

    async fn status_of(
        member: &TestMember,
        method: &str,
        service: &str,
    ) -> Result<ServingStatus, Code> {
        let mut call = member.call(&format!("/grpc.health.v1.Health/{method}")).await;
        call.send(&HealthCheckRequest { service: service.into() }).await;
        call.end_requests();
        let response: Result<Option<HealthCheckResponse>, Status> = call.next_response().await;
        response
            .map(|response| response.expect("a response").status())
            .map_err(|status| status.code())
    }

    #[tokio::test]
    async fn only_the_member_itself_is_a_known_service() {
        let member = TestMember::start();
        let status_of = async |method| status_of(&member, method, "etcdserverpb.KV").await;
        assert_eq!(status_of("Check").await, Err(Code::NotFound));
        assert_eq!(status_of("Watch").await, Ok(ServingStatus::ServiceUnknown));
    }

    #[tokio::test]
    async fn member_serves_only_with_a_leader() {
        let leading = TestMember::start();
        // A command is executed only by a leader.
        leading.execute(Command::Grant { lease: 7, ttl: 600 }).await;
        let members = ["a", "b", "c"].map(|name| format!("{name}=http://{}", reserve_address()));
        let initial_cluster = Some(members.join(","));
        let config = Config { name: "a".into(), initial_cluster, ..Config::default() };
        let alone = TestMember::start_with(config);
        for method in ["Check", "Watch"] {
            assert_eq!(status_of(&leading, method, "").await, Ok(ServingStatus::Serving));
            assert_eq!(status_of(&alone, method, "").await, Ok(ServingStatus::NotServing));
        }
    }
}

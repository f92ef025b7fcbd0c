//! Whether a member can serve, as gRPC asks it.

use futures_util::{Stream, StreamExt, stream};
use tonic::Status;

use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::state::Standing;
use tenure_etcd::health::health_check_response::ServingStatus;
use tenure_etcd::health::{HealthCheckRequest, HealthCheckResponse};

pub(crate) async fn check(
    member: Caller,
    asked: HealthCheckRequest,
) -> Result<HealthCheckResponse, Refusal> {
    match is_known(&asked) {
        true => Ok(response(member.standing())),
        false => Err(Refusal::NO_SERVICE),
    }
}

pub(crate) fn watch(
    member: Caller,
    asked: HealthCheckRequest,
) -> impl Stream<Item = Result<HealthCheckResponse, Status>> + Send + 'static {
    let mut standing = member.shared.standing.subscribe();
    standing.mark_changed();
    let told = stream::unfold(standing, |mut standing| async {
        standing.changed().await.ok()?;
        let now = *standing.borrow_and_update();
        Some((Ok(response(now)), standing))
    });
    // Whether another service will be known is not said, so it is waited for.
    let unknown = HealthCheckResponse { status: ServingStatus::ServiceUnknown.into() };
    let unknown = stream::iter([Ok(unknown)]).chain(stream::pending());
    if is_known(&asked) { told.left_stream() } else { unknown.right_stream() }
}

/// The member as a whole is the only service, as for etcd.
fn is_known(asked: &HealthCheckRequest) -> bool {
    asked.service.is_empty()
}

fn response(standing: Standing) -> HealthCheckResponse {
    let status = match standing.leader {
        Some(_) => ServingStatus::Serving,
        None => ServingStatus::NotServing,
    };
    HealthCheckResponse { status: status.into() }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::alone::Alone;

    #[tokio::test]
    async fn a_member_is_the_only_service_there_is() {
        let alone = Alone::start();
        let ask = async |method: &str, service: &str| {
            let mut call = alone.call(&format!("/grpc.health.v1.Health/{method}")).await;
            call.ask(&HealthCheckRequest { service: service.into() }).await;
            call.end();
            let told: Result<Option<HealthCheckResponse>, Status> = call.next().await;
            told.map(|told| told.expect("an answer").status()).map_err(|status| status.code())
        };
        assert_eq!(ask("Check", "etcdserverpb.KV").await, Err(Code::NotFound));
        assert_eq!(ask("Watch", "etcdserverpb.KV").await, Ok(ServingStatus::ServiceUnknown));
        for method in ["Check", "Watch"] {
            let told = ask(method, "").await.expect("it is known");
            assert!(matches!(told, ServingStatus::Serving | ServingStatus::NotServing));
        }
    }
}

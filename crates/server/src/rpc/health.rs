//! Whether a member can serve, as gRPC asks it.

use futures_util::{Stream, stream};
use tonic::Status;

use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::state::Standing;
use tenure_etcd::health::health_check_response::ServingStatus;
use tenure_etcd::health::{HealthCheckRequest, HealthCheckResponse};

pub(crate) async fn check(
    member: Caller,
    _: HealthCheckRequest,
) -> Result<HealthCheckResponse, Refusal> {
    Ok(response(member.standing()))
}

pub(crate) fn watch(
    member: Caller,
    _: HealthCheckRequest,
) -> impl Stream<Item = Result<HealthCheckResponse, Status>> + Send + 'static {
    let mut standing = member.shared.standing.subscribe();
    standing.mark_changed();
    stream::unfold(standing, |mut standing| async {
        standing.changed().await.ok()?;
        let now = *standing.borrow_and_update();
        Some((Ok(response(now)), standing))
    })
}

fn response(standing: Standing) -> HealthCheckResponse {
    let status = match standing.leader {
        Some(_) => ServingStatus::Serving,
        None => ServingStatus::NotServing,
    };
    HealthCheckResponse { status: status.into() }
}

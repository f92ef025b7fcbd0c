//! Shutdown of a member: open calls end with the error that etcd returns.

use std::future::Future;
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tonic::Status;

use crate::log::state::SharedState;
use crate::member::Member;
use crate::rpc::error::RpcError;

/// Time in which calls may still respond once the shutdown has begun.
const RESPONSE_GRACE_PERIOD: Duration = Duration::from_millis(100);

impl SharedState {
    /// Ends all open calls, and all calls that begin later.
    pub(crate) fn stop_serving(&self) {
        self.is_stopping.send_replace(true);
    }
}

impl Member {
    /// Resolves when calls have to end.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_stopping = self.shared.is_stopping.subscribe();
        async move {
            // The sender lives as long as the member, so its end is a shutdown as well.
            let _ = is_stopping.wait_for(|is_stopping| *is_stopping).await;
            tokio::time::sleep(RESPONSE_GRACE_PERIOD).await;
        }
    }
}

/// Forwards a stream until the member shuts down, and then ends it with an error.
pub(crate) fn until_stopped<T, All>(
    member: &Member,
    all: All,
) -> impl Stream<Item = Result<T, Status>> + Send + use<T, All>
where
    T: Send + 'static,
    All: Stream<Item = Result<T, Status>> + Send + 'static,
{
    let (mut all, mut stopped) = (Box::pin(all), Box::pin(member.stopped()));
    let mut is_over = false;
    stream::poll_fn(move |context| {
        if is_over {
            return Poll::Ready(None);
        }
        if stopped.as_mut().poll(context).is_ready() {
            is_over = true;
            return Poll::Ready(Some(Err(RpcError::STOPPED.into())));
        }
        let next = ready!(all.poll_next_unpin(context));
        is_over = next.is_none();
        Poll::Ready(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[tokio::test]
    async fn stream_ends_with_error_at_shutdown() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        let (member, _) = Member::start(&config, config.plan().expect("a plan")).expect("a member");
        let endless = stream::iter([Ok(1)]).chain(stream::pending());
        let mut endless = Box::pin(until_stopped(&member, endless));
        assert_eq!(endless.next().await.map(Result::ok), Some(Some(1)));
        member.shared.stop_serving();
        let status = endless.next().await.expect("an item").expect_err("an error");
        assert_eq!(status.message(), "etcdserver: server stopped");
        assert!(endless.next().await.is_none());
        let ended: Vec<_> =
            until_stopped(&member, stream::empty::<Result<(), _>>()).collect().await;
        assert!(ended.len() <= 1);
    }
}

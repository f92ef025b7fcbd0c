//! Test of the signal SIGHUP at a node that has just started. The test has its own process, because
//! the handler of a signal stays installed until its process ends.

use rustix::process::{Signal, getpid, kill_process};
use tenure_daemon::{Config, NodeEvent, NodeEventOptions, protocol_from_catalogue, run_node};
use tenure_runtime::ports::reserve_address;
use tokio::sync::oneshot;

#[tokio::test]
async fn hangup_during_ready_event_ends_no_node() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let address = reserve_address().to_string();
    let config =
        Config::builder("test").cluster_addresses(1, [address]).directory(directory.path());
    let (sender, elected) = oneshot::channel();
    let mut sender = Some(sender);
    let on_event = move |event| match event {
        // If the process has no handler, it ends before this call returns.
        NodeEvent::Ready { .. } => kill_process(getpid(), Signal::HUP).expect("this process"),
        NodeEvent::Elected { .. } => {
            let _ = sender.take().map(|sender| sender.send(()));
        }
        _ => {}
    };
    let stop = async { drop(elected.await) };
    let config = config.build().expect("a valid configuration");
    let options = NodeEventOptions::default();
    run_node(config, protocol_from_catalogue, options, stop, on_event).await.expect("a clean stop");
}

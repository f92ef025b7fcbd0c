//! An experiment with a late write to a resource. In one case the resource checks fencing tokens.
//! In the other case it does not.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_core::{Fence, ProcessId};
use tenure_daemon::resource::{CounterClient, CounterServer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LateWriteArguments {
    fenced: bool,
}

/// Performs a late write at a resource, which is a counter.
///
/// P1 enters, reads the counter, and is suspended. P2 enters, increments the counter and exits. P1
/// resumes and writes its outdated increment. Returns the numbers of accepted and rejected writes,
/// and the final value of the counter.
pub(super) fn perform_late_write(with: LateWriteArguments) -> std::io::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(written(with.fenced))
}

async fn written(fenced: bool) -> std::io::Result<Value> {
    let server = CounterServer::start(2, None).await?;
    let mut first = CounterClient::connect(server.address(), ProcessId(0)).await?;
    let mut second = CounterClient::connect(server.address(), ProcessId(1)).await?;
    let fence = |number| fenced.then_some(Fence(number, 0));
    let read = first.get(fence(1)).await?;
    let later = second.get(fence(2)).await?;
    let mut refused = 0;
    if let Ok(value) = later {
        refused += u32::from(second.put(fence(2), value + 1).await?.is_err());
    }
    if let Ok(value) = read {
        refused += u32::from(first.put(fence(1), value + 1).await?.is_err());
    }
    let stats = server.stats();
    Ok(json!({ "accepted": stats.puts, "refused": refused, "counter": stats.value }))
}

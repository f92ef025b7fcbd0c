//! Reads of ranges that may scan many keys.

use tenure_store::{AccessControl, CollectedRead, Error, Principal, RangeRead};

use crate::auth::caller::Caller;
use crate::blocking::{MAX_INLINE_SCAN_KEYS, run_scan};
use crate::rpc::error::RpcError;

/// Reads a range, and returns the result of `finish`. Also returns the oldest revision of the
/// history at the time of the read. A read of many keys waits for a permit, and then runs in a
/// blocking thread.
///
/// `check` decides whether the caller may read the range. It is called twice, because the rights
/// may change during the wait. The first call comes before the count of the keys, which needs the
/// lock of the state: an unauthorized caller must not cause it.
pub(crate) async fn scan_range<T: Send + 'static>(
    caller: &Caller,
    range: &RangeRead,
    check: impl Fn(&AccessControl, &Principal) -> Result<(), Error>,
    finish: impl FnOnce(CollectedRead) -> T + Send + 'static,
) -> Result<(T, u64), RpcError> {
    caller.check_access(&check)?;
    let keys =
        caller.with_state(|state| state.store.range_scan_cost(range, MAX_INLINE_SCAN_KEYS + 1));
    let _permit = caller.scan_limit.acquire_for_scan(keys).await?;
    let (read, oldest_revision) = caller.check_and_read(check, |store| {
        Ok((store.collect_range(range)?, store.oldest_revision()))
    })?;
    let finished = run_scan(read.unprocessed_item_count(), move || finish(read)).await?;
    Ok((finished, oldest_revision))
}

//! Memory of this program on a web page, where the program is a WebAssembly module.

use std::sync::OnceLock;

const PAGE_BYTES: u64 = 1 << 16;

#[expect(clippy::unnecessary_wraps, reason = "other systems may not report their memory")]
pub(crate) fn memory_limit() -> Option<u64> {
    Some(1 << 32)
}

/// Does nothing. A module cannot end itself, and each search has a limit of its own.
pub(crate) fn stop_at_memory_limit() {}

/// Returns the growth of the module's linear memory since the first call, in bytes. The memory
/// never shrinks.
#[expect(clippy::unnecessary_wraps, reason = "other systems may not report their memory")]
pub(crate) fn memory_growth() -> Option<u64> {
    static BEFORE: OnceLock<u64> = OnceLock::new();
    let now = core::arch::wasm32::memory_size(0) as u64 * PAGE_BYTES;
    Some(now.saturating_sub(*BEFORE.get_or_init(|| now)))
}

/// Returns `None`, because a web page has no terminal.
pub(crate) fn terminal_columns(_terminal: &std::io::Stdout) -> Option<usize> {
    None
}

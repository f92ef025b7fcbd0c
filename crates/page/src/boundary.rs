//! Exports and imports of the WebAssembly module.
//!
//! Requests and responses are copied through two buffers in the memory of the module. Exports
//! return the addresses of the buffers to the host. Each export runs to completion before the host
//! calls another export.

#![allow(unsafe_code, reason = "the names of exports and imports count as unsafe attributes")]

use std::cell::RefCell;
use std::panic::PanicHookInfo;
use std::time::Duration;

use serde_json::json;
use tenure::check::{SearchProgress, set_host_clock};
use tenure::embedded::set_progress_callback;

use crate::page::PageBackend;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Returns the milliseconds since any fixed moment.
    safe fn now() -> f64;
    /// Reports the progress of a search. The arguments are the address and the length of a JSON
    /// text. Returns 0 if the search may continue.
    safe fn progress(address: *const u8, length: usize) -> i32;
    /// Reports a panic. The arguments are the address and the length of its description.
    safe fn fail(address: *const u8, length: usize);
}

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RESPONSE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PAGE: PageBackend = new_page();
}

fn new_page() -> PageBackend {
    std::panic::set_hook(Box::new(report_panic));
    set_host_clock(time);
    set_progress_callback(report_slice);
    PageBackend::with_files_in_memory(time)
}

/// Returns the time on the clock of the host, since any fixed moment.
fn time() -> Duration {
    Duration::try_from_secs_f64(now() / 1e3).unwrap_or_default()
}

/// Reports the progress of a search to the host. Returns false if the search must stop.
fn report_slice(slice: &SearchProgress) -> bool {
    let SearchProgress { states, depth, waiting, bytes, elapsed } = *slice;
    let seconds = elapsed.as_secs_f64();
    let report = json!({
        "states": states,
        "depth": depth,
        "waiting": waiting,
        "bytes": bytes,
        "seconds": seconds,
    });
    let report = report.to_string();
    progress(report.as_ptr(), report.len()) == 0
}

fn report_panic(panic: &PanicHookInfo<'_>) {
    let text = panic.to_string();
    fail(text.as_ptr(), text.len());
}

/// Makes room for a request of `length` bytes in the request buffer. Returns the address of that
/// buffer, which is valid until the next call of an export.
#[unsafe(no_mangle)]
extern "C" fn buffer(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Handles the request in the first `length` bytes of the request buffer, and empties the buffer.
/// Returns the length of the response in bytes.
#[unsafe(no_mangle)]
extern "C" fn call(length: usize) -> usize {
    let request = REQUEST.take();
    let request = String::from_utf8_lossy(&request[..length.min(request.len())]);
    let response = PAGE.with(|page| page.handle_json(&request));
    RESPONSE.with_borrow_mut(|last| {
        *last = response.into_bytes();
        last.len()
    })
}

/// Returns the address of the last response, which is valid until the next call of an export.
#[unsafe(no_mangle)]
extern "C" fn response() -> *const u8 {
    RESPONSE.with_borrow(|response| response.as_ptr())
}

//! Trace output of tests.

use std::io::Write;
use std::sync::{Arc, Mutex};

/// A file in memory. It can be read after its writer has been dropped.
#[derive(Clone, Default)]
pub(crate) struct Page(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

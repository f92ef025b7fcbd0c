//! Pictures of the worked examples, and what holds of the pictures and exports of any run.

mod aged;
mod interchange;
mod stories;

use std::io::Write;
use std::sync::{Arc, Mutex};

use tenure_trace::{Reader, Trace};

/// A file in memory that outlives its writer.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn trace(&self) -> Trace {
        let bytes = self.0.lock().unwrap();
        let mut reader = Reader::new(bytes.as_slice(), "memory").unwrap();
        let header = reader.header().clone();
        let records = reader.by_ref().map(Result::unwrap).collect();
        Trace { header, records, torn: None }
    }
}

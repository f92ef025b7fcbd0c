//! Export of traces to other formats, and import.

mod mermaid;
mod otel;
mod shiviz;

pub use mermaid::to_mermaid;
pub use otel::to_otel;
pub use shiviz::{ShivizImportError, from_shiviz, to_shiviz};

//! Export and import of other trace formats.

mod mermaid;
mod otel;
mod shiviz;

pub use mermaid::mermaid;
pub use otel::otel;
pub use shiviz::{ImportError, from_shiviz, shiviz};

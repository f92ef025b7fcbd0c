//! What happened: one event format, read, written, merged, shown and judged.

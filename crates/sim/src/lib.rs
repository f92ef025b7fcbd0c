//! A deterministic discrete-event simulator: virtual time, a seeded network, faults and metrics.

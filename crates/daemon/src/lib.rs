//! One node of a cluster as a process: configuration, workload, trace and metrics.

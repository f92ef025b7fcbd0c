//! The vocabulary of Tenure: protocols, effects, nodes, process sets, clocks, quorums, services and monitors.

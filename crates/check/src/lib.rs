//! An exhaustive checker: every interleaving, loss, timer and crash, with shortest counterexamples.

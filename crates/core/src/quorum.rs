//! Quorum systems: families of sets, any two of which intersect.

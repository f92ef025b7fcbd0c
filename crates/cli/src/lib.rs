//! Leader election and distributed mutual exclusion that you can check, watch and run.

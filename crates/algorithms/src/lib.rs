//! One file per published algorithm of mutual exclusion and leader election, with adapters and compositions.

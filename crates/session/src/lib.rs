//! What both sides of a lock service decide about sessions: pure, and without a clock.
//!
//! Each type is told what happened and answers with what is to be done. Time is timers: whoever
//! runs this arms what it is told to arm, from that very moment on, and says when it fires.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod lessor;
mod session;
mod timers;
mod times;
mod waiter;

pub use lessor::{Lessor, Parts, Renewal, RunOut};
pub use session::{Act, Lost, Session, Side, Timer};
pub use timers::Timers;
pub use times::Times;
pub use waiter::{Place, Seen, Waiter, Wish};

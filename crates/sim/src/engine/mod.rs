//! What makes a run happen: virtual time, the network, users, and the processes in their midst.

pub(crate) mod agenda;
pub(crate) mod chats;
pub(crate) mod clocks;
pub(crate) mod controls;
pub(crate) mod core;
pub(crate) mod happenings;
pub(crate) mod lapses;
pub(crate) mod links;
pub(crate) mod post;
pub(crate) mod queue;
pub(crate) mod random;
pub(crate) mod router;
pub(crate) mod timers;
pub(crate) mod users;
pub(crate) mod world;

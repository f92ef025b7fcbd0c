//! Clients of a member that runs in this process, over sockets, some of which misbehave.

mod admin;
mod elections;
mod leader;
mod locks;
mod losses;
mod nested;
mod relay;
mod service;
mod users;

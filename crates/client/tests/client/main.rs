//! Tests of clients against a member in the same process, over sockets. Some of the sockets inject
//! faults.

mod admin;
mod elections;
mod leader;
mod locks;
mod losses;
mod nested;
mod relay;
mod service;
mod users;

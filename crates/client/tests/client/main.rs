//! Tests of clients against a member in the same process, over sockets. Some of the sockets inject
//! faults.

mod admin;
mod barriers;
mod blocking;
mod elections;
mod etcd;
mod leader;
mod locks;
mod losses;
mod metrics;
mod nested;
mod read_write;
mod relay;
mod semaphores;
mod service;
mod several;
mod transfer;
mod users;
mod workplace;

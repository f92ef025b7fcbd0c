//! Members as processes: they are asked as clients ask them, killed, and started again.

mod crash;
mod etcdctl;
mod gateway;
mod member;
mod three;

//! Ports that stay ours for the whole run.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// How often a port is drawn anew that the system gave out twice.
const ATTEMPTS: usize = 16;

/// Ports on loopback, each held by a socket that is bound and does not listen.
///
/// Like the nodes' own sockets it allows the address to be reused, so a node listens at it, and
/// listens again after it was killed; nobody else is given the port in between. That is how
/// Linux does it. Elsewhere the ports are only chosen, not held.
#[derive(Debug)]
pub(super) struct Ports {
    addresses: Vec<SocketAddr>,
    _held: Vec<Socket>,
}

impl Ports {
    /// Reserves `count` ports.
    pub(super) fn reserve(count: u32) -> io::Result<Ports> {
        let (mut addresses, mut held, mut taken) = (Vec::new(), Vec::new(), HashSet::new());
        for _ in 0..count {
            let (address, socket) = reserve_but(&taken)?;
            taken.insert(address.port());
            addresses.push(address);
            held.push(socket);
        }
        if !cfg!(target_os = "linux") {
            held.clear();
        }
        Ok(Ports { addresses, _held: held })
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Reserves a port that is not `taken`.
fn reserve_but(taken: &HashSet<u16>) -> io::Result<(SocketAddr, Socket)> {
    for _ in 0..ATTEMPTS {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))?;
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        if !taken.contains(&address.port()) {
            return Ok((address, socket));
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_held_port_can_be_listened_at_again_and_again() {
        let ports = Ports::reserve(20).unwrap();
        for address in ports.addresses() {
            for _ in 0..2 {
                let listener = TcpListener::bind(address).unwrap();
                let _dialed = TcpStream::connect(address).unwrap();
                let _accepted = listener.accept().unwrap();
            }
            assert!(TcpStream::connect(address).is_err());
        }
    }

    #[test]
    fn of_two_who_listen_at_a_held_port_the_second_is_refused() {
        let ports = Ports::reserve(1).unwrap();
        let _first = TcpListener::bind(ports.addresses()[0]).unwrap();
        let error = TcpListener::bind(ports.addresses()[0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}

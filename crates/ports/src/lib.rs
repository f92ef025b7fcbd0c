//! Ports on loopback that are chosen before whoever listens there is started.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// How often a port is drawn anew that the system gave out twice.
const ATTEMPTS: usize = 16;

/// Ports on loopback, each held by a socket that is bound and does not listen.
///
/// It allows the address to be reused, as those do who listen for TCP on Unix: so one of them
/// listens at it, and listens again after it was killed, and nobody else is given the port in
/// between. That is how Linux does it. Elsewhere the ports are only chosen, not held.
#[derive(Debug)]
pub struct Ports {
    addresses: Vec<SocketAddr>,
    _held: Vec<Socket>,
}

impl Ports {
    /// Reserves `count` ports, until this is dropped.
    ///
    /// # Errors
    ///
    /// What the system says if it gives no socket or no port; none is held then.
    pub fn reserve(count: u32) -> io::Result<Ports> {
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

    /// Where they are.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// A port that is held until this process ends, for tests.
///
/// # Panics
///
/// If the system gives none.
pub fn reserved() -> SocketAddr {
    static HELD: Mutex<Vec<Ports>> = Mutex::new(Vec::new());
    let ports = Ports::reserve(1).expect("a port");
    let address = ports.addresses[0];
    HELD.lock().expect("nobody panics in here").push(ports);
    address
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
    fn a_reserved_port_is_given_to_nobody_but_to_whoever_asks_for_it() {
        let reserved: Vec<SocketAddr> = (0..50).map(|_| reserved()).collect();
        for _ in 0..20_000 {
            let other = TcpListener::bind("127.0.0.1:0").unwrap();
            assert!(!reserved.contains(&other.local_addr().unwrap()));
        }
        for address in reserved {
            TcpListener::bind(address).unwrap();
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

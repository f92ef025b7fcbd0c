//! Ports that a test has chosen before what listens there is started.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A port of this machine that the system gives to nobody else for a minute, and lets anybody
/// listen at who asks for this very one, as those do who listen for TCP on Unix.
///
/// A connection has ended there that this side closed first, and the system remembers it for as
/// long. A port that is merely let go may be that of the next one who is given any.
///
/// # Panics
///
/// If there is no port, or no connection to oneself.
pub fn reserved() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut other = TcpStream::connect(address).expect("a connection");
    drop(listener.accept().expect("the same connection"));
    let ends = other.read(&mut [0]).expect("an end");
    assert_eq!(ends, 0, "nobody says anything there");
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_given_to_nobody_but_to_whoever_asks_for_it() {
        let reserved: Vec<SocketAddr> = (0..50).map(|_| reserved()).collect();
        for _ in 0..20_000 {
            let other = TcpListener::bind("127.0.0.1:0").expect("a port");
            assert!(!reserved.contains(&other.local_addr().expect("an address")));
        }
        for address in reserved {
            TcpListener::bind(address).expect("a port that is there");
        }
    }
}

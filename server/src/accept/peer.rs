//! The address of a client, as precisely as rates distinguish clients.

use std::net::{IpAddr, Ipv6Addr};

/// The other end of a connection. It is an extension of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// A process of this machine, or a client whose address is unknown because another program
    /// listens for the server.
    Local,
    /// An address, or the network that one subscriber has.
    Remote(IpAddr),
}

impl Peer {
    /// Takes an address. Only the first half of an IPv6 address is used, because a subscriber has
    /// the whole network.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::Remote(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self::Remote(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_subscriber_are_one_peer() {
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(peer("2001:db8:1:2::3"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::3"), peer("2001:db8:1:3::3"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }
}

//! Tracks the open connections, and limits those of each address and those without a caller. The
//! oldest idle connection is closed for a new one.
//!
//! A connection counts as idle until the guard has admitted a request of it, and again after that
//! was answered. Files of the page, logins and incomplete heads make none busy, because they need
//! no credential.

use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use http_body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::peer::Peer;
use crate::ServerLimits;

/// The connections of an acceptor.
#[derive(Debug)]
pub(crate) struct OpenConnections {
    table: Mutex<Table>,
    max_per_address: usize,
    max_idle: usize,
}

#[derive(Debug, Default)]
struct Table {
    /// Counts the connections of addresses that are bounded.
    of_addresses: HashMap<Peer, usize>,
    /// The idle connections, the oldest first.
    idle: BTreeMap<u64, Arc<OpenConnection>>,
    next: u64,
}

/// A connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    all: Arc<OpenConnections>,
    /// Its number among the idle ones, if it is idle. It is changed under the lock of the table.
    idle: Mutex<Option<u64>>,
    /// Cancelled after it gave way or has ended.
    pub(super) ends: CancellationToken,
}

/// Counts a connection until it has ended.
#[derive(Debug)]
pub(super) struct AdmittedConnection {
    pub(super) connection: Arc<OpenConnection>,
    address: Option<Peer>,
}

/// A connection that answers a request of a caller. It is idle again after this is dropped.
#[derive(Debug)]
pub(crate) struct BusyConnection(Arc<OpenConnection>);

impl OpenConnections {
    pub(crate) fn new(limits: &ServerLimits) -> Arc<Self> {
        let max_per_address = limits.max_connections_per_address;
        let max_idle = limits.max_idle_connections;
        Arc::new(Self { table: Mutex::default(), max_per_address, max_idle })
    }

    /// Admits a connection. Returns `None` if its address has too many. Without an address there is
    /// no such bound.
    pub(super) fn admit(self: &Arc<Self>, address: Option<Peer>) -> Option<AdmittedConnection> {
        let mut table = self.table();
        if let Some(address) = address {
            let count = table.of_addresses.entry(address).or_default();
            if *count >= self.max_per_address {
                return None;
            }
            *count += 1;
        }
        let all = self.clone();
        let idle = Mutex::default();
        let connection = Arc::new(OpenConnection { all, idle, ends: CancellationToken::new() });
        table.is_idle(&connection, self.max_idle);
        Some(AdmittedConnection { connection, address })
    }

    /// Ends the connection that has been idle longest. Returns false if all are busy.
    pub(super) fn give_way(&self) -> bool {
        self.table().give_way()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no code under this lock panics")
    }
}

impl Table {
    fn is_idle(&mut self, connection: &Arc<OpenConnection>, max: usize) {
        if self.idle.len() >= max {
            self.give_way();
        }
        self.next += 1;
        *connection.number() = Some(self.next);
        self.idle.insert(self.next, connection.clone());
    }

    fn give_way(&mut self) -> bool {
        let Some((_, oldest)) = self.idle.pop_first() else { return false };
        oldest.ends.cancel();
        true
    }

    fn is_busy(&mut self, connection: &OpenConnection) {
        if let Some(number) = connection.number().take() {
            self.idle.remove(&number);
        }
    }
}

impl OpenConnection {
    /// Marks the connection busy while a caller's request is answered.
    pub(crate) fn is_busy(self: &Arc<Self>) -> BusyConnection {
        self.all.table().is_busy(self);
        BusyConnection(self.clone())
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle.lock().expect("no code under this lock panics")
    }
}

impl Drop for AdmittedConnection {
    fn drop(&mut self) {
        let mut table = self.connection.all.table();
        self.connection.ends.cancel();
        table.is_busy(&self.connection);
        if let Some(address) = self.address
            && let Some(count) = table.of_addresses.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                table.of_addresses.remove(&address);
            }
        }
    }
}

impl BusyConnection {
    /// Keeps the connection busy until the answer was taken.
    pub(crate) fn until_taken(self, answer: Response) -> Response {
        answer.map(|body| Body::new(BusyBody { body, _connection: self }))
    }
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        let mut table = self.0.all.table();
        if !self.0.ends.is_cancelled() {
            table.is_idle(&self.0, self.0.all.max_idle);
        }
    }
}

/// A body whose connection is busy.
struct BusyBody {
    body: Body,
    _connection: BusyConnection,
}

impl HttpBody for BusyBody {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(
        max_connections_per_address: usize,
        max_idle_connections: usize,
    ) -> Arc<OpenConnections> {
        let mut limits = ServerLimits::default();
        limits.max_connections_per_address = max_connections_per_address;
        limits.max_idle_connections = max_idle_connections;
        OpenConnections::new(&limits)
    }

    fn peer(text: &str) -> Option<Peer> {
        Some(Peer::of(text.parse().unwrap()))
    }

    #[test]
    fn connections_are_counted_for_each_address_and_for_each_network_of_one_subscriber() {
        let all = open(2, 99);
        let first = all.admit(peer("2001:db8:1:2::3")).unwrap();
        let _second = all.admit(peer("2001:db8:1:2::4")).unwrap();
        assert!(all.admit(peer("2001:db8:1:2::5")).is_none());
        assert!(all.admit(peer("2001:db8:1:3::5")).is_some());
        let unbounded: Vec<_> = (0..9).map(|_| all.admit(None).unwrap()).collect();
        drop(first);
        let again = all.admit(peer("2001:db8:1:2::6"));
        assert!(again.is_some() && unbounded.len() == 9);
    }

    #[test]
    fn the_oldest_idle_connection_gives_way_and_a_busy_one_does_not() {
        let all = open(9, 99);
        let [first, second, third] = [(); 3].map(|()| all.admit(None).unwrap());
        let has_ended = |one: &AdmittedConnection| one.connection.ends.is_cancelled();
        let busy = first.connection.is_busy();
        assert!(all.give_way());
        assert!(has_ended(&second) && !has_ended(&first) && !has_ended(&third));
        drop(busy); // idle again, and after the third
        assert!(all.give_way());
        assert!(has_ended(&third) && !has_ended(&first));
        let late = first.connection.is_busy();
        drop((first, late));
        assert!(!all.give_way(), "a connection that has ended is not there");
        assert!(all.table().idle.is_empty());
    }

    #[test]
    fn of_more_idle_connections_than_there_may_be_the_oldest_ends_whatever_the_room() {
        let all = open(9, 2);
        let has_ended = |one: &AdmittedConnection| one.connection.ends.is_cancelled();
        let busy = all.admit(None).unwrap();
        let answers = busy.connection.is_busy();
        let [first, second] = [(); 2].map(|()| all.admit(None).unwrap());
        assert!(!has_ended(&first));
        let third = all.admit(None).unwrap();
        assert!(has_ended(&first) && !has_ended(&second) && !has_ended(&third));
        drop(answers); // idle again, and after the others
        assert!(has_ended(&second) && !has_ended(&third) && !has_ended(&busy));
    }
}

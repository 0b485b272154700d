//! The table of open approval requests by user, and of what each inbox has not read. Pure.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    task::Poll,
};

use super::InboxItem;
use crate::protocol::{ApprovalEnd, ApprovalRequest, CallId, UserId};

/// The open requests, and the inboxes that watch them, each with the `W` that wakes its reader.
///
/// Invariant: a user without an open request and without an inbox has no entry.
#[derive(Debug)]
pub(super) struct InboxTable<W> {
    users: HashMap<UserId, OfUser<W>>,
    max_changes: usize,
    last: InboxId,
    is_closed: bool,
}

/// Names an inbox of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct InboxId(u64);

#[derive(Debug)]
struct OfUser<W> {
    open: BTreeMap<CallId, Arc<ApprovalRequest>>,
    inboxes: BTreeMap<InboxId, Unread<W>>,
}

#[derive(Debug)]
struct Unread<W> {
    /// The changes since the last item. `None` if the reader must read all open requests first.
    changes: Option<VecDeque<InboxItem>>,
    /// Wakes the reader at the next change.
    reader: Option<W>,
}

impl<W> InboxTable<W> {
    /// Makes an empty table, whose inboxes keep this many changes.
    pub(super) fn new(max_changes: usize) -> Self {
        Self { users: HashMap::new(), max_changes, last: InboxId::default(), is_closed: false }
    }

    /// Makes an inbox of this user.
    pub(super) fn watch(&mut self, user: &UserId) -> InboxId {
        self.last.0 += 1;
        let inbox = self.last;
        self.entry(user).inboxes.insert(inbox, Unread { changes: None, reader: None });
        inbox
    }

    /// Removes an inbox.
    pub(super) fn leave(&mut self, user: &UserId, inbox: InboxId) {
        if let Some(of_user) = self.users.get_mut(user) {
            of_user.inboxes.remove(&inbox);
        }
        self.forget_if_empty(user);
    }

    /// Opens a request, and returns the readers to wake. A request that is asked again is not
    /// reported again.
    pub(super) fn opened(&mut self, request: Arc<ApprovalRequest>) -> Vec<W> {
        let max = self.max_changes;
        let of_user = self.entry(&request.user);
        match of_user.open.insert(request.call, request.clone()) {
            Some(before) if before == request => Vec::new(),
            Some(_) | None => of_user.tell(&InboxItem::ApprovalRequested { request }, max),
        }
    }

    /// Closes a request of this user, and returns the readers to wake. A request that is not open
    /// changes nothing.
    pub(super) fn ended(&mut self, user: &UserId, call: CallId, end: ApprovalEnd) -> Vec<W> {
        let max = self.max_changes;
        let Some(of_user) = self.users.get_mut(user) else { return Vec::new() };
        let Some(request) = of_user.open.remove(&call) else { return Vec::new() };
        let session = request.session.clone();
        let end = Arc::new(end);
        let woken = of_user.tell(&InboxItem::ApprovalEnded { call, session, end }, max);
        self.forget_if_empty(user);
        woken
    }

    /// Closes all inboxes after what they have not read, and returns the readers to wake.
    pub(super) fn close(&mut self) -> Vec<W> {
        self.is_closed = true;
        let inboxes = self.users.values_mut().flat_map(|of_user| of_user.inboxes.values_mut());
        inboxes.filter_map(|unread| unread.reader.take()).collect()
    }

    /// Reads the next item of an inbox, or notes the reader that waits for it. `None` if nothing
    /// follows.
    pub(super) fn read(
        &mut self,
        user: &UserId,
        inbox: InboxId,
        reader: W,
    ) -> Poll<Option<InboxItem>> {
        let Some(of_user) = self.users.get_mut(user) else { return Poll::Ready(None) };
        let Some(unread) = of_user.inboxes.get_mut(&inbox) else { return Poll::Ready(None) };
        let Some(changes) = &mut unread.changes else {
            unread.changes = Some(VecDeque::new());
            let mut requests: Vec<_> = of_user.open.values().cloned().collect();
            requests.sort_by_key(|request| (request.expires_at, request.call));
            return Poll::Ready(Some(InboxItem::Snapshot { requests }));
        };
        match changes.pop_front() {
            None if !self.is_closed => {
                unread.reader = Some(reader);
                Poll::Pending
            }
            item => Poll::Ready(item),
        }
    }

    /// Returns whether nothing is open and nothing is watched.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    fn entry(&mut self, user: &UserId) -> &mut OfUser<W> {
        let new = || OfUser { open: BTreeMap::new(), inboxes: BTreeMap::new() };
        self.users.entry(user.clone()).or_insert_with(new)
    }

    fn forget_if_empty(&mut self, user: &UserId) {
        let is_empty = |of_user: &OfUser<W>| of_user.open.is_empty() && of_user.inboxes.is_empty();
        if self.users.get(user).is_some_and(is_empty) {
            self.users.remove(user);
        }
    }
}

impl<W> OfUser<W> {
    /// Adds a change to each inbox. One with too many unread changes drops them all and will read
    /// all open requests.
    fn tell(&mut self, item: &InboxItem, max_changes: usize) -> Vec<W> {
        for unread in self.inboxes.values_mut() {
            match &mut unread.changes {
                Some(changes) if changes.len() < max_changes => changes.push_back(item.clone()),
                Some(_) => unread.changes = None,
                None => {}
            }
        }
        self.inboxes.values_mut().filter_map(|unread| unread.reader.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::protocol::{CancelReason, Decision, Digest, SessionId, Timestamp};

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn request(of: &str, call: u128, expires_at: i64) -> Arc<ApprovalRequest> {
        Arc::new(ApprovalRequest {
            call: CallId::new(Uuid::from_u128(call)),
            session: SessionId::new(format!("of {of}")).unwrap(),
            user: user(of),
            tool: "save".into(),
            arguments: serde_json::json!({}).into(),
            consequence: "".into(),
            text: "".into(),
            digest: Digest::new([7; 32]),
            expires_at: Timestamp::from_millis(expires_at),
        })
    }

    fn denied() -> ApprovalEnd {
        ApprovalEnd::Decided { decision: Decision::Deny }
    }

    type Table = InboxTable<&'static str>;

    fn end(table: &mut Table, of: &Arc<ApprovalRequest>) -> Vec<&'static str> {
        table.ended(&of.user, of.call, denied())
    }

    /// Writes what an inbox reports in words, with the calls by their numbers.
    fn told(table: &mut Table, user: &UserId, inbox: InboxId) -> String {
        let number = |call: CallId| call.uuid().as_u128();
        match table.read(user, inbox, "reader") {
            Poll::Ready(Some(InboxItem::Snapshot { requests })) => {
                format!("open {:?}", requests.iter().map(|it| number(it.call)).collect::<Vec<_>>())
            }
            Poll::Ready(Some(InboxItem::ApprovalRequested { request })) => {
                format!("asks {}", number(request.call))
            }
            Poll::Ready(Some(InboxItem::ApprovalEnded { call, .. })) => {
                format!("ended {}", number(call))
            }
            Poll::Pending => "nothing".to_owned(),
            Poll::Ready(None) => "closed".to_owned(),
        }
    }

    #[test]
    fn an_inbox_tells_what_is_open_and_then_each_change_in_order() {
        let mut table = Table::new(8);
        let kim = user("kim");
        table.opened(request("kim", 1, 30));
        table.opened(request("kim", 2, 20));
        let inbox = table.watch(&kim);
        table.opened(request("kim", 3, 10));
        // Read late, the first item has what is open by then, the earliest to expire first.
        assert_eq!(told(&mut table, &kim, inbox), "open [3, 2, 1]");
        end(&mut table, &request("kim", 2, 20));
        table.opened(request("kim", 4, 40));
        for expected in ["ended 2", "asks 4", "nothing"] {
            assert_eq!(told(&mut table, &kim, inbox), expected);
        }
    }

    #[test]
    fn each_inbox_of_a_user_is_told_and_no_inbox_of_another() {
        let mut table = Table::new(8);
        let kim = user("kim");
        let lee = user("lee");
        let inboxes = [(&kim, table.watch(&kim)), (&kim, table.watch(&kim))];
        let of_lee = table.watch(&lee);
        for (user, inbox) in inboxes.into_iter().chain([(&lee, of_lee)]) {
            assert_eq!(told(&mut table, user, inbox), "open []");
            assert_eq!(told(&mut table, user, inbox), "nothing");
        }
        assert_eq!(table.opened(request("kim", 1, 0)), ["reader"; 2], "both are woken");
        assert_eq!(table.ended(&lee, request("kim", 1, 0).call, denied()), [""; 0]);
        for (user, inbox) in inboxes {
            assert_eq!(told(&mut table, user, inbox), "asks 1");
            assert_eq!(told(&mut table, user, inbox), "nothing");
        }
        assert_eq!(told(&mut table, &lee, of_lee), "nothing");
        assert_eq!(told(&mut table, &lee, inboxes[0].1), "closed", "an inbox is its user's");
    }

    #[test]
    fn a_request_that_is_asked_again_is_told_once_and_ends_once() {
        let mut table = Table::new(8);
        let kim = user("kim");
        let inbox = table.watch(&kim);
        told(&mut table, &kim, inbox);
        for _ in 0..3 {
            table.opened(request("kim", 1, 0));
        }
        for _ in 0..2 {
            end(&mut table, &request("kim", 1, 0));
        }
        for expected in ["asks 1", "ended 1", "nothing"] {
            assert_eq!(told(&mut table, &kim, inbox), expected);
        }
    }

    #[test]
    fn an_end_says_the_call_its_session_and_how_it_ended() {
        let mut table = Table::new(8);
        let kim = user("kim");
        let inbox = table.watch(&kim);
        told(&mut table, &kim, inbox);
        let request = request("kim", 1, 0);
        table.opened(request.clone());
        let end = ApprovalEnd::Cancelled { reason: CancelReason::Expired };
        table.ended(&kim, request.call, end.clone());
        told(&mut table, &kim, inbox);
        let call = request.call;
        let session = request.session.clone();
        let end = Arc::new(end);
        let ended = InboxItem::ApprovalEnded { call, session, end };
        assert_eq!(table.read(&kim, inbox, "reader"), Poll::Ready(Some(ended)));
    }

    #[test]
    fn a_reader_that_falls_behind_reads_what_is_open_anew_and_then_each_change() {
        let mut table = Table::new(2);
        let kim = user("kim");
        let slow = table.watch(&kim);
        let quick = table.watch(&kim);
        told(&mut table, &kim, slow);
        told(&mut table, &kim, quick);
        for call in 1..=100 {
            table.opened(request("kim", call, i64::try_from(call).unwrap()));
            assert_eq!(told(&mut table, &kim, quick), format!("asks {call}"));
            if call < 99 {
                end(&mut table, &request("kim", call, 0));
                assert_eq!(told(&mut table, &kim, quick), format!("ended {call}"));
            }
        }
        let kept = table.users[&kim].inboxes[&slow].changes.as_ref().map(VecDeque::len);
        assert_eq!(kept, None, "nothing is kept beyond the bound");
        assert_eq!(told(&mut table, &kim, slow), "open [99, 100]");
        end(&mut table, &request("kim", 99, 0));
        for expected in ["ended 99", "nothing"] {
            assert_eq!(told(&mut table, &kim, slow), expected);
        }
        let kept = |changes: usize| {
            let mut table = Table::new(2);
            let inbox = table.watch(&kim);
            told(&mut table, &kim, inbox);
            (1..=changes).for_each(|call| {
                table.opened(request("kim", call as u128, 0));
            });
            table.users[&kim].inboxes[&inbox].changes.as_ref().map(VecDeque::len)
        };
        assert_eq!([1, 2, 3].map(kept), [Some(1), Some(2), None]);
    }

    #[test]
    fn a_closed_inbox_tells_what_it_has_not_told_and_then_nothing() {
        let mut table = Table::new(8);
        let kim = user("kim");
        let inbox = table.watch(&kim);
        let waits = table.watch(&kim);
        told(&mut table, &kim, inbox);
        table.opened(request("kim", 1, 0));
        told(&mut table, &kim, waits);
        assert_eq!(told(&mut table, &kim, waits), "nothing");
        assert_eq!(table.close(), ["reader"]);
        assert_eq!(told(&mut table, &kim, waits), "closed");
        assert_eq!(told(&mut table, &kim, inbox), "asks 1");
        assert_eq!(told(&mut table, &kim, inbox), "closed");
    }

    #[test]
    fn a_user_that_is_not_watched_costs_the_open_requests_and_nothing_else() {
        let mut table = Table::new(8);
        let kim = user("kim");
        assert_eq!(table.opened(request("kim", 1, 0)), [""; 0]);
        assert_eq!(table.users[&kim].inboxes.len(), 0);
        end(&mut table, &request("kim", 1, 0));
        assert!(table.users.is_empty());
        let inbox = table.watch(&kim);
        table.opened(request("kim", 2, 0));
        table.leave(&kim, inbox);
        assert_eq!(table.users[&kim].inboxes.len(), 0);
        end(&mut table, &request("kim", 2, 0));
        let inbox = table.watch(&kim);
        table.leave(&kim, inbox);
        assert!(table.users.is_empty());
    }
}

//! Erases the texts of temporary chats, when a runtime shuts down and at the next start after a
//! crash.

use madang_actors::{
    port::{StoreError, TemporaryChat, Write},
    supervisor::RuntimeHandles,
};

/// The number of chats that are listed at once, so that a list takes at most some hundred KiB.
const CHATS_AT_ONCE: usize = 1_000;

/// Erases the texts of all temporary chats, none of which is awake. If one is opened later, it is
/// an empty chat without standing approvals.
pub(super) async fn erase(handles: &RuntimeHandles) -> Result<(), StoreError> {
    loop {
        let chats = handles.store.store().temporary(CHATS_AT_ONCE).await?;
        if chats.is_empty() {
            return Ok(());
        }
        for TemporaryChat { session, user: by } in chats {
            let at = handles.calls.clock.now();
            let revoked = Write::Revoke { session: session.clone(), tool: None, by, at };
            handles.store.write(vec![revoked, Write::Erased { session }]).await?;
        }
    }
}

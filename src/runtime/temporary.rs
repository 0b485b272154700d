//! Erases the texts of temporary chats: when a runtime shuts down, and at the next start after a crash.

use madang_actors::{
    port::{StoreError, TemporaryChat, Write},
    supervisor::RuntimeHandles,
};

/// Erases the texts of all temporary chats. None of them is awake. Whoever opens one later finds an empty chat, in which
/// no standing approval holds.
pub(super) async fn erase(handles: &RuntimeHandles) -> Result<(), StoreError> {
    for TemporaryChat { session, user: by } in handles.store.store().temporary().await? {
        let at = handles.calls.clock.now();
        let revoked = Write::Revoke { session: session.clone(), tool: None, by, at };
        handles.store.write(vec![revoked, Write::Erased { session }]).await?;
    }
    Ok(())
}

//! Messages to write, each in a chat of its writer's own.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use madang::{
    SessionId, Timestamp, TurnId, TurnOptions, UserId,
    event::{ChatMessage, Content},
    store::Store,
};
use madang_actors::{ledger::text_digest, port::Write};
use uuid::Uuid;

/// Messages to write. Cheap to clone; no message comes twice.
#[derive(Debug, Clone)]
pub(crate) struct Facts(Arc<Vec<Chat>>);

#[derive(Debug)]
struct Chat {
    session: SessionId,
    turn: TurnId,
    last: AtomicU64,
}

impl Facts {
    /// Opens a chat for each writer.
    pub(crate) async fn new(store: &Arc<dyn Store>, writers: u64) -> Self {
        let user = UserId::new("kim").unwrap();
        let at = Timestamp::from_millis(1);
        let mut transaction = store.begin().await.unwrap();
        let mut chats = Vec::new();
        for writer in 0..writers {
            let session = SessionId::new(format!("session {writer}")).unwrap();
            let turn = TurnId::new(Uuid::now_v7());
            let opened = Write::Session { session: session.clone(), user: user.clone(), at };
            let began = Write::TurnStarted {
                session: session.clone(),
                turn,
                at,
                options: TurnOptions::default(),
                text: text_digest("hi"),
                max_stored_bytes: u64::MAX,
            };
            transaction.write(&[opened, began]).await.unwrap();
            chats.push(Chat { session, turn, last: AtomicU64::new(0) });
        }
        transaction.commit().await.unwrap();
        Self(Arc::new(chats))
    }

    /// Makes the next message of this writer's chat.
    pub(crate) fn next(&self, writer: u64) -> Vec<Write> {
        let chat = &self.0[usize::try_from(writer).unwrap()];
        let message = ChatMessage {
            seq: chat.last.fetch_add(1, Relaxed) + 1,
            turn: chat.turn,
            at: Timestamp::from_millis(1),
            content: Content::user("수면에 좋은 프로토콜 찾아줘"),
        };
        vec![Write::Message { session: chat.session.clone(), message }]
    }
}

//! A session in a runtime without a model: no turn begins, and nothing of one is stored.

use crate::{port::Store, session::Error, test_runtime::TestRuntime};

#[tokio::test]
async fn a_text_is_refused_where_there_is_no_model_and_nothing_is_stored() {
    let runtime = TestRuntime::without_model().await;
    let slot = runtime.slot("s").await;
    let refused = runtime.ask(&slot, "hi").await;
    assert!(matches!(refused, Err(Error::NoModel)), "{refused:?}");
    let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
    assert!(stored.messages.is_empty() && stored.open_turn.is_none());
    assert!(runtime.state(&slot).await.messages.is_empty());
}

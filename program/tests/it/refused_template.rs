//! Tests a chat with a model whose chat template is refused.

use madang::{
    Runtime,
    event::{Content, TurnEnding},
    model::llama::{LlamaModel, LlamaOptions},
    store::SqliteStore,
};
use madang_toolkits::life;

use crate::child::model_with_template;

/// One token a byte: the tools alone need more than the default context.
const CONTEXT: u32 = 65_536;

#[tokio::test]
async fn its_turns_are_answered_beside_tools_that_only_a_system_text_lists() {
    for template in ["{{ ('a' * 3000000000) | length }}", "{% for m in messages %}{{ m.content }}"]
    {
        let options = LlamaOptions::from_bytes("tiny", model_with_template(template));
        let load = || LlamaModel::load(options.context_tokens(CONTEXT));
        let model = tokio::task::spawn_blocking(load).await.unwrap().unwrap();
        let store = SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap();
        let runtime = Runtime::builder().model(model).store(store);
        let runtime = runtime.tools(life::tools()).start().await.unwrap();
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        for said in ["hello", "are you there?"] {
            let end = session.send(said).await.unwrap().ended().await.unwrap();
            assert_eq!(end.ending, TurnEnding::Answered, "{template}");
        }
        let messages = session.state().await.unwrap().messages;
        let words: Vec<_> = messages
            .iter()
            .filter_map(|message| match &message.content {
                Content::Model { text, .. } => Some(&**text),
                Content::User { .. }
                | Content::ToolCall(_)
                | Content::Notice { .. }
                | Content::Cleared => None,
            })
            .collect();
        assert_eq!(words, ["abc", "abc"], "{template}");
        runtime.shutdown().await.unwrap();
    }
}

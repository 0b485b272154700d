//! `madang chat`: runs one session in a terminal, line by line, or as events.
//!
//! `talk` sends the turns, follows each to its end and answers its questions. It shows events on a
//! `Screen`: `terminal` for a person, `lines` for a pipe or a program. In a terminal, `editor`
//! reads the turns, `asking` the keys that answer, and `by_line` the answers that need a line. The
//! texts of models and tools never reach the terminal raw: `wrap` and `flow` break and mark their
//! rows, `pages` splits long questions, and `summary` describes calls.
//!
//! ```text
//! editor --text--> talk --send--> Session
//!                    ^               |
//!   asking, by_line -'-- decide      '--events--> Screen
//! ```
//!
//! Invariants:
//! - No input that was typed before a question was shown answers it.
//! - One turn at a time: the next text is read when the turn has ended.
//! - A closed terminal and SIGTERM keep an open question in the store.

mod asking;
mod by_line;
mod editor;
mod flow;
mod input;
mod lines;
mod pages;
pub(crate) mod prompts;
mod screen;
mod streamed;
mod summary;
mod talk;
mod terminal;
mod typed_json;
mod wrap;

use std::io::{self, IsTerminal};

use madang::{Asks, Error, Runtime, Session, SessionId, TurnOptions};
use madang_mcp::McpServers;
use uuid::Uuid;

use crate::{
    args::Chat, failure::Failure, mcp, model::Model, notes, output, setup, signals::Signals,
    texts::Text,
};
use talk::{Answers, Talk};

/// Chats until the input ends, the person leaves, or a signal asks the program to end.
pub(crate) async fn run(wanted: Chat) -> Result<(), Failure> {
    // This order leaves no database behind if the script or the model is unusable.
    let model = Model::load(&wanted.which, wanted.language.first()).await?;
    let model = model.before(&wanted.fall_backs)?;
    let name = model.name();
    let servers = mcp::servers(&wanted.mcp).await?;
    let store = setup::store(&wanted.tools.database, &wanted.tools.toolkits).await?;
    let mirror = notes::mirror(&store, &wanted.tools, wanted.language.first())?;
    let builder = setup::builder_for(&model, store, &wanted.tools.toolkits, wanted.language.tag());
    let builder = builder.tools(servers.iter().flat_map(McpServers::tools));
    let runtime = model.put_into(builder).start().await.map_err(Failure::of)?;
    let talked = Box::pin(talk(&runtime, &wanted, &name)).await;
    if let Some(mirror) = mirror {
        mirror.stop().await;
    }
    let ended = runtime.shutdown().await;
    if let Some(servers) = servers {
        servers.close().await;
    }
    talked?;
    ended.map_err(Failure::of)
}

async fn talk(runtime: &Runtime, wanted: &Chat, model: &str) -> Result<(), Failure> {
    let locale = wanted.language.first();
    let is_terminal = !wanted.is_json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let answers = Answers::of(wanted.confirm, is_terminal);
    if wanted.confirm.is_some() && matches!(answers, Answers::None) {
        output::complain(&Text::NoTerminalToAsk.in_locale(locale));
    }
    let signals = Signals::new()?;
    let session = open(runtime, wanted).await?;
    if wanted.session.is_none() {
        output::notice(&Text::NewSession(session.id()).in_locale(locale));
    }
    let asks = if matches!(answers, Answers::None) { Asks::Nobody } else { Asks::User };
    let time_zone = wanted.tools.time_zone.clone();
    let options = TurnOptions { asks, time_zone, ..TurnOptions::default() };
    let talk = Talk::new(session, (options, wanted.language), answers, signals);
    if is_terminal {
        terminal::run(talk, model, &wanted.tools.toolkits).await
    } else {
        lines::run(talk, &mut lines::Piped { locale, is_json: wanted.is_json }).await
    }
}

async fn open(runtime: &Runtime, wanted: &Chat) -> Result<Session, Failure> {
    let user = wanted.tools.person.user.clone();
    let fresh = || SessionId::new(Uuid::now_v7().to_string()).expect("a UUID is a short text");
    let id = wanted.session.clone().unwrap_or_else(fresh);
    runtime.user_with_id(&user).session(id.as_str()).await.map_err(|error| match error {
        Error::Foreign(_) => Failure::because(
            format!("session {id} belongs to another user than {user}: give another --session, or its --user"),
            error,
        ),
        Error::Store(_) => {
            Failure::of_store(format!("failed to open session {id}"), error)
        }
        Error::Id(_)
        | Error::TimeZone(_)
        | Error::Overloaded(_)
        | Error::Busy
        | Error::Closed
        | _ => Failure::of(error),
    })
}

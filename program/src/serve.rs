//! `madang serve`: serves chats over HTTP until it is asked to end.

use std::{error::Error as _, path::Path};

use madang::{
    Builder, Limits,
    store::{SqliteStore, Store as _, StoreError},
};
use madang_mcp::McpServers;
use madang_server::{
    CookieKey, ListenAddress, Listener, Server, ServerLimits, ServerOptions, SqliteMemory,
    TokenEntry, TokenFile, TokenHolder, TokenScopes, TokenSecret,
};
use tokio::time::{Duration, Instant, sleep};
use tracing::debug;

use crate::{
    args::Serve,
    chat::prompts::first_prompts,
    failure::Failure,
    language::UiLanguage,
    mcp, metrics,
    model::Model,
    notes, output,
    server_files::{LINK, TOKENS, beside, of_tokens},
    setup,
    signals::Signals,
    texts::Text,
};

/// The time between two looks whether another process has released the database or the address.
const TAKE_OVER_POLL: Duration = Duration::from_millis(100);

/// Serves until a signal asks it to end, and then ends in order.
pub(crate) async fn run(wanted: Serve) -> Result<(), Failure> {
    // A second signal ends at once, also while the model is loaded.
    let mut signals = Signals::new()?;
    let limits = ServerLimits::default();
    let connections = limits.connections_within(raise_open_files());
    if connections < limits.max_connections {
        output::notice(&Text::RoomFor { connections }.in_locale(wanted.locale));
    }
    let until = Instant::now() + wanted.wait_for_lock;
    // This order leaves no database behind if the tokens, the script, the model or the address is
    // unusable.
    let path = setup::database_path(&wanted.tools.database)?;
    let tokens = tokens(&wanted, &path)?;
    let tls = wanted.tls.open().map_err(of_file)?;
    if let Some(issuer) = wanted.jwt.issuer() {
        issuer.try_keys().map_err(of_file)?;
    }
    let model = Model::load(&wanted.which, wanted.locale).await?;
    let model = model.before(&wanted.fall_backs)?;
    let name = model.name();
    let languages = [UiLanguage::Ko, UiLanguage::En];
    let about_model = languages.map(|language| (language, sentences(&model.caveats(language))));
    let mut predecessor = Predecessor { until, signals: &mut signals };
    let mut bound = Vec::new();
    for address in wanted.listen.iter().chain(&wanted.metrics) {
        // The one before gives its addresses back last. What comes from here on waits in the
        // kernel's queue.
        let Some(listener) = predecessor.wait(async || bind(address).await).await? else {
            return Ok(());
        };
        bound.push(match &tls {
            Some(tls) => listener.with_tls(tls.clone()),
            None => listener,
        });
    }
    let of_metrics = bound.split_off(wanted.listen.len());
    let listeners = bound;
    let mcp = mcp::servers(&wanted.mcp).await?;
    let Some(store) = predecessor.wait(async || open(&wanted).await).await? else { return Ok(()) };
    let mirror = notes::mirror(&store, &wanted.tools, wanted.locale)?;
    let limits = Limits { decision_timeout: wanted.decision_timeout, ..Limits::default() };
    // The language of this machine says nothing about the persons elsewhere.
    let builder = setup::builder_for(&model, store.clone(), &wanted.tools.toolkits, None);
    let builder = builder.limits(limits);
    let builder = builder.tools(mcp.iter().flat_map(McpServers::tools));
    let builder = wanted.tools.time_zone.iter().cloned().fold(builder, Builder::time_zone);
    // Before the runtime, which tells the recorder that it finds.
    let measured = if wanted.metrics.is_empty() { None } else { Some(metrics::record()?) };
    let runtime = model.put_into(builder).start().await.map_err(Failure::of)?;
    let memory = SqliteMemory::open(runtime.clone()).await.map_err(Failure::of)?;
    let (options, secret) = options(&wanted, (&path, tokens), store, memory, &name)?;
    let options = about_model
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .fold(options, |options, (language, words)| options.about_model(language.locale(), words));
    let options = measured
        .iter()
        .cloned()
        .fold(options, |options, handle| options.metrics(move || handle.render()));
    let said = Said {
        addresses: listeners.iter().map(Listener::address).collect(),
        of_metrics: of_metrics.iter().map(Listener::address).collect(),
    };
    let server = Server::new(runtime.clone(), options).map_err(Failure::of)?;
    // Each chat that was cut off goes on, whether a reader comes or not.
    let resuming = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.resume_open().await }
    });
    let collected = tokio::spawn({
        let server = server.clone();
        async move { server.serve_metrics(of_metrics).await }
    });
    let upkeep = measured.map(metrics::keep_up);
    let mut has_said = Ok(());
    let stop = async {
        has_said = say(&wanted, &said, secret.as_ref());
        if has_said.is_err() {
            return;
        }
        signals.next().await;
        output::notice(&Text::Ending.in_locale(wanted.locale));
        tokio::spawn(async move {
            signals.next().await;
            // The store has all that was told.
            std::process::exit(1);
        });
    };
    let served = server.serve(listeners, stop).await;
    resuming.abort();
    collected.abort();
    if let Some(upkeep) = upkeep {
        upkeep.abort();
    }
    if let Some(mirror) = mirror {
        mirror.stop().await;
    }
    if let Some(mcp) = mcp {
        mcp.close().await;
    }
    has_said?;
    served.map_err(Failure::of)
}

/// Writes notices as sentences that follow one another.
fn sentences(notices: &[String]) -> String {
    let sentence = |notice: &String| {
        let mut letters = notice.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let end = if notice.ends_with('.') { "" } else { "." };
        format!("{first}{}{end}", letters.as_str())
    };
    notices.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

/// The process that may still hold what this one needs.
struct Predecessor<'a> {
    /// The end of the time that was given for it.
    until: Instant,
    signals: &'a mut Signals,
}

impl Predecessor<'_> {
    /// Takes a thing as soon as it is free. `None` if a signal asks for the end before that.
    async fn wait<T>(
        &mut self,
        mut take: impl AsyncFnMut() -> Result<T, InTheWay>,
    ) -> Result<Option<T>, Failure> {
        loop {
            match take().await {
                Ok(taken) => return Ok(Some(taken)),
                Err(InTheWay::Now(_)) if Instant::now() < self.until => {}
                Err(InTheWay::Now(failure) | InTheWay::Always(failure)) => return Err(failure),
            }
            // A future of the database is never dropped half done; between two tries nothing is
            // lost.
            tokio::select! {
                () = sleep(TAKE_OVER_POLL) => {}
                _ = self.signals.next() => return Ok(None),
            }
        }
    }
}

/// A reason why a thing could not be taken.
enum InTheWay {
    /// Another process has it now.
    Now(Failure),
    /// No wait changes it.
    Always(Failure),
}

async fn open(wanted: &Serve) -> Result<SqliteStore, InTheWay> {
    let opened = setup::store_to_serve(&wanted.tools.database, &wanted.tools.toolkits).await;
    opened.map_err(|failure| {
        if failure.is_of_a_held_database() {
            let sentence =
                format!("{failure}; --wait-for-lock SECONDS waits for the end of that process");
            InTheWay::Now(Failure::because(sentence, failure))
        } else {
            InTheWay::Always(failure)
        }
    })
}

async fn bind(address: &ListenAddress) -> Result<Listener, InTheWay> {
    Listener::bind(address).await.map_err(|error| {
        if error.is_in_use() {
            let sentence = format!(
                "another process listens on {address}: end it, or give another address with --listen"
            );
            InTheWay::Now(Failure::because(sentence, error))
        } else {
            let cause = error.source().map_or_else(String::new, ToString::to_string);
            let sentence = format!("{error} ({cause}): give another address with --listen");
            InTheWay::Always(Failure::because(sentence, error))
        }
    })
}

/// Makes a failure of a file of keys, whose error names it.
fn of_file(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let cause = error.source().map_or_else(String::new, |cause| format!(" ({cause})"));
    Failure::because(format!("{error}{cause}: check the file"), error)
}

/// Names the file of tokens, once it can be read.
fn tokens(wanted: &Serve, database: &Path) -> Result<TokenFile, Failure> {
    let path = wanted.tokens.clone().unwrap_or_else(|| beside(database, TOKENS));
    let file = TokenFile::new(path);
    if wanted.is_open {
        return Ok(file); // it does not count there
    }
    let has_none = file.list().map_err(of_tokens)?.is_empty();
    if has_none && wanted.tokens.is_some() {
        let name = file.path().display().to_string();
        output::notice(&Text::NoTokens { file: &name }.in_locale(wanted.locale));
    }
    Ok(file)
}

/// Puts the options together, and gives the secret that a link is made of.
fn options(
    wanted: &Serve,
    (database, tokens): (&Path, TokenFile),
    store: SqliteStore,
    memory: SqliteMemory,
    model: &str,
) -> Result<(ServerOptions, Option<TokenSecret>), Failure> {
    let options = ServerOptions::default()
        .model(model)
        .on_disconnect(wanted.on_disconnect())
        .cookie_key(CookieKey::open(beside(database, "cookies")).map_err(Failure::of)?)
        .client_memory(memory)
        .audit(move |session, head| {
            let store = store.clone();
            async move {
                let Some(ledger) = store.session_ledger(&session).await? else { return Ok(None) };
                // A long ledger takes seconds to hash, which no worker thread has.
                let audits = tokio::task::spawn_blocking(move || {
                    let keys = Some(store.keys()).filter(|keys| !keys.is_empty());
                    ledger.audit(head.as_ref(), keys)
                });
                audits.await.map(Some).map_err(StoreError::unavailable)
            }
        });
    let toolkits: Vec<_> = wanted.tools.toolkits.names.iter().map(|kit| kit.name()).collect();
    let options = [("ko", true), ("en", false)].into_iter().fold(
        options,
        |options, (language, is_korean)| {
            let prompts = first_prompts(&toolkits, is_korean);
            options.suggestions(language, prompts.into_iter().map(|prompt| prompt.says))
        },
    );
    let options = wanted.public_url.iter().cloned().fold(options, ServerOptions::public_url);
    let options = wanted.allow_origin.iter().cloned().fold(options, ServerOptions::allow_origin);
    let options = match (&wanted.assets, wanted.has_no_page) {
        (Some(folder), _) => options.assets(folder),
        (None, true) => options.without_page(),
        (None, false) => options,
    };
    if wanted.is_open {
        let options = options.open(wanted.tools.person.user.clone());
        let asked = Some(&wanted.open_scope).filter(|asked| !asked.is_empty());
        let scopes = asked.map(|asked| asked.iter().copied().collect());
        return Ok((scopes.into_iter().fold(options, ServerOptions::open_scopes), None));
    }
    let options = options.jwt(wanted.jwt.issuer()).token_file(tokens);
    // Whom it is for is said, so a token of the program's own would be one more than wanted.
    if wanted.tokens.is_some() || wanted.jwt.issuer().is_some() {
        return Ok((options, None));
    }
    let secret = TokenSecret::open(beside(database, LINK)).map_err(Failure::of)?;
    let user = TokenHolder::User(wanted.tools.person.user.clone());
    let token = TokenEntry::new("link", user, TokenScopes::ALL, &secret);
    Ok((options.token(token), Some(secret)))
}

/// The addresses that the server has.
struct Said {
    addresses: Vec<String>,
    of_metrics: Vec<String>,
}

/// Prints where the server is: lines for programs, and a link for a person. They are printed at
/// once, so that a reader that leaves after the first line is noticed.
fn say(wanted: &Serve, said: &Said, secret: Option<&TokenSecret>) -> Result<(), Failure> {
    let Said { addresses, of_metrics } = said;
    let mut lines: Vec<_> =
        addresses.iter().map(|address| format!("listening {address}")).collect();
    lines.extend(of_metrics.iter().map(|address| format!("metrics {address}/metrics")));
    let of_proxy = wanted.public_url.as_ref().map(ToString::to_string);
    let first = addresses.iter().find(|address| address.starts_with("http"));
    if let Some(address) = of_proxy.as_ref().or(first).filter(|_| !wanted.has_no_page) {
        // What follows the mark is not sent to a server and is not logged.
        let token = secret.map_or_else(String::new, |secret| format!("#token={}", secret.reveal()));
        let link = format!("{address}/{token}");
        lines.push(Text::OpenLink(&link).in_locale(wanted.locale));
    }
    output::report(&format!("{}\n", lines.join("\n")))
}

/// Lets the process have as many open files as it may, of which each stream is one, and gives their
/// number.
#[cfg(unix)]
fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        debug!(%error, "the limit of open files stays as it is");
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn raise_open_files() -> Option<u64> {
    None
}

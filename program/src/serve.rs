//! `madang serve`: serves chats over HTTP until it is told to end.

use std::path::{Path, PathBuf};

use madang::{
    Runtime,
    store::{SqliteStore, Store as _},
};
use madang_server::{
    CookieKey, Listener, Server, ServerOptions, SqliteMemory, TokenEntry, TokenFile, TokenHolder,
    TokenScopes, TokenSecret,
};
use tokio::time::{Duration, Instant, sleep};
use tracing::debug;

use crate::{
    args::Serve, failure::Failure, model::Model, notes, output, printable::printable, setup,
    signals::Signals, texts::Text,
};

/// The time between two looks whether another process has released the database.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Serves until a signal asks it to end, and then ends in order.
pub(crate) async fn run(wanted: Serve) -> Result<(), Failure> {
    // A second signal ends at once, also while the model is loaded.
    let mut signals = Signals::new()?;
    raise_open_files();
    let model = Model::load(&wanted.which, wanted.locale()).await?;
    let name = model.name();
    let store = open(&wanted).await?;
    let path = setup::database_path(&wanted.database)?;
    let whose = (&*path, wanted.person.user());
    let mirror = notes::mirror(&store, &wanted.toolkits, &wanted.workspace, whose).await?;
    let builder = setup::builder(store.clone(), &wanted.toolkits, wanted.locale());
    let builder = match &wanted.zone.time_zone {
        Some(zone) => builder.time_zone(zone.clone()),
        None => builder,
    };
    let runtime = model.put_into(builder).start().await.map_err(Failure::of)?;
    let (options, secret) = options(&wanted, &path, store, runtime.clone(), &name)?;
    let mut listeners = Vec::new();
    for address in &wanted.listen {
        listeners.push(Listener::bind(address).await.map_err(Failure::of)?);
    }
    let addresses: Vec<_> = listeners.iter().map(Listener::address).collect();
    let server = Server::new(runtime.clone(), options).map_err(Failure::of)?;
    // Each chat that was cut off goes on, whether a reader comes or not.
    let resuming = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.resume_open().await }
    });
    let mut has_said = Ok(());
    let stop = async {
        has_said = say(&wanted, &addresses, secret.as_ref());
        signals.next().await;
        output::notice(&Text::Ending.in_locale(wanted.locale()));
        tokio::spawn(async move {
            signals.next().await;
            // The store has all that was told.
            std::process::exit(1);
        });
    };
    let served = server.serve(listeners, stop).await;
    resuming.abort();
    if let Some(mirror) = mirror {
        mirror.stop().await;
    }
    has_said?;
    served.map_err(Failure::of)
}

/// Opens the store; waits for another process that holds it, for as long as was asked for.
async fn open(wanted: &Serve) -> Result<SqliteStore, Failure> {
    let until = Instant::now() + wanted.wait_for_lock;
    loop {
        match setup::store_to_serve(&wanted.database, &wanted.toolkits).await {
            Err(failure) if failure.is_of_a_held_database() && Instant::now() < until => {
                sleep(LOCK_POLL).await;
            }
            opened => return opened,
        }
    }
}

/// Puts the options together, and gives the secret that a link is made of.
fn options(
    wanted: &Serve,
    database: &Path,
    store: SqliteStore,
    runtime: Runtime,
    model: &str,
) -> Result<(ServerOptions, Option<TokenSecret>), Failure> {
    let options = ServerOptions::default()
        .model(model)
        .on_disconnect(wanted.on_disconnect())
        .cookie_key(CookieKey::open(beside(database, "cookies")).map_err(Failure::of)?)
        .client_memory(SqliteMemory::new(runtime))
        .audit(move |session, head| {
            let store = store.clone();
            async move {
                let Some(ledger) = store.session_ledger(&session).await? else { return Ok(None) };
                let keys = Some(store.keys()).filter(|keys| !keys.is_empty());
                Ok(Some(ledger.audit(head.as_ref(), keys)))
            }
        });
    let options = wanted.public_url.iter().cloned().fold(options, ServerOptions::public_url);
    let options = wanted.allow_origin.iter().cloned().fold(options, ServerOptions::allow_origin);
    let options = match (&wanted.assets, wanted.has_no_page) {
        (Some(folder), _) => options.assets(folder),
        (None, true) => options.without_page(),
        (None, false) => options,
    };
    if wanted.is_open {
        return Ok((options.open(wanted.person.user()), None));
    }
    if let Some(file) = &wanted.tokens {
        return Ok((options.token_file(TokenFile::new(file)), None));
    }
    let secret = TokenSecret::open(beside(database, "token")).map_err(Failure::of)?;
    let user = TokenHolder::User(wanted.person.user());
    let token = TokenEntry::new("link", user, TokenScopes::ALL, &secret);
    Ok((options.token(token), Some(secret)))
}

/// Says where the server is: a line for programs, and a link for a person.
fn say(wanted: &Serve, addresses: &[String], secret: Option<&TokenSecret>) -> Result<(), Failure> {
    for address in addresses {
        output::line(&format!("listening {}", printable(address)))?;
    }
    let of_proxy = wanted.public_url.as_ref().map(ToString::to_string);
    let first = addresses.iter().find(|address| address.starts_with("http"));
    let Some(address) = of_proxy.as_ref().or(first).filter(|_| !wanted.has_no_page) else {
        return Ok(());
    };
    // What stands behind the mark is sent to no server and stands in no log.
    let token = secret.map_or_else(String::new, |secret| format!("#token={}", secret.reveal()));
    let link = format!("{address}/{token}");
    output::line(&Text::OpenLink(&link).in_locale(wanted.locale()))
}

/// Names a file beside the database.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Lets the process have as many open files as it may: each stream is one.
#[cfg(unix)]
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        // Fewer connections fit then.
        raised.unwrap_or_else(|error| debug!(%error, "the limit of open files stays as it is"));
    }
}

#[cfg(not(unix))]
fn raise_open_files() {}

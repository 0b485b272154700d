//! `madang forget`: erases all that the database has of a user, and prints what was erased.

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::Path,
};

use madang::{
    Clock as _, SystemClock, UserId,
    ledger::{Forget as Order, Forgotten},
    store::{SqliteStore, Store as _},
};
use madang_server::{TokenFile, TokenHolder};
use serde_json::{Value, json};

use crate::{
    args::{Forget, Toolkits},
    failure::Failure,
    language::UiLanguage,
    notes, output,
    server_files::{LINK, TOKENS, beside, of_tokens},
    setup,
};

/// Asks the person, erases, and prints the result as JSON.
pub(crate) async fn run(wanted: Forget) -> Result<(), Failure> {
    let path = setup::database_path(&wanted.database)?;
    if !path.exists() {
        let path = path.display();
        return Err(Failure::new(format!(
            "there is no database {path}: give the path of one with --db"
        )));
    }
    confirm(&wanted)?;
    let store = setup::store_to_serve(&wanted.database, &Toolkits::all()).await?;
    let erased = erase(&store, &wanted, &path).await;
    store.close().await;
    let (report, services) = erased?;
    output::foreign(&report.to_string())?;
    if !services.is_empty() {
        output::notice(&still_spoken_for(&services.join(", "), wanted.locale));
    }
    output::notice(not_reached(wanted.locale));
    Ok(())
}

/// Returns what was erased and what stays, and the names of tokens of services that speak for the
/// user, which stay too.
///
/// Removes the tokens first, and that of the printed link: with one of them the user would begin
/// anew. Then the folders: the pages tell which files are theirs, and must still exist.
async fn erase(
    store: &SqliteStore,
    wanted: &Forget,
    path: &Path,
) -> Result<(Value, Vec<String>), Failure> {
    let file = wanted.tokens.clone().unwrap_or_else(|| beside(path, TOKENS));
    let file = TokenFile::new(file);
    let tokens = file.remove_of(&wanted.user).map_err(of_tokens)?;
    let had_link = remove_link(path)?;
    let services =
        file.list().map_err(of_tokens)?.into_iter().filter(|token| match &token.holder {
            TokenHolder::Service { prefix, .. } => prefix.speaks_for(&wanted.user),
            TokenHolder::User(_) => false,
        });
    let services = services.map(|token| token.name).collect();
    let left = match &wanted.workspace {
        Some(folder) => notes::clear(store, wanted.user.clone(), folder).await?,
        None => Vec::new(),
    };
    let had_folder = remove_folder(path, &wanted.user)?;
    let order = Order {
        user: wanted.user.clone(),
        by: wanted.by.clone(),
        at: SystemClock.now(),
        tables: setup::forgetting(),
    };
    let Forgotten { sessions, messages, calls, transitions, rows } =
        store.forget(&order).await.map_err(Failure::of)?;
    let report = json!({
        "user": wanted.user, "sessions": sessions, "messages": messages, "calls": calls,
        "transitions": transitions, "rows": rows, "workspace": had_folder, "left": left,
        "tokens": tokens, "link": had_link,
    });
    Ok((report, services))
}

/// Removes the token of the printed link, and with it the logins that it made. Its file does not
/// say whose it is: the next start makes another for whoever starts.
fn remove_link(database: &Path) -> Result<bool, Failure> {
    let path = beside(database, LINK);
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let path = path.display();
            let sentence = format!("failed to remove {path}: remove it, and run this again");
            Err(Failure::because(sentence, error))
        }
    }
}

#[cfg(unix)]
fn remove_folder(path: &Path, user: &UserId) -> Result<bool, Failure> {
    madang_toolkits::notes::mirror::remove_workspace_beside(path, user).map_err(Failure::of)
}

/// Does nothing: this system keeps no notes as files.
#[cfg(not(unix))]
fn remove_folder(_: &Path, _: &UserId) -> Result<bool, Failure> {
    Ok(false)
}

/// Requires the user's name as the answer.
fn confirm(wanted: &Forget) -> Result<(), Failure> {
    if wanted.is_confirmed {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            "nothing was erased: without a terminal no question can be asked, so give --yes to erase without a question",
        ));
    }
    output::notice(&question(&wanted.user, wanted.locale));
    let mut typed = String::new();
    let read = io::stdin().read_line(&mut typed);
    read.map_err(|cause| Failure::because("nothing was erased: the answer cannot be read", cause))?;
    if typed.trim_end_matches(['\r', '\n']) == wanted.user.as_str() {
        return Ok(());
    }
    Err(Failure::new("nothing was erased: what was typed is not the name of the user"))
}

fn question(user: &UserId, locale: UiLanguage) -> String {
    match locale {
        UiLanguage::Ko => format!(
            "{user}의 대화, 습관, 메모와 데이터베이스 옆의 메모 폴더, 서버 토큰을 모두 지웁니다. 되돌릴 수 없습니다. 지우려면 사용자 이름을 입력하세요."
        ),
        UiLanguage::En => format!(
            "Erases all chats, habits and notes of {user}, the folder of notes beside the database, and the tokens of the server. This cannot be undone. Type the name of the user to go on."
        ),
    }
}

fn still_spoken_for(services: &str, locale: UiLanguage) -> String {
    match locale {
        UiLanguage::Ko => format!(
            "이 사용자를 대신하는 서비스의 토큰은 남아 있습니다({services}). 서비스가 다시 요청하면 사용자가 새로 생깁니다."
        ),
        UiLanguage::En => format!(
            "Tokens of services that speak for this user stay ({services}). If such a service asks again, the user begins anew."
        ),
    }
}

fn not_reached(locale: UiLanguage) -> &'static str {
    locale.pick(
        "지우지 못한 것: 백업, 파일 시스템이 보관하는 사본, 로그, --workspace로 지정하지 않은 다른 폴더.",
        "Not reached: backups, copies that the file system keeps, logs, and other folders of notes than those named here with --workspace.",
    )
}

//! `madang token`: makes, lists and removes the tokens of a server.

use madang_server::{TokenEntry, TokenFile, TokenHolder, TokenScope, TokenScopes};
use serde_json::json;

use crate::{
    args::{TokenAdd, TokenLocation, TokenOrder},
    failure::Failure,
    output,
    server_files::{TOKENS, beside, of_tokens},
    setup,
};

/// Carries out the order.
pub(crate) fn run(wanted: TokenOrder) -> Result<(), Failure> {
    match wanted {
        TokenOrder::Add(wanted) => add(wanted),
        TokenOrder::List(location) => {
            let tokens = file(&location)?.list().map_err(of_tokens)?;
            tokens.iter().try_for_each(|token| output::foreign(&described(token).to_string()))
        }
        TokenOrder::Remove { name, location } => {
            let file = file(&location)?;
            if file.remove(&name).map_err(of_tokens)? {
                return Ok(());
            }
            let path = file.path().display();
            Err(Failure::new(format!(
                "there is no token {name:?} in {path}: `madang token list` names them"
            )))
        }
    }
}

fn add(wanted: TokenAdd) -> Result<(), Failure> {
    let TokenAdd { user, service, user_header, name, scope, location } = wanted;
    let (holder, usual_name, usual) = match (user, service) {
        (_, Some(prefix)) => {
            let name = prefix.as_str().to_owned();
            let holder = TokenHolder::Service { prefix, user_header };
            (holder, name, vec![TokenScope::Chat])
        }
        (Some(user), None) => {
            let name = user.as_str().to_owned();
            (TokenHolder::User(user), name, vec![TokenScope::Chat, TokenScope::Decide])
        }
        (None, None) => return Err(Failure::new("give a user, or a service with --service")), // the parser asks for one
    };
    let scopes = if scope.is_empty() { usual } else { scope };
    let scopes: TokenScopes = scopes.into_iter().collect();
    let name = name.unwrap_or(usual_name);
    if location.tokens.is_none() {
        setup::prepare_folder(&location.database)?;
    }
    let secret = file(&location)?.add(&name, holder, scopes, None).map_err(of_tokens)?;
    output::foreign(secret.reveal())
}

/// Describes a token without its secret.
fn described(token: &TokenEntry) -> serde_json::Value {
    let scopes: Vec<_> = token.scopes.iter().map(TokenScope::name).collect();
    let mut described = json!({ "name": token.name, "scopes": scopes });
    match &token.holder {
        TokenHolder::User(user) => described["user"] = user.as_str().into(),
        TokenHolder::Service { prefix, user_header } => {
            described["service"] = prefix.as_str().into();
            described["user_header"] = user_header.name().into();
        }
    }
    described
}

fn file(location: &TokenLocation) -> Result<TokenFile, Failure> {
    Ok(TokenFile::new(match &location.tokens {
        Some(path) => path.clone(),
        None => beside(&setup::database_path(&location.database)?, TOKENS),
    }))
}

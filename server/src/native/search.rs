//! Searches the texts of a user's chats.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::store::{
    InvalidSearch, SearchBounds, SearchCursor, SearchPage, SearchQuery, SearchText,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    extract::{Json, whole_number},
    forms::{SearchPlace, SearchWords},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/search", Access::Scope(TokenScope::Chat), search).id("searchTexts")
            .says("Finds words in the texts of the user's chats, the newest chat first. The words are in the body, because addresses are logged.")
            .takes::<SearchBody>(|| serde_json::json!({ "text": "sleep" }))
            .gives::<SearchPage>(StatusCode::OK, "A page of what was found. Only a bounded part of the chats is read for it.")
            .refuses(&[ProblemName::Empty, ProblemName::UnknownValue]),
    ]
}

/// Words to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchBody {
    /// The words, of at most 256 bytes. Upper and lower case are the same.
    #[schemars(with = "SearchWords")]
    text: String,
    /// The maximum number of texts to find, 1 to 50; 20 if it is absent.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u64>,
    /// The `next` value of the previous page, to go on with older chats.
    #[schemars(with = "Option<SearchPlace>")]
    after: Option<String>,
}

/// The most texts of a page.
const MAX_HITS: usize = 50;

async fn search(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Json(SearchBody { text, limit, after }): Json<SearchBody>,
) -> Result<Response, Problem> {
    let text = SearchText::new(&text).map_err(wrong_text)?;
    let usual = SearchBounds::default().hits;
    let hits = limit.map_or(usual, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if !(1..=MAX_HITS).contains(&hits) {
        let detail = format!("It is a number from 1 to {MAX_HITS}.");
        return Err(Problem::malformed("The body does not fit.").at("/limit", detail));
    }
    let after = after.map(|text| text.parse::<SearchCursor>()).transpose();
    let after = after.map_err(|_| Problem::unknown_place("/after"))?;
    if let Err(wait) = shared.rates.search_begins(&caller.user) {
        let problem = Problem::new(ProblemName::TooMany, "Searches come too often.");
        let max = shared.limits.search_burst;
        return Err(problem.reached("searches", "user", max).retry_after(wait));
    }
    let (bytes, time) = (shared.limits.max_search_bytes, shared.limits.search_time);
    let query = SearchQuery { text, after, bounds: SearchBounds { hits, bytes, time } };
    let page = shared.runtime.user_with_id(&caller.user).search(&query).await?;
    Ok(json(&page))
}

fn wrong_text(invalid: InvalidSearch) -> Problem {
    match invalid {
        InvalidSearch::TooLong => Problem::too_long(None, SearchText::MAX_BYTES),
        InvalidSearch::Empty | _ => {
            let detail = "Send at least one character to search for.";
            Problem::new(ProblemName::Empty, detail).at("/text", detail)
        }
    }
}

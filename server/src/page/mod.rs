//! Serves the page: its files, and the headers that a browser gets with them.
//!
//! `files` has the files of the program. `assets` adds the media type of each, and the hash of its
//! bytes as its tag. The index names the other files below a folder, whose name comes from the hash
//! of all of them:
//!
//! ```text
//! GET /                           the index, asked for again each time
//! GET /assets/<hash>/app.css      kept forever: new files have another hash
//! GET /assets/app.css             the same file, asked for again each time
//! ```
//!
//! The index is marked if a person asked for it: by the address bar, a bookmark or a link outside
//! the browser. Only then does a token in the address sign in automatically.
//!
//! A page that is older than the server names the folder of an older hash. It receives the current
//! files, which its browser may not keep.
//!
//! **Invariants.**
//! - The policy of each answer allows only scripts and styles of this server, and no frame around
//!   the page.
//! - A folder that replaces the files, for work on the page, serves no file outside of it.
//! - The page is public and has no secret. Its requests bring the credential.

pub(crate) mod assets;
mod files;

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use self::assets::{Asset, read};
use crate::{
    extract::Ids,
    guard::origin::FetchSite,
    problem::Problem,
    route::{Access, Route},
    state::Shared,
};

/// Restricts scripts and styles to the server's own files, and keeps the page out of frames of
/// other sites.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";
/// Makes a browser ask each time whether the file is still the same.
const ASK: &str = "no-cache";
/// Lets a browser keep the file forever, because another file has another address.
const KEEP: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/", Access::Public, index)
            .id("getPage")
            .says("Returns the page.")
            .gives_text("text/html", "The page."),
        Route::get("/assets/{name}", Access::Public, asset)
            .id("getAsset")
            .says("Returns a file of the page.")
            .gives_text("application/octet-stream", "The file."),
        Route::get("/assets/{version}/{name}", Access::Public, versioned)
            .id("getVersionedAsset")
            .says("Returns a file of this version of the page, which never changes.")
            .gives_text("application/octet-stream", "The file."),
    ]
}

async fn index(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, Problem> {
    let (mut file, cache) = find(&shared, "index.html", ASK).await?;
    if FetchSite::of(&headers) == FetchSite::Person {
        file = file.opened_by_a_person();
    }
    let vary = [(header::VARY, "sec-fetch-site")];
    Ok((vary, answer(file, cache, &headers)).into_response())
}

async fn asset(
    State(shared): State<Arc<Shared>>,
    Ids(name): Ids<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    serve(&shared, &name, ASK, &headers).await
}

async fn versioned(
    State(shared): State<Arc<Shared>>,
    Ids((version, name)): Ids<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // A page that is older than the server gets the present files, and asks for them again.
    let cache = if version == shared.assets.version { KEEP } else { ASK };
    serve(&shared, &name, cache, &headers).await
}

async fn serve(
    shared: &Shared,
    name: &str,
    cache: &'static str,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let (file, cache) = find(shared, name, cache).await?;
    Ok(answer(file, cache, headers))
}

/// Returns a file, and how long it may be kept.
async fn find(
    shared: &Shared,
    name: &str,
    cache: &'static str,
) -> Result<(Asset, &'static str), Problem> {
    if shared.extras.hides_page {
        return Err(Problem::not_found());
    }
    let (file, cache) = match &shared.extras.assets {
        Some(folder) => (read(folder, name).await, ASK),
        None => (shared.assets.find(name), cache),
    };
    Ok((file.ok_or_else(Problem::not_found)?, cache))
}

fn answer(file: Asset, cache: &'static str, asked: &HeaderMap) -> Response {
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|text| text.split(',')).map(str::trim);
    let is_known = known.any(|tag| tag == file.tag || tag == "*");
    let headers = [
        (header::CONTENT_TYPE, file.media_type()),
        (header::ETAG, &*file.tag),
        (header::CACHE_CONTROL, cache),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, file.bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_hash_as_its_tag_and_is_sent_once() {
        let file = || Asset::new("a.js", b"let a".as_slice());
        let fresh = answer(file(), KEEP, &HeaderMap::new());
        assert_eq!(fresh.status(), StatusCode::OK);
        assert_eq!(fresh.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        let tag = fresh.headers()[header::ETAG].clone();
        assert_eq!(tag.len(), 66);
        let asked = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]);
        assert_eq!(answer(file(), KEEP, &asked).status(), StatusCode::NOT_MODIFIED);
        let other = Asset::new("a.js", b"let b".as_slice());
        assert_eq!(answer(other, KEEP, &asked).status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_name_leads_out_of_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(folder.path().join("secret.js"), "secret").unwrap();
        std::fs::write(inner.join("a.js"), "a").unwrap();
        std::fs::write(inner.join(".hidden"), "hidden").unwrap();
        assert_eq!(&*read(&inner, "a.js").await.unwrap().bytes, b"a");
        for name in [
            "../secret.js",
            "..",
            ".",
            "",
            ".hidden",
            "/etc/passwd",
            "a.js/../../secret.js",
            "no.js",
        ] {
            assert!(read(&inner, name).await.is_none(), "{name}");
        }
    }
}

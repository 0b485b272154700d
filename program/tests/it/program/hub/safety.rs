//! Tests that a hub is untrusted: it reaches no path outside of the cache, and no other host gets
//! the token.

use super::*;

#[test]
fn names_that_lead_out_of_the_cache_are_refused() {
    let home = Home::new();
    let hub = Hub::with(&[]);
    for name in [
        "../../../../evil.gguf",
        "/tmp/evil.gguf",
        "a/../../evil.gguf",
        "a\\..\\evil.gguf",
        "evil\u{1b}[2J.gguf",
    ] {
        let lfs = json!({ "sha256": sha256(b"evil"), "size": 4 });
        let listing = json!({ "sha": COMMIT, "siblings": [{ "rfilename": name, "lfs": lfs }] });
        hub.answers(200, "", &listing.to_string());
        refused(&fetch(&home, &hub, MODEL), &["not a hub's listing", "that you do not trust"]);
    }
    for (commit, sum) in [("../../../evil", sha256(b"evil")), (COMMIT, "../../../evil".to_owned())]
    {
        let lfs = json!({ "sha256": sum, "size": 4 });
        let listing = json!({ "sha": commit, "siblings": [{ "rfilename": FILE, "lfs": lfs }] });
        hub.answers(200, "", &listing.to_string());
        refused(&fetch(&home, &hub, MODEL), &["not a hub's listing"]);
    }
    hub.answers(
        200,
        "",
        &json!({ "sha": COMMIT, "siblings": [{ "rfilename": FILE }] }).to_string(),
    );
    refused(&fetch(&home, &hub, MODEL), &["no checksum", FILE, "--model"]);
    assert_eq!(files_below(home.folder.path()), Vec::<PathBuf>::new(), "nothing was written");
    assert_eq!(hub.asked(), []);
}

#[test]
fn a_token_goes_to_the_hub_alone_and_is_never_shown() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(10)]);
    let mut fetch = command(&home, &hub, &["fetch", MODEL, "--verbose"]);
    fetch.env("HF_TOKEN", "hf_secret").env("RUST_LOG", "trace");
    let ended = run(fetch);
    brought(&ended, &bytes);
    assert!(ended.err.contains("broke off"), "there is a log: {ended:?}");
    assert!(!ended.err.contains("hf_secret") && !ended.err.contains("Signature"), "{ended:?}");
    for (address, token) in hub.tokens() {
        assert_eq!(token.as_deref(), (address == "hub").then_some("Bearer hf_secret"), "{address}");
    }
    assert!(hub.tokens().iter().filter(|(address, _)| *address == "bytes").count() == 2);
}

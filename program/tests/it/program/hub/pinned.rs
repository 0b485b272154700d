//! Tests that the intended model is used: a commit stays fixed, a checksum is compared, a changed
//! file is reported.

use super::*;

const LATER: &str = "89abcdef0123456789abcdef0123456789abcdef";

#[test]
fn a_file_that_has_changed_is_told_before_it_is_used_and_the_one_before_stays() {
    let home = Home::new();
    let older = model(10_000);
    let newer = model(20_000);
    let hub = Hub::with(&[(FILE, &older)]);
    let ended = fetch(&home, &hub, MODEL);
    assert!(!ended.err.contains("has changed"), "{ended:?}");
    let path = brought(&ended, &older);
    hub.moves_to(LATER, &[(FILE, &newer)]);
    let ended = fetch(&home, &hub, MODEL);
    let told = format!(
        "The model's file has changed on the hub: uses {MODEL}@{LATER} now. For the one before: --hf {MODEL}@{COMMIT}"
    );
    assert!(ended.err.contains(&told), "{ended:?}");
    brought(&ended, &newer);
    assert!(fs::read(&path).unwrap() == older, "the older one is still there");
    let ended = fetch(&home, &hub, MODEL);
    assert!(!ended.err.contains("has changed"), "once: {ended:?}");
    brought(&ended, &newer);
    // Nothing is downloaded again, though the main branch moved.
    let sent = hub.sent_bytes();
    assert_eq!(brought(&fetch(&home, &hub, &format!("{MODEL}@{COMMIT}")), &older), path);
    assert_eq!(hub.sent_bytes(), sent);
    brought(&fetch(&home, &hub, MODEL), &newer);
}

#[test]
fn a_new_commit_with_the_same_file_is_nothing_to_tell() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    hub.moves_to(LATER, &[(FILE, &bytes)]);
    let ended = fetch(&home, &hub, MODEL);
    assert_eq!((brought(&ended, &bytes).is_file(), &*ended.err), (true, ""));
}

#[test]
fn a_commit_is_kept_to_also_without_a_network_and_what_is_not_there_is_refused() {
    let home = Home::new();
    let older = model(10_000);
    let newer = model(20_000);
    let hub = Hub::with(&[(FILE, &older)]);
    hub.moves_to(LATER, &[("newer-model-Q4_K_M.gguf", &newer)]);
    brought(&fetch(&home, &hub, MODEL), &newer);
    let pinned = format!("{MODEL}@{COMMIT}");
    let offline = || {
        let mut command = command(&home, &hub, &["fetch", &pinned]);
        command.env("HF_HUB_OFFLINE", "1");
        run(command)
    };
    refused(&offline(), &["is not in", COMMIT]);
    brought(&fetch(&home, &hub, &pinned), &older);
    brought(&offline(), &older);
    let unknown = "f".repeat(40);
    refused(&fetch(&home, &hub, &format!("{MODEL}@{unknown}")), &["there is no", &unknown]);
    // A hub that answers for another commit is refused.
    let listing = json!({ "sha": LATER, "siblings": [] });
    hub.answers(200, "", &listing.to_string());
    refused(&fetch(&home, &hub, &pinned), &["another commit", COMMIT]);
}

#[test]
fn a_file_with_another_checksum_than_was_given_is_not_used() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let with = |sum: &str| run(command(&home, &hub, &["fetch", MODEL, "--sha256", sum]));
    let right = sha256(&bytes);
    brought(&with(&right), &bytes);
    brought(&with(&right.to_uppercase()), &bytes);
    let wrong = sha256(b"another");
    refused(&with(&wrong), &["has the checksum", &right, "--sha256", "not used"]);
    // A file in the cache is compared in its present state, under any name.
    fs::write(blob(&home, &bytes), vec![7; bytes.len()]).unwrap();
    refused(&with(&right), &["has the checksum", &sha256(&vec![7; bytes.len()])]);
}

#[test]
fn a_token_is_not_sent_where_others_on_the_way_can_read_it() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let mut open = command(&home, &hub, &["fetch", MODEL]);
    // Not this machine and not found: the message is enough.
    open.env("HF_TOKEN", "hf_secret").env("HF_ENDPOINT", "http://hub.invalid");
    let ended = run(open);
    assert!(ended.err.contains("Asks hub.invalid without the token"), "{ended:?}");
    assert!(!ended.err.contains("hf_secret"), "{ended:?}");
    // This machine by an address that is not recognised as local: requests to it arrive.
    let mut open = command(&home, &hub, &["fetch", MODEL]);
    let endpoint = format!("http://0.0.0.0:{}", hub.address().port());
    open.env("HF_TOKEN", "hf_secret").env("HF_ENDPOINT", endpoint);
    let ended = run(open);
    assert!(ended.err.contains("Asks 0.0.0.0"), "{ended:?}");
    brought(&ended, &bytes);
    assert!(hub.tokens().len() > 2 && hub.tokens().iter().all(|(_, token)| token.is_none()));
}

//! Tests that a model is downloaded completely and once, to the place where others look for it.

use super::*;

#[test]
fn a_model_is_downloaded_once_and_lies_where_the_hubs_own_tools_look_for_it() {
    let home = Home::new();
    let bytes = model(300_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let ended = fetch(&home, &hub, MODEL);
    let path = brought(&ended, &bytes);
    assert_eq!(
        ended.err,
        format!("Downloads {MODEL} (292.97 KiB).\n"),
        "one line without a terminal"
    );
    assert_eq!(path, folder(&home).join("snapshots").join(COMMIT).join(FILE));
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("../../blobs").join(sha256(&bytes)));
    assert_eq!(fs::read_to_string(folder(&home).join("refs/main")).unwrap(), COMMIT);
    let lock = home.path("hf/hub/.locks/models--someone--some-model-GGUF");
    let expected = [lock.join(sha256(&bytes)).with_extension("lock"), blob(&home, &bytes)];
    assert_eq!(
        files_below(&home.path("hf")),
        [&expected[..], &[folder(&home).join("refs/main"), path.clone()]].concat()
    );

    let again = fetch(&home, &hub, MODEL);
    assert_eq!((brought(&again, &bytes), &*again.err), (path, ""));
    assert_eq!(hub.asked(), [Asked { file: FILE.to_owned(), from: 0, sent: bytes.len() }]);
}

#[test]
fn the_quantisation_decides_which_file_is_downloaded() {
    let home = Home::new();
    let usual = model(1_000);
    let other = model(2_000);
    let hub = Hub::with(&[
        ("m-Q8_0.gguf", &other),
        ("m-Q4_K_M.gguf", &usual),
        ("mmproj-Q8_0.gguf", b"eye"),
    ]);
    brought(&fetch(&home, &hub, MODEL), &usual);
    brought(&fetch(&home, &hub, &format!("{MODEL}:q8_0")), &other);
    assert_eq!(hub.sent_bytes(), 3_000);
    refused(
        &fetch(&home, &hub, &format!("{MODEL}:Q2_K")),
        &["Q2_K is not there", "has Q4_K_M, Q8_0"],
    );
    hub.has(&[("model.safetensors", b"weights")]);
    refused(&fetch(&home, &hub, MODEL), &["has no GGUF file", "give a repository that has"]);
}

#[test]
fn a_split_model_is_downloaded_in_all_its_parts_and_the_first_is_named() {
    let home = Home::new();
    let parts = [model(1_000), model(2_000), model(3_000)];
    let name = |number| format!("Q8_0/m-Q8_0-{number:05}-of-00003.gguf");
    let names = [name(1), name(2), name(3)];
    let hub = Hub::with(&[(&names[2], &parts[2]), (&names[0], &parts[0]), (&names[1], &parts[1])]);
    let first = brought(&fetch(&home, &hub, MODEL), &parts[0]);
    assert!(first.ends_with(&names[0]), "{first:?}");
    assert_eq!(fs::read_link(&first).unwrap(), Path::new("../../../blobs").join(sha256(&parts[0])));
    for (name, part) in names.iter().zip(&parts) {
        assert_eq!(fs::read(first.parent().unwrap().parent().unwrap().join(name)).unwrap(), *part);
    }
    assert_eq!(hub.sent_bytes(), 6_000);

    hub.has(&[(&names[0], &parts[0]), (&names[2], &parts[2])]);
    refused(&fetch(&Home::new(), &hub, MODEL), &["not whole", &names[1]]);
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_a_bar_shows_how_far_it_is() {
    let home = Home::new();
    let bytes = model(100_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (release, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let shown = format!("{} fetch {MODEL}", env!("CARGO_BIN_EXE_madang"));
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &shown, "/dev/null"]);
    terminal
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_HOME", home.path("hf"))
        .env("TERM", "xterm");
    terminal.env_remove("HF_TOKEN").env_remove("HF_HUB_CACHE").env_remove("LLAMA_CACHE");
    let mut terminal = RunningProgram::start(terminal);
    terminal.until_shown("/ 97.66 KiB");
    release.send(()).unwrap();
    terminal.until(FILE);
    assert_eq!(terminal.ended().code, Some(0));
}

#[test]
fn what_names_no_model_is_refused_with_an_example() {
    let home = Home::new();
    for arguments in [
        &["fetch", "some-model"][..],
        &["fetch", "https://huggingface.co/a/b"],
        &["fetch", "a/../b"],
        &["chat", "--hf", "a/b:"],
    ] {
        let ended = home.run(arguments, "");
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{ended:?}");
        assert!(ended.err.contains("for example ggml-org/gemma-3-1b-it-GGUF:Q4_K_M"), "{ended:?}");
    }
    for other in ["--model", "--script"] {
        let ended = home.run(&["chat", "--hf", "a/b", other, "file"], "");
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("cannot be used with"), "{ended:?}");
    }
}

#[cfg(not(feature = "llama"))]
#[test]
fn a_program_that_could_not_use_the_model_downloads_none() {
    let home = Home::new();
    let hub = Hub::with(&[(FILE, &model(10))]);
    let ended = run(command(&home, &hub, &["chat", "--hf", MODEL]));
    ended.failed_with(&["built without llama.cpp"]);
    assert_eq!(hub.listings(), 0);
}

#[cfg(feature = "llama")]
#[test]
fn a_chat_is_held_with_a_model_from_the_hub() {
    let home = Home::new();
    let bytes = include_bytes!("../../../../../toolkits/src/demonstration/madang-seed.gguf");
    let hub = Hub::with(&[("madang-seed.gguf", bytes)]);
    hub.plan([Plan::Break(1_000_000)]);
    let arguments = ["chat", "--hf", "madang/seed", "--json", "--locale", "ko"];
    let mut chat = RunningProgram::start(command(&home, &hub, &arguments));
    chat.write("수면에 좋은 프로토콜 찾아줘\n".as_bytes());
    let ended = chat.ended();
    assert_eq!((ended.code, ended.of_type("turn_ended").len()), (Some(0), 1), "{ended:?}");
    assert_eq!(ended.of_type("turn_ended")[0]["ending"], "answered");
    assert_eq!(hub.sent_bytes(), bytes.len());
}

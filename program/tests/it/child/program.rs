//! Tests the program as the child: `madang engine`, with a script instead of a model.

use std::{fs, io::Write};

use madang::model::{ChatModel as _, child::ChildOptions};
use rustix::process::{Pid, Signal, kill_process};

use super::{kind, load, words};

fn engine(script: &str) -> (ChildOptions, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(script.as_bytes()).unwrap();
    let options = ChildOptions::new(env!("CARGO_BIN_EXE_madang")).argument("engine");
    (options.argument("--script").argument(file.path()), file)
}

#[tokio::test]
async fn the_program_serves_and_writes_nothing_beside_its_frames() {
    let script =
        "{\"text\":\"안녕\"}\n{\"error\":\"Odd\"}\n{\"text\":\"slow\",\"delay_ms\":600000}";
    let (options, _file) = engine(script);
    let model = load(options).await.unwrap();
    assert_eq!(model.info().name, "script");
    let process = model.stats().process.unwrap();
    let pipe = |number: u8| fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap();
    assert_eq!(pipe(1), pipe(2), "standard output goes where standard error goes");

    let (streamed, ended) = super::ask(&model, "", Default::default()).await;
    assert_eq!(streamed.concat(), r#"Text("안")Text("녕")"#);
    assert_eq!(ended.unwrap().text, "안녕");
    assert_eq!(kind(&super::ask(&model, "", Default::default()).await.1), "Odd");

    // Signals of the terminal and the service manager are for the parent.
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    assert_eq!(kind(&super::ask(&model, "", cancel).await.1), "Cancelled");
    let group = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    assert_eq!(group.rsplit(") ").next().unwrap().split(' ').nth(2), Some(&*process.to_string()));
    assert_eq!((model.stats().process, model.stats().died), (Some(process), 0));
    tokio::task::spawn_blocking(move || drop(model)).await.unwrap();
}

#[tokio::test]
async fn a_script_that_cannot_be_used_is_told_in_the_programs_own_sentence() {
    let (options, _file) = engine("nonsense");
    let failed = words(&load(options).await.unwrap_err());
    assert!(failed.starts_with("line 1 of the script is not a completion"), "{failed}");
    assert!(failed.contains("mend"), "{failed}");
}

//! `madang stress`: what it prints where the promise holds, and where it does not. What it finds is
//! in `proof/tests/proofs/`.

use serde_json::Value;
use tokio::time::Instant;

use super::{Ended, Home, PATIENCE, RunningProgram, signal};

const COUNTERS: [&str; 7] =
    ["lost", "doubled", "unasked", "misreported", "damaged", "stuck", "disturbed"];

fn stress(more: &[&str]) -> Ended {
    Home::new().run(&[&["stress", "--json", "--seed", "7"], more].concat(), "")
}

fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn the_promise_holds_where_much_goes_wrong() {
    for store in ["memory", "sqlite"] {
        let many = ["--sessions", "20", "--tools", "2", "--chaos", "40", "--dismiss", "20"];
        let ended = stress(&[&many[..], &["--store", store]].concat());
        let report = report(&ended);
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{report}");
        assert_eq!(COUNTERS.map(|counter| report[counter].as_u64()), [Some(0); 7], "{report}");
        assert_eq!(report["turns"], 60);
        assert!(report["latency_ms"]["p99"].as_f64() > Some(0.0), "{report}");
        assert!(report["endings"]["answered"].as_u64() > Some(0), "{report}");
        assert!(report["calls"]["ok"].as_u64() > Some(0), "{report}");
        let heap = &report["heap"];
        assert_eq!(heap["tasks_after"], heap["tasks_before"], "{heap}");
    }
}

#[test]
fn a_mistake_that_is_planted_is_counted() {
    let ended = stress(&["--sessions", "10", "--store", "memory", "--plant", "tool-acts-twice"]);
    let report = report(&ended);
    assert!(report["doubled"].as_u64() > Some(0), "{report}");
    assert_eq!(ended.code, Some(1));
    let last = ended.err.lines().last().unwrap();
    assert!(last.contains("seed 7") && last.contains("doubled"), "{last}");
}

#[test]
fn a_table_for_people_says_the_same() {
    let ended =
        Home::new().run(&["stress", "--sessions", "3", "--seed", "1", "--store", "memory"], "");
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    for line in ["seed              1", "sessions          3", "lost              0"] {
        assert!(ended.out.contains(line), "{}", ended.out);
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_sentence() {
    for wrong in [
        &["--tools", "25"][..],
        &["--sessions", "0"],
        &["--chaos", "101"],
        &["--plant", "nothing"],
        &["--in-flight", "0"],
    ] {
        let ended = stress(wrong);
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{wrong:?}");
        let named = format!("invalid value '{}' for '{} ", wrong[1], wrong[0]);
        assert!(ended.err.contains(&named), "{}", ended.err);
    }
    let ended = stress(&["--model", "bundled", "--store", "memory"]);
    assert_eq!((ended.code, ended.err.lines().count()), (Some(1), 1), "{ended:?}");
    assert!(ended.err.contains("--store sqlite"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_leaves_no_file_behind() {
    let home = Home::new();
    let folder = home.path("temporary");
    std::fs::create_dir(&folder).unwrap();
    let entries = || std::fs::read_dir(&folder).unwrap().count();
    let mut command = home.command(&["stress", "--sessions", "100000", "--seed", "1"]);
    command.env("TMPDIR", &folder);
    let running = RunningProgram::start(command);
    let begin = Instant::now();
    while entries() == 0 {
        assert!(begin.elapsed() < PATIENCE, "it begins in time");
        std::thread::yield_now();
    }
    signal("TERM", running.child.id());
    let ended = running.ended();
    assert_eq!((ended.code, entries()), (Some(1), 0), "{ended:?}");
    assert!(ended.err.contains("interrupted"), "{ended:?}");
}

#[cfg(feature = "llama")]
#[test]
fn no_name_of_a_model_reaches_the_terminal_as_it_obeys_it() {
    let hostile = "a\u{1b}[2J\u{9b}2J\u{202e}b.gguf";
    let ended = stress(&["--store", "sqlite", "--model", hostile]);
    assert_eq!((ended.code, &*ended.out), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("202e") && !ended.err.contains(super::is_obeyed), "{:?}", ended.err);
}

//! Tests a lost terminal, and a request to end, in every state of a chat.

use std::{thread, time::Duration};

use serde_json::json;
use tokio::time::Instant;

use super::{
    Home, add_habit,
    pty::{Control, Pty, processor_time, wait},
    signal,
    terminal::PROMPT,
};

/// The longest end that the program promises.
const PROMISED: Duration = Duration::from_secs(35);

/// Far more than an orderly end takes, and far less than a spinning core.
const LITTLE: Duration = Duration::from_secs(2);

/// Many times the time until the next piece of the answer.
const QUIET: Duration = Duration::from_secs(1);

/// The way in which the program learns of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The terminal goes, and only reads and writes report it.
    Gone,
    /// The controlling terminal goes, so the system sends SIGHUP too.
    HungUp,
    Signal(&'static str),
}

/// The state of the program at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Typing,
    Streaming,
    Question,
    Editing,
}

impl State {
    fn reached(self, home: &Home, control: Control) -> Pty {
        let slow = json!({ "text": "an answer that takes long", "delay_ms": 2_400_000 });
        let completion = match self {
            Self::Typing | Self::Streaming => slow,
            Self::Question | Self::Editing => add_habit(),
        };
        let script = home.script(&[completion]);
        let command = home.command(&[
            "chat",
            "--locale",
            "en",
            "--session",
            "one",
            "--script",
            script.to_str().unwrap(),
        ]);
        let mut chat = Pty::start(command, (80, 40), control);
        chat.until_shown(PROMPT);
        if self == Self::Typing {
            chat.write("half a li");
            chat.until_shown("half a li");
            return chat;
        }
        chat.write("add it\r");
        match self {
            Self::Typing => {}
            Self::Streaming => drop(chat.until_shown("an answ")),
            Self::Question => drop(chat.until_shown("[y/n]")),
            Self::Editing => {
                chat.until_shown("[y/n]");
                chat.write("e");
                chat.until_shown("Arguments: ");
            }
        }
        chat
    }
}

fn ends(state: State, end: End) {
    let home = Home::new();
    let control = if end == End::HungUp { Control::Controls } else { Control::Not };
    let chat = state.reached(&home, control);
    let process = chat.child.id();
    let before = processor_time(process);
    let begin = Instant::now();
    // The terminal stays during a signal, so that the signal alone ends the program.
    let (mut child, terminal) = match end {
        End::Gone | End::HungUp => (chat.hang_up(), None),
        End::Signal(name) => {
            signal(name, process);
            let (child, terminal) = chat.apart();
            (child, Some(terminal))
        }
    };
    while !super::pty::is_over(process) && begin.elapsed() < PROMISED {
        thread::park_timeout(Duration::from_millis(20));
    }
    let used = processor_time(process) - before;
    let status = wait(&mut child, Duration::ZERO);
    drop(terminal);
    assert!(used < LITTLE, "{state:?} and {end:?}: {used:?} of processor time");
    assert!(status.success(), "{state:?} and {end:?}: {status}");
    let rows = home.run(&["ledger", "--session", "one"], "").events();
    let kept: Vec<_> = rows.iter().map(|row| row["state"].as_str().unwrap()).collect();
    let expected = match state {
        State::Typing | State::Streaming => &[][..],
        State::Question | State::Editing => &["awaiting"],
    };
    assert_eq!(kept, expected, "{state:?} and {end:?}");
    assert_eq!(home.habits(), 0);
}

fn ends_however_it_is_told(state: State) {
    thread::scope(|scope| {
        let ends: Vec<_> = [End::Gone, End::HungUp, End::Signal("TERM"), End::Signal("HUP")]
            .map(|end| (end, scope.spawn(move || ends(state, end))))
            .into();
        for (end, thread) in ends {
            assert!(thread.join().is_ok(), "{state:?} and {end:?}");
        }
    });
}

#[test]
fn while_a_person_types_the_program_ends_with_its_terminal_and_by_a_signal() {
    ends_however_it_is_told(State::Typing);
}

#[test]
fn while_an_answer_streams_the_program_ends_with_its_terminal_and_by_a_signal() {
    ends_however_it_is_told(State::Streaming);
}

#[test]
fn while_a_question_is_open_the_program_ends_with_its_terminal_and_by_a_signal() {
    ends_however_it_is_told(State::Question);
}

#[test]
fn while_arguments_are_edited_the_program_ends_with_its_terminal_and_by_a_signal() {
    ends_however_it_is_told(State::Editing);
}

#[test]
fn while_the_terminal_takes_no_output_a_signal_ends_the_program() {
    let home = Home::new();
    let endless = json!({ "text": "on and on ".repeat(20_000), "delay_ms": 600_000 });
    let mut chat = Pty::chat(&home, &[endless], &["--locale", "en"], (80, 40));
    chat.until_shown(PROMPT);
    chat.write("go on\r");
    chat.until_shown("on and on");
    // Ctrl-S: writing blocks from now on.
    chat.write([0x13]);
    // Once the output stops, the program waits for its terminal only.
    let mut shown = chat.rest().len();
    let mut silent_since = Instant::now();
    while silent_since.elapsed() < QUIET {
        thread::park_timeout(Duration::from_millis(20));
        let now = chat.rest().len();
        if now > shown {
            (shown, silent_since) = (now, Instant::now());
        }
    }
    let process = chat.child.id();
    let begin = Instant::now();
    signal("TERM", process);
    let (mut child, _terminal) = chat.apart();
    wait(&mut child, PROMISED + LITTLE);
    assert!(begin.elapsed() < PROMISED + LITTLE, "{:?}", begin.elapsed());
    assert_eq!(home.habits(), 0, "the database is whole and free");
}

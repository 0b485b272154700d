//! Tests that a prompt beside another user's takes the same work, whether both have the same text
//! or not.

use super::*;

fn of_user(name: &str, text: &str, max_tokens: u32) -> CompletionRequest {
    CompletionRequest {
        user: UserId::new(name).unwrap(),
        ..request(name, vec![asks(text)], max_tokens)
    }
}

fn story(names: &str) -> String {
    format!("{names} tell a long story {}", "and so on ".repeat(60))
}

#[test]
fn the_question_of_another_user_is_not_answered_sooner() {
    for file in [with_unnamed_window(), windowed(), recurrent()] {
        let model = Model::new(file);
        let waited = |guess: &str| {
            let mut engine = model.engine(4 * CHAT, None);
            let kim = Asked::begin(&mut engine, of_user("kim", &story("a"), 1));
            until(&mut engine, |engine| engine.stats.prompt_tokens_evaluated > 300);
            let mut lee = Asked::begin(&mut engine, of_user("lee", &story(guess), 1));
            let mut steps = 0;
            let ended = loop {
                engine.step();
                steps += 1;
                if let Ok(ended) = lee.answer.try_recv() {
                    break ended.unwrap();
                }
            };
            finish(&mut engine);
            assert!(kim.end().is_ok());
            (steps, ended.usage, engine.stats.prompt_tokens_evaluated)
        };
        let right = waited("a");
        assert_eq!(right, waited("b"));
        assert!(right.0 > 40, "nothing is compared: {right:?}");
    }
}

#[test]
fn the_prefill_worker_reads_for_each_user() {
    let model = Model::new(with_unnamed_window());
    let evaluated = |guess: &str| {
        model.with_prefill_worker(ENOUGH, usize::MAX, |engine| {
            let _talkers = talkers(engine, 2);
            let before = engine.stats.prompt_tokens_evaluated;
            let asked = [("kim", "a"), ("lee", guess)].map(|(name, names)| {
                let asked = Asked::begin(engine, of_user(name, &story(names), 2));
                until(engine, is_split);
                asked
            });
            finish(engine);
            let usages = asked.map(|asked| asked.end().unwrap().usage);
            (usages, engine.stats.prompt_tokens_evaluated - before)
        })
    };
    let right = evaluated("a");
    assert_eq!(right, evaluated("b"));
    assert!(right.1 > 1_000, "both are read: {right:?}");
}

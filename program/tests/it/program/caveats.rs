//! Tests what a person reads at the start of a model that may answer worse than it could.

use std::fs;

use super::Home;
use crate::child::model_with_template;

#[test]
fn a_person_reads_at_the_start_that_the_template_is_given_up() {
    let home = Home::new();
    let file = home.path("model.gguf");
    fs::write(&file, model_with_template("{{ raise_exception('no chat') }}")).unwrap();
    let file = file.to_str().unwrap();
    for (locale, words) in [("en", "the chat template of the model's file"), ("ko", "대화 서식")]
    {
        for engine in ["process", "child"] {
            let arguments = ["chat", "--locale", locale, "--engine", engine, "--model", file];
            let ended = home.run(&arguments, "");
            assert!(ended.err.contains(words) && ended.err.contains("no chat"), "{ended:?}");
        }
    }
}

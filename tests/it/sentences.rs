//! The sentences of the pages and of the comments are short enough to be read once.

use std::path::Path;

use crate::pages::{files, pages, read};

/// The most words of a sentence.
const MOST_WORDS: usize = 25;

/// The comments of a Rust source, a page for each run of lines with the same mark. Those behind code are left out.
fn comments(source: &str) -> Vec<String> {
    let (mut comments, mut last) = (Vec::new(), "");
    for line in source.lines() {
        let unmarked = |mark| line.trim_start().strip_prefix(mark).map(|text| (mark, text));
        let (mark, text) = ["//!", "///", "//"].into_iter().find_map(unmarked).unwrap_or_default();
        if mark != last {
            comments.push(String::new());
            last = mark;
        }
        if !mark.is_empty() {
            let comment = comments.last_mut().expect("the first mark differs from none");
            comment.push_str(text.strip_prefix(' ').unwrap_or(text));
            comment.push('\n');
        }
    }
    comments
}

/// The prose of a page, a text for each paragraph and item of a list. Tables, headings, pictures and code are left out.
fn paragraphs(page: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut is_fenced = false;
    for line in page.lines() {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        let begins = paragraphs.last().is_some_and(String::is_empty);
        let is_code = is_fenced || is_fence || begins && line.starts_with("    ");
        if is_code || text.is_empty() || text.starts_with(['|', '#', '<']) {
            paragraphs.push(String::new());
            continue;
        }
        let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item =
            text.starts_with("- ") || number.len() < text.len() && number.starts_with(". ");
        if is_item {
            paragraphs.push(String::new());
        }
        let text = if is_item { text.split_once(' ').map_or(text, |(_, text)| text) } else { text };
        let paragraph = paragraphs.last_mut().expect("there is always one");
        paragraph.push_str(text);
        paragraph.push(' ');
    }
    paragraphs
}

/// The sentences of a paragraph, as their words. Code and quotations count nothing, since they are not ours to split.
fn sentences(paragraph: &str) -> Vec<Vec<String>> {
    let without = |text: &str, mark: char| text.split(mark).step_by(2).collect::<String>();
    let prose = without(&without(paragraph, '`'), '"');
    // Of a link the words count, not the target.
    let prose = prose.split("](").enumerate().map(|(at, part)| match part.split_once(')') {
        Some((_, rest)) if at > 0 => rest,
        Some(_) | None => part,
    });
    let prose: String = prose.collect();
    let mut sentences = vec![Vec::new()];
    for word in prose.split_whitespace() {
        let sentence = sentences.last_mut().expect("there is always one");
        if word.contains(char::is_alphanumeric) {
            sentence.push(word.to_owned());
        }
        if word.trim_end_matches(['*', '_', ')', ']']).ends_with(['.', '!', '?']) {
            sentences.push(Vec::new());
        }
    }
    sentences
}

/// The sentences of a page that have too many words.
fn long_sentences(page: &str) -> Vec<String> {
    let sentences = paragraphs(page).into_iter().flat_map(|paragraph| sentences(&paragraph));
    let long = sentences.filter(|words| words.len() > MOST_WORDS);
    long.map(|words| format!("[{}] {}", words.len(), words.join(" "))).collect()
}

#[test]
fn no_sentence_of_a_page_is_long() {
    let mut wrong = Vec::new();
    // What the tools say to a model is written to that page by a program.
    for page in pages().into_iter().filter(|page| page != Path::new("TOOLS.md")) {
        let long = long_sentences(&read(&page)).into_iter();
        wrong.extend(long.map(|sentence| format!("{}: {sentence}", page.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_sentence_of_a_comment_is_long() {
    let mut wrong = Vec::new();
    for source in files(".rs") {
        let comments = comments(&read(&source)).into_iter();
        let long = comments.flat_map(|comment| long_sentences(&comment));
        wrong.extend(long.map(|sentence| format!("{}: {sentence}", source.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_comments_of_a_source_are_its_lines_with_a_mark() {
    let source = "//! A.\n\n/// B\n///\n/// b.\nfn b() {} // no\n    // C.\n    //D.\n";
    let comments = comments(source).into_iter().filter(|comment| !comment.is_empty());
    assert_eq!(comments.collect::<Vec<_>>(), ["A.\n", "B\n\nb.\n", "C.\nD.\n"]);
}

#[test]
fn a_long_sentence_is_found_and_code_and_tables_are_left_alone() {
    let words = |count| vec!["word"; count].join(" ");
    for page in [
        format!("# Page\n\n{}.\n", words(26)),
        format!("Short. **{}**. Short.", words(26)),
        format!("- {}\n  {}\n", words(13), words(13)),
        format!("A [{}](docs/x.md), of `code`.", words(24)),
    ] {
        assert_eq!(long_sentences(&page).len(), 1, "{page}");
    }
    for page in [
        format!("{}. {}!\n", words(25), words(25)),
        format!("| {} |\n\n# {}\n", words(30), words(30)),
        format!("```text\n{}\n```\n\n    {}\n", words(30), words(30)),
        format!("- {}\n- {}\n1. {}\n", words(20), words(20), words(20)),
        format!("{} `{}`, and \"{}\".", words(20), words(10), words(10)),
        format!("[{}](docs/a b.md).", words(25)),
    ] {
        assert_eq!(long_sentences(&page), [""; 0], "{page}");
    }
}

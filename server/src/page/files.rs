//! The files of the page, as the program has them.

/// The name and the bytes of each file.
pub(super) const FILES: &[(&str, &[u8])] = &[
    ("api.js", include_bytes!("assets/api.js")),
    ("app.css", include_bytes!("assets/app.css")),
    ("approval.js", include_bytes!("assets/approval.js")),
    ("badge.js", include_bytes!("assets/badge.js")),
    ("boot.js", include_bytes!("assets/boot.js")),
    ("chat.js", include_bytes!("assets/chat.js")),
    ("composer.js", include_bytes!("assets/composer.js")),
    ("dom.js", include_bytes!("assets/dom.js")),
    ("editable.js", include_bytes!("assets/editable.js")),
    ("entries.js", include_bytes!("assets/entries.js")),
    ("events.js", include_bytes!("assets/events.js")),
    ("form.js", include_bytes!("assets/form.js")),
    ("frame.js", include_bytes!("assets/frame.js")),
    ("icon.svg", include_bytes!("assets/icon.svg")),
    ("inbox.js", include_bytes!("assets/inbox.js")),
    ("index.html", include_bytes!("assets/index.html")),
    ("json.js", include_bytes!("assets/json.js")),
    ("keys.js", include_bytes!("assets/keys.js")),
    ("ledger.js", include_bytes!("assets/ledger.js")),
    ("login.js", include_bytes!("assets/login.js")),
    ("main.js", include_bytes!("assets/main.js")),
    ("markdown.js", include_bytes!("assets/markdown.js")),
    ("menu.js", include_bytes!("assets/menu.js")),
    ("offers.js", include_bytes!("assets/offers.js")),
    ("proof.js", include_bytes!("assets/proof.js")),
    ("questions.js", include_bytes!("assets/questions.js")),
    ("session.js", include_bytes!("assets/session.js")),
    ("sidebar.js", include_bytes!("assets/sidebar.js")),
    ("storage.js", include_bytes!("assets/storage.js")),
    ("store.js", include_bytes!("assets/store.js")),
    ("tabs.js", include_bytes!("assets/tabs.js")),
    ("texts.js", include_bytes!("assets/texts.js")),
    ("texts.txt", include_bytes!("assets/texts.txt")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use madang::event::TurnEnding;

    use super::*;

    /// Each ending. A new one does not compile until it is in this list.
    fn endings() -> [TurnEnding; 4] {
        let next = |ending| match ending {
            TurnEnding::Answered => TurnEnding::Stopped,
            TurnEnding::Stopped => TurnEnding::Failed,
            TurnEnding::Failed => TurnEnding::Dismissed,
            TurnEnding::Dismissed => TurnEnding::Answered,
        };
        let first = TurnEnding::Answered;
        let (second, third) = (next(first), next(next(first)));
        [first, second, third, next(third)]
    }

    #[test]
    fn the_page_knows_each_ending_of_a_turn() {
        let (_, rest) = include_str!("assets/store.js").split_once("const ENDINGS = {").unwrap();
        let known = rest.split('}').next().unwrap();
        for ending in endings() {
            let name = serde_json::to_value(ending).unwrap();
            let member = format!(" {}: ", name.as_str().unwrap());
            assert!(known.contains(&member), "the page does not know the ending{member}");
        }
    }

    #[test]
    fn each_file_of_the_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/assets");
        for entry in folder.read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let (_, bytes) = FILES.iter().find(|(found, _)| *found == name).unwrap_or_else(|| {
                panic!("{name} is not in the list");
            });
            assert_eq!(*bytes, std::fs::read(folder.join(&name)).unwrap(), "{name}");
        }
    }
}

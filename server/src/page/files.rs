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
    ("proof.js", include_bytes!("assets/proof.js")),
    ("questions.js", include_bytes!("assets/questions.js")),
    ("session.js", include_bytes!("assets/session.js")),
    ("sidebar.js", include_bytes!("assets/sidebar.js")),
    ("store.js", include_bytes!("assets/store.js")),
    ("tabs.js", include_bytes!("assets/tabs.js")),
    ("texts.en.json", include_bytes!("assets/texts.en.json")),
    ("texts.js", include_bytes!("assets/texts.js")),
    ("texts.ko.json", include_bytes!("assets/texts.ko.json")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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

//! The files of the page, as the program has them.

/// The name and the bytes of each file.
pub(super) const FILES: &[(&str, &[u8])] = &[("index.html", include_bytes!("minimal.html"))];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_file_of_the_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/assets");
        let Ok(entries) = folder.read_dir() else { return };
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let (_, bytes) = FILES.iter().find(|(found, _)| *found == name).unwrap_or_else(|| {
                panic!("{name} is not in the list");
            });
            assert_eq!(*bytes, std::fs::read(folder.join(&name)).unwrap(), "{name}");
        }
    }
}

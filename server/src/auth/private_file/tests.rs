//! Tests which files of secrets are taken.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::auth::{
    secret::{CookieKey, TokenSecret},
    token_file::TokenFile,
};

#[test]
fn a_secret_that_others_could_have_made_or_read_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let _ = TokenSecret::open(path("token")).unwrap();
    let _ = CookieKey::open(path("cookies")).unwrap();
    let user = crate::auth::holder::TokenHolder::User(madang::UserId::new("kim").unwrap());
    let tokens = TokenFile::new(path("tokens"));
    let add = |name: &str| tokens.add(name, user.clone(), Default::default(), None);
    add("one").unwrap();
    let refusals = || {
        [
            TokenSecret::open(path("token")).map(drop).unwrap_err().to_string(),
            CookieKey::open(path("cookies")).map(drop).unwrap_err().to_string(),
            tokens.list().map(drop).unwrap_err().to_string(),
            add("two").map(drop).unwrap_err().to_string(),
        ]
    };
    let names = ["token", "cookies", "tokens"];
    for mode in [0o640, 0o604, 0o620, 0o602, 0o601] {
        for name in names {
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        for refusal in refusals() {
            assert!(refusal.contains("others can read"), "{mode:o}: {refusal}");
        }
    }
    for name in names {
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = path(&format!("{name}.own"));
        fs::rename(path(name), &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, path(name)).unwrap();
    }
    for refusal in refusals() {
        assert!(refusal.contains("it is a link"), "{refusal}");
    }
}

#[test]
fn a_file_of_another_account_is_refused_even_where_only_its_owner_reads_it() {
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(must_be_private(true, own, 0o100_600), Ok(()));
    assert_eq!(must_be_private(true, own + 1, 0o100_600), Err(NotPrivate::Foreign));
    assert_eq!(must_be_private(false, own, 0o010_600), Err(NotPrivate::NoFile));
}

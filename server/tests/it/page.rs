//! The page is served with what keeps others out of it, and a link of any site may open it in a
//! tab.

use madang::language::Locale;

use crate::{
    http::Request,
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_keeps_to_its_own_files_and_is_asked_for_once() {
    let test = Setup::new(says("a")).start().await;
    let page = Request::get("/").send(test.address).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "trusted-types 'none'",
    ] {
        assert!(policy.contains(part), "{part}");
    }
    assert!(!policy.contains("unsafe"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    let tag = page.header("etag").unwrap();
    let again = Request::get("/").header("if-none-match", tag).send(test.address).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    for missing in ["/assets/no.js", "/assets/..%2fsecret", "/assets/v/no.js", "/index.html"] {
        assert_eq!(Request::get(missing).send(test.address).await.status, 404, "{missing}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_of_another_site_opens_the_page_and_a_frame_does_not() {
    let test = Setup::new(says("a")).start().await;
    let opened = async |destination: &str| {
        let request = Request::get("/").header("sec-fetch-site", "cross-site");
        let request = request.header("sec-fetch-mode", "navigate");
        request.header("sec-fetch-dest", destination).send(test.address).await.status
    };
    assert_eq!(opened("document").await, 200);
    assert_eq!(opened("iframe").await, 403);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_told_whether_a_person_opened_it() {
    let test = Setup::new(says("a")).start().await;
    let opened = async |site: Option<&'static str>, tag: Option<String>| {
        let mut request = Request::get("/").header("sec-fetch-mode", "navigate");
        request = request.header("sec-fetch-dest", "document");
        request = site.into_iter().fold(request, |at, site| at.header("sec-fetch-site", site));
        request = tag.iter().fold(request, |at, tag| at.header("if-none-match", tag));
        request.send(test.address).await
    };
    let of_person = opened(Some("none"), None).await;
    assert!(of_person.text().contains("<html data-opened=\"person\" "));
    assert_eq!(of_person.header("vary"), Some("sec-fetch-site"));
    for site in [Some("cross-site"), Some("same-site"), Some("same-origin"), None] {
        // A copy that a browser kept of a person's visit does not stand in for another one.
        let tag = of_person.header("etag").map(str::to_owned);
        let other = opened(site, tag).await;
        assert_eq!(other.status, 200, "{site:?}");
        assert!(!other.text().contains("data-opened"), "{site:?}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_from_a_folder_where_one_is_named_and_not_at_all_without_the_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "mine").unwrap();
    let path = folder.path().to_owned();
    let test = Setup::new(says("a")).options(|options| options.assets(path)).start().await;
    assert_eq!(Request::get("/").send(test.address).await.text(), "mine");
    test.shutdown().await;
    let test = Setup::new(says("a")).options(|options| options.without_page()).start().await;
    assert_eq!(Request::get("/").send(test.address).await.status, 404);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_chat_says_what_the_program_says_of_the_model() {
    let words = async |about: &[(Locale, &'static str)]| {
        let about = about.to_vec();
        let options = move |options: madang_server::ServerOptions| {
            about
                .into_iter()
                .fold(options, |options, (language, said)| options.about_model(language, said))
        };
        let test = Setup::new(says("a")).options(options).start().await;
        let index = Request::get("/").send(test.address).await.text().to_owned();
        let words = Request::get("/assets/texts.txt").send(test.address).await;
        let (_, chat) = words.text().split_once("\n[chat]\n").unwrap();
        let empty = chat.lines().find_map(|line| line.strip_prefix("empty=")).unwrap();
        let texts: Vec<String> = empty.split('|').map(str::to_owned).collect();
        test.shutdown().await;
        (index, texts)
    };
    let (plain_index, plain) = words(&[]).await;
    let (index, told) =
        words(&[(Locale::KO, "\"데모\"입니다."), (Locale::EN, "A \"demo\"|\nx=y.")]).await;
    assert_eq!(told[0], format!("{} \"데모\"입니다.", plain[0]));
    assert_eq!(told[1..], [format!("{} A \"demo\"  x=y.", plain[1])]);
    // Browsers keep the files of a version for ever.
    assert_ne!(index, plain_index);
}

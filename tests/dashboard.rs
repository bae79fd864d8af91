//! `GET /dashboard` (contract 4): the files, what may run in them and what they ask for. That they do
//! what they should in a browser is not shown here.

mod process;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use process::{Process, Site, operate, read};
use serde_json::Value;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Name and text of each file in the sources.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/dashboard");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<(String, String)> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() > 5, "{files:?}");
    files
}

fn scripts() -> Vec<(String, String)> {
    files().into_iter().filter(|(name, _)| name.ends_with(".js")).collect()
}

/// Asks as somebody who has no token.
fn get(process: &Process, path: &str, headers: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(&process.address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    read(stream)
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or_default()
}

/// Contract 8, auth map: the dashboard's static files are open.
#[test]
fn every_file_is_served_to_everybody_and_runs_nothing_else() {
    let site = Site::new("dashboard", "5s");
    let process = site.start();
    for (name, text) in files() {
        let path = match name.as_str() {
            "index.html" => "/dashboard".to_owned(),
            name => format!("/dashboard/{name}"),
        };
        let (status, head, body) = get(&process, &path, "");
        assert_eq!((status, body.as_str()), (200, text.as_str()), "{path}");
        let media = match name.rsplit_once('.').unwrap().1 {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => "text/javascript; charset=utf-8",
        };
        assert_eq!(header(&head, "content-type"), media, "{path}");
        assert_eq!(header(&head, "content-security-policy"), POLICY, "{path}");
        assert_eq!(header(&head, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&head, "referrer-policy"), "same-origin", "{path}");
        assert_eq!(header(&head, "cache-control"), "no-cache", "{path}");
        let tag = header(&head, "etag").to_owned();
        assert_eq!(tag.len(), 34, "{path}: {tag}");
        for (sent, status) in [(tag.clone(), 304), (format!("\"x\", W/{tag}"), 304), ("\"x\"".into(), 200)] {
            let answer = get(&process, &path, &format!("if-none-match: {sent}\r\n"));
            assert_eq!((answer.0, answer.2.is_empty()), (status, status == 304), "{path} {sent}");
            assert_eq!(header(&answer.1, "etag"), tag, "{path} {sent}");
        }
    }
    assert_eq!(get(&process, "/dashboard/nothing.js", "").0, 404);
}

/// The segments of a path as the document or a script has it; what varies is `*`.
fn template(path: &str) -> String {
    let path = path.split('?').next().unwrap();
    let fixed = |segment: &str| if segment.starts_with(['$', '{']) { "*".into() } else { segment.to_owned() };
    path.trim_start_matches('/').split('/').map(fixed).collect::<Vec<String>>().join("/")
}

/// Each call of a script: its method and path.
fn calls(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("\"api/").chain(text.match_indices("`api/")) {
        let quote = &text[at..=at];
        let path = text[at + 1..].split(quote).next().unwrap();
        let before = text[..at].trim_end();
        let method = before.strip_suffix("\",").and_then(|rest| rest.rsplit('"').next());
        found.push((method.expect("a method stands before it").to_lowercase(), template(path)));
    }
    found
}

/// A page that asks for what is not there shows nothing of it.
#[test]
fn what_the_scripts_ask_for_exists() {
    let site = Site::new("dashboard-calls", "5s");
    let process = site.start();
    let (_, document) = operate(&process.address, "GET", "/api/openapi.json", &Value::Null);
    let mut served = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        served.extend(item.as_object().unwrap().keys().map(|method| (method.clone(), template(path))));
    }
    let asked: BTreeSet<(String, String)> = scripts().iter().flat_map(|(_, text)| calls(text)).collect();
    for wanted in
        ["api/actors/*/*/messages", "api/resilience/model-cooldowns", "api/events", "api/auth/login"]
    {
        assert!(asked.iter().any(|(_, path)| path == wanted), "{wanted}: {asked:?}");
    }
    let missing: Vec<_> = asked.difference(&served).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What the page loads, and what its scripts load.
    for (name, text) in files() {
        let parts = text.split('"').filter_map(|part| {
            part.strip_prefix("./")
                .or_else(|| part.strip_prefix("dashboard/").filter(|_| name == "index.html"))
        });
        for part in parts {
            assert_eq!(get(&process, &format!("/dashboard/{part}"), "").0, 200, "{name}: {part}");
        }
    }
}

/// Names of models and words of upstreams are strangers' text.
#[test]
fn no_text_becomes_markup_and_nothing_comes_from_elsewhere() {
    let markup = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
        "DOMParser",
        "createContextualFragment",
        "localStorage",
        "sessionStorage",
        "document.cookie",
    ];
    for (name, text) in files() {
        for word in markup {
            assert!(!text.contains(word), "{name}: {word}");
        }
        let elsewhere = ["http:", "https:", "//cdn", "url(", "@import"];
        for word in elsewhere {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/dashboard/index.html"));
    let page = page.unwrap();
    for inline in [" style=", " on", "<style", "javascript:"] {
        let found = page.match_indices(inline).find(|(at, _)| {
            let rest = &page[at + inline.len()..];
            inline != " on"
                || rest
                    .split(['=', ' ', '<'])
                    .next()
                    .is_some_and(|word| rest[word.len()..].starts_with("=\""))
        });
        assert!(found.is_none(), "{inline}: the policy forbids it");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("<script type=\"module\" src=").count(), "none of them is inline");
}

/// What the page fills in is there.
#[test]
fn every_id_that_a_script_names_is_in_the_page() {
    let all = files();
    let page = &all.iter().find(|(name, _)| name == "index.html").unwrap().1;
    let mut named = BTreeSet::new();
    for (_, text) in scripts() {
        for way in ["byId(\"", "say(\"", "fill(\""] {
            named.extend(text.split(way).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    assert!(named.len() > 15, "{named:?}");
    for id in named {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

//! `GET /api/openapi.json` against the routes themselves: what it names answers, and with another
//! method nothing does. What answers look like is checked by `.ci/ask_openapi.py`.

mod process;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use process::{Process, Site, call, open, operate};
use serde_json::{Value, json};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// With another method these are names of combos and ids of connections.
const SHARED: [&str; 4] =
    ["/api/combos/metrics", "/api/combos/auto", "/api/providers/bulk", "/api/providers/import"];

/// Its answer has no end.
const ENDLESS: &str = "/api/events";

/// The head of an answer.
fn begin(address: &str, path: &str) -> (u16, String, String) {
    let mut lines = BufReader::new(open(address, "GET", path, "")).lines().map(Result::unwrap);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.join("\n").to_lowercase(), String::new())
}

fn document(process: &Process) -> Value {
    let (status, document) = operate(&process.address, "GET", "/api/openapi.json", &Value::Null);
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    document
}

/// The value of a header.
fn header(head: &str, name: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_default().to_owned()
}

#[test]
fn every_operation_of_the_document_is_served_and_no_other() {
    let site = Site::new("openapi", "5s");
    let process = site.start();
    let document = document(&process);
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let servers = item["servers"].as_array().map_or(1, Vec::len);
        for prefix in ["", "/api"].into_iter().take(servers) {
            let address = format!("{prefix}{}", path.replace("{kind}", "provider").replace("{id}", "x"));
            let known: BTreeSet<&str> = METHODS
                .into_iter()
                .chain(["HEAD"])
                .filter(|method| item[method.to_lowercase()].is_object())
                .collect();
            assert!(!known.is_empty(), "{path}");
            for method in METHODS {
                let (status, head, body) = match (method, address.as_str()) {
                    ("GET", ENDLESS) => begin(&process.address, ENDLESS),
                    _ => call(&process.address, method, &address, "{}"),
                };
                asked += 1;
                if known.contains(method) {
                    let answers = &item[method.to_lowercase()]["responses"];
                    assert!(answers[status.to_string()].is_object(), "{method} {address}: {status} {body}");
                    assert!(!body.contains("no such route; see"), "{method} {address}: {body}");
                } else if !SHARED.contains(&address.as_str()) {
                    assert_eq!(status, 405, "{method} {address}: {body}");
                    let allow = header(&head, "allow");
                    assert_eq!(allow.to_uppercase().split(", ").collect::<BTreeSet<_>>(), known, "{address}");
                }
            }
        }
    }
    assert!(asked > 200, "{asked} questions");
}

#[test]
fn operators_alone_read_it() {
    let site = Site::new("openapi-closed", "5s");
    let process = site.start();
    let request =
        format!("GET /api/openapi.json HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", process.address);
    let mut stream = std::net::TcpStream::connect(&process.address).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let (status, _, body) = process::read(stream);
    assert_eq!(status, 401);
    assert!(!body.contains("paths"), "{body}");
}

/// Registration looks each address up in the table; whoever goes past it is found here.
#[test]
fn no_address_is_registered_past_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let files = ["http", "admin", "app"].into_iter().flat_map(|room| files_of(&root, room));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let ways = ["web::resource(", "web::scope(", "web::route(", ".route(\"", "#[get(", "#[post("];
        found.extend(ways.iter().flat_map(|way| text.matches(way).map(|_| file.display().to_string())));
    }
    assert_eq!(found, [root.join("http.rs").display().to_string()], "but for the one that looks it up");
}

/// Every file of a room: its own and those in its folder.
fn files_of(root: &Path, room: &str) -> Vec<PathBuf> {
    let mut files = vec![root.join(format!("{room}.rs"))];
    let mut folders = vec![root.join(room)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

/// Management is registered by the one function that makes rows of the audit; what goes past it can
/// only be read.
#[test]
fn no_address_of_management_is_registered_past_the_audit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in files_of(&root, "admin") {
        let text = fs::read_to_string(&file).unwrap();
        let named = text.split("http::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or("").split(',').collect(),
            None => vec![rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or("")],
        });
        let names = named.filter(|name| ["only", "at"].contains(&name.trim())).count();
        assert_eq!(names, if file.ends_with("admin/trail.rs") { 2 } else { 0 }, "{}", file.display());
    }
}

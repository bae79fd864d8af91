//! The dashboard's cookie (contract 4, 8): who gets it, what it opens, when it ends, and what wrong
//! tokens and pages of other sites get (FC-043).

mod process;

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use process::{Process, Site, call, eventually, operate};
use serde_json::{Value, json};

const ADMIN: &str = "process-test";
const PAUSE: Duration = Duration::from_millis(500);
/// A page of our own, as a browser tells it.
const OWN: &str = "origin: http://process\r\nsec-fetch-site: same-origin\r\n";

/// An exchange with these lines in its head and nothing else that says who asks.
fn send(address: &str, method: &str, path: &str, lines: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: process\r\nconnection: close\r\n{lines}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    process::read(stream)
}

fn try_in(process: &Process, token: &str) -> (u16, String, String) {
    send(&process.address, "POST", "/api/auth/login", OWN, &json!({ "token": token }).to_string())
}

fn set_cookie(head: &str) -> String {
    let lines: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect();
    assert_eq!(lines.len(), 1, "{head}");
    lines[0].to_owned()
}

/// Logs in; the line that a browser sends from then on.
#[track_caller]
fn log_in(process: &Process, token: &str) -> String {
    let (status, head, body) = try_in(process, token);
    assert_eq!((status, body.as_str()), (204, ""), "{head}");
    format!("cookie: theme=dark; {}\r\n", set_cookie(&head).split(';').next().unwrap())
}

fn status(process: &Process, cookie: &str) -> u16 {
    send(&process.address, "GET", "/api/settings", cookie, "").0
}

/// Makes a key.
fn make_key(process: &Process, fields: &Value) -> String {
    let (status, made) = operate(&process.address, "POST", "/api/keys", fields);
    assert_eq!(status, 201, "{made}");
    made["key"].as_str().unwrap().to_owned()
}

#[test]
fn a_cookie_is_of_256_bits_for_our_own_pages_alone_and_ends_after_twelve_hours() {
    let site = Site::new("login-cookie", "5s");
    let process = site.start();
    let (status, head, _) = try_in(&process, ADMIN);
    assert_eq!(status, 204);
    let cookie = set_cookie(&head);
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "path=/; max-age=43200; httponly; samesite=strict");
    let id = pair.strip_prefix("switchtower_session=").unwrap();
    assert!(id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    let again = set_cookie(&try_in(&process, ADMIN).1);
    assert_ne!(cookie, again, "each login has its own");
    let body = json!({ "token": ADMIN }).to_string();
    let by_tls = send(&process.address, "POST", "/api/auth/login", "x-forwarded-proto: https\r\n", &body).1;
    assert!(set_cookie(&by_tls).ends_with("; secure"), "{by_tls}");
}

#[test]
fn fc_043_a_session_opens_every_management_route_and_no_route_of_clients() {
    let site = Site::with("login-routes", "");
    site.edit(|text| text.replace("[admin]", "require_api_key = true\n[admin]"));
    let process = site.start();
    let cookie = log_in(&process, ADMIN);
    let stale = format!("cookie: switchtower_session={}\r\n", "0".repeat(64));
    let document = operate(&process.address, "GET", "/api/openapi.json", &Value::Null).1;
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let address = path.replace("{kind}", "provider").replace("{id}", "demo-b");
        for method in ["get", "post", "put", "patch", "delete"].into_iter().filter(|it| item[it].is_object())
        {
            // Open to everybody; logging out, which would end this; and what has no end.
            let open = ["/healthz", "/readyz", "/api/auth/login", "/api/auth/logout", "/api/events"];
            let is_page = path.starts_with("/dashboard");
            if is_page
                || open.contains(&path.as_str())
                || (path == "/api/monitoring/health" && method == "get")
            {
                continue;
            }
            let of_clients = path.starts_with("/v1/");
            let mut told = |lines: &str| {
                asked += 1;
                send(&process.address, &method.to_uppercase(), &address, lines, "{}").0
            };
            assert_eq!([told(""), told(&stale)], [401, 401], "{method} {path}");
            let with = told(&format!("{cookie}{OWN}"));
            assert_eq!(with == 401, of_clients, "{method} {path}: {with}");
        }
    }
    assert!(asked > 150, "{asked}");
    let health = |lines: &str| send(&process.address, "GET", "/api/monitoring/health", lines, "").2;
    assert!(health(&cookie).contains("providerBreakers") && !health(&stale).contains("providerBreakers"));
    assert_eq!(send(&process.address, "GET", "/api/events", &stale, "").0, 401);
    assert_eq!(send(&process.address, "GET", "/api/nowhere", &cookie, "").0, 404);
    assert_eq!(send(&process.address, "GET", "/api/nowhere", &stale, "").0, 401);
}

#[test]
fn whatever_is_wrong_with_a_token_the_answer_is_the_same_after_the_same_while() {
    let site = Site::new("login-wrong", "5s");
    let process = site.start();
    let plain = make_key(&process, &json!({"name": "plain"}));
    let expired = json!({"name": "old", "scopes": ["manage"], "expiresAt": "2020-01-01T00:00:00Z"});
    let expired = make_key(&process, &expired);
    let bearer = send(&process.address, "GET", "/api/settings", "authorization: Bearer x\r\n", "");
    for token in ["canary-wrong", "", &plain, &expired, &ADMIN[1..]] {
        let began = Instant::now();
        let (status, head, body) = try_in(&process, token);
        assert_eq!((status, &body), (401, &bearer.2), "as any other 401");
        assert!(began.elapsed() >= PAUSE && !head.contains("set-cookie"), "{head}");
    }
    let refused = |body: &str| send(&process.address, "POST", "/api/auth/login", OWN, body);
    for body in ["", "[]", r#"{"token":1}"#, r#"{"token":"canary","x":1}"#] {
        let (status, _, answer) = refused(body);
        assert!(status == 400 && !answer.contains("canary"), "{body}: {status} {answer}");
    }
    assert_eq!(refused(&"x".repeat(5_000)).0, 413);
    let log = site.log();
    assert!(log.contains("logins with a wrong token") && log.contains("latest_from=127.0.0.1"), "{log}");
    assert!(!log.contains("canary") && !log.contains(&plain[8..20]), "{log}");
}

#[test]
fn who_guesses_waits_in_a_bounded_crowd_and_the_operator_does_not() {
    let site = Site::new("login-crowd", "5s");
    let process = site.start();
    let guess = || {
        let address = process.address.clone();
        thread::spawn(move || {
            let (status, head, _) = send(&address, "POST", "/api/auth/login", "", r#"{"token":"guess"}"#);
            (status, head.contains("retry-after: 1"))
        })
    };
    let guesses: Vec<_> = (0..80).map(|_| guess()).collect();
    let began = Instant::now();
    while !guesses.iter().any(thread::JoinHandle::is_finished) {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody is refused");
        thread::yield_now();
    }
    // Some have been refused: as many are held as may be.
    log_in(&process, ADMIN);
    let answers: Vec<_> = guesses.into_iter().map(|guess| guess.join().unwrap()).collect();
    assert!(answers.iter().all(|answer| matches!(answer, (401, false) | (429, true))), "{answers:?}");
    assert!(answers.contains(&(401, false)) && answers.contains(&(429, true)), "{answers:?}");
    let log = site.log();
    assert!(log.matches("logins with a wrong token").count() <= 3, "{log}");
    let (status, _, _) = try_in(&process, "guess");
    assert_eq!(status, 401, "and there is room again");
}

#[test]
fn a_session_of_a_key_ends_with_what_the_key_may_do() {
    let site = Site::new("login-key", "5s");
    let process = site.start();
    let patch = |fields: Value| {
        let (status, answer) = operate(&process.address, "PATCH", "/api/keys/boss", &fields);
        assert_eq!(status, 200, "{answer}");
    };
    let boss = make_key(&process, &json!({"name": "boss", "scopes": ["manage"]}));
    for (fallen, back) in [
        (json!({"isActive": false}), json!({"isActive": true})),
        (json!({"isBanned": true}), json!({"isBanned": false})),
        (json!({"expiresAt": "2020-01-01T00:00:00Z"}), json!({"expiresAt": null})),
        (json!({"scopes": ["inference"]}), json!({"scopes": ["manage"]})),
    ] {
        let cookie = log_in(&process, &boss);
        assert_eq!(status(&process, &cookie), 200);
        patch(fallen.clone());
        assert_eq!(status(&process, &cookie), 401, "{fallen}");
        patch(back);
        assert_eq!(status(&process, &cookie), 401, "it has ended: {fallen}");
    }
    let cookie = log_in(&process, &boss);
    assert_eq!(operate(&process.address, "DELETE", "/api/keys/boss", &Value::Null).0, 200);
    make_key(&process, &json!({"name": "boss", "scopes": ["manage"]}));
    assert_eq!(status(&process, &cookie), 401, "another key of its name is another one");
}

#[test]
fn a_new_admin_token_a_logout_and_a_restart_end_sessions() {
    let site = Site::new("login-ends", "5s");
    let process = site.start();
    let (one, other) = (log_in(&process, ADMIN), log_in(&process, ADMIN));
    let out = |lines: &str| send(&process.address, "POST", "/api/auth/logout", lines, "");
    let (told, head, _) = out(&one);
    assert_eq!(told, 204);
    assert_eq!(set_cookie(&head), "switchtower_session=; path=/; max-age=0; httponly; samesite=strict");
    assert_eq!([status(&process, &one), status(&process, &other)], [401, 200]);
    assert_eq!(out(&one).0, 401, "nobody is logged in");
    let boss = make_key(&process, &json!({"name": "boss", "scopes": ["manage"]}));
    let of_key = log_in(&process, &boss);
    site.edit(|text| text.replace(ADMIN, "another-token"));
    process.signal("HUP");
    eventually("the new token", || status(&process, "authorization: Bearer another-token\r\n") == 200);
    assert_eq!([status(&process, &other), status(&process, &of_key)], [401, 200]);
    let newest = log_in(&process, "another-token");
    process.end();
    let process = site.start();
    assert_eq!([status(&process, &newest), status(&process, &of_key)], [401, 401], "kept nowhere");
}

#[test]
fn fc_043_a_page_of_another_site_changes_nothing_with_the_cookie() {
    let site = Site::new("login-foreign", "5s");
    let process = site.start();
    let cookie = log_in(&process, ADMIN);
    let patch = |lines: &str| {
        let body = r#"{"sessionAffinityTtlMs":61000}"#;
        send(&process.address, "PATCH", "/api/settings", lines, body)
    };
    let settings = || call(&process.address, "GET", "/api/settings", "").2;
    let before = settings();
    for foreign in [
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\norigin: http://process\r\n",
        "origin: http://process\r\norigin: http://evil.example\r\n",
    ] {
        let (status, _, body) = patch(&format!("{cookie}{foreign}"));
        assert!(status == 403 && body.contains("\"cross_origin\""), "{foreign}: {status} {body}");
        assert_eq!(
            send(&process.address, "POST", "/api/auth/logout", &format!("{cookie}{foreign}"), "").0,
            403
        );
        let token = json!({ "token": ADMIN }).to_string();
        assert_eq!(send(&process.address, "POST", "/api/auth/login", foreign, &token).0, 403);
    }
    assert_eq!(settings(), before);
    // A header is nothing that a browser sends by itself; reading is nothing that another site sees.
    let bearer = format!("authorization: Bearer {ADMIN}\r\norigin: http://evil.example\r\n");
    assert_eq!(patch(&bearer).0, 200);
    assert_eq!(status(&process, &format!("{cookie}origin: http://evil.example\r\n")), 200);
    assert_eq!([patch(&format!("{cookie}{OWN}")).0, patch(&cookie).0], [200, 200]);
    let wrong = format!("authorization: Bearer wrong\r\n{cookie}{OWN}");
    assert_eq!(patch(&wrong).0, 401, "a header decides alone");
}

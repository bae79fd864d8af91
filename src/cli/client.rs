//! Talking to a running instance.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::Instance;
use super::commands::{load, say};

/// How long an instance may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// A running instance as the command line reaches it.
pub(super) struct Remote {
    url: String,
    token: Option<String>,
}

impl Remote {
    /// The instance that was named, or the one of the config.
    pub(super) fn of(config: &Path, instance: &Instance) -> Result<Self, String> {
        let url = match &instance.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let loaded = load(config).map_err(|findings| {
                    let first = findings.first().map(ToString::to_string).unwrap_or_default();
                    format!("no --url, and the config cannot be read: {first}")
                })?;
                let settings = loaded.settings;
                format!("http://{}", settings.admin.listen.unwrap_or(settings.server.listen))
            }
        };
        Ok(Self { url, token: instance.token.clone() })
    }

    /// Asks; `body`: a POST with it, else a GET.
    pub(super) fn ask(&self, path: &str, body: Option<Value>) -> Result<Value, String> {
        let address = format!("{}{path}", self.url);
        actix_rt::System::new().block_on(async {
            let client = awc::Client::builder().timeout(LIMIT).disable_redirects().finish();
            let method = if body.is_some() { awc::http::Method::POST } else { awc::http::Method::GET };
            let mut request = client.request(method, &address);
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            let sent = match &body {
                Some(body) => request.send_json(body).await,
                None => request.send().await,
            };
            let mut response = sent.map_err(|error| format!("{} does not answer: {error}", self.url))?;
            let status = response.status();
            let body = response.body().limit(64 * 1024 * 1024).await.map_err(|error| error.to_string())?;
            let value: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            match status.as_u16() {
                200..=299 => Ok(value),
                401 => Err("the admin token is missing or wrong: --token, or SWITCHTOWER_ADMIN_TOKEN".into()),
                other => {
                    let message = value["error"]["message"].as_str().unwrap_or("no reason given");
                    Err(format!("{path} answered {other}: {message}"))
                }
            }
        })
    }
}

fn encode(id: &str) -> String {
    let mut text = String::new();
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(byte.into()),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// `switchtower reset`.
pub(super) fn reset(
    config: &Path,
    instance: &Instance,
    provider: Option<&str>,
    connection: Option<&str>,
    model: Option<&str>,
) -> ExitCode {
    let done = Remote::of(config, instance).and_then(|remote| match (connection, model) {
        (None, _) => {
            let body = provider.map_or_else(|| json!({}), |provider| json!({"provider": provider}));
            let answer = remote.ask("/api/resilience/reset", Some(body))?;
            Ok(answer["message"].as_str().unwrap_or("done").to_owned())
        }
        (Some(connection), None) => {
            let path = format!("/api/actors/connection/{}/messages", encode(connection));
            let answer = remote.ask(&path, Some(json!({"message": "reset"})))?;
            Ok(format!("connection {connection}: {}", answer["state"].as_str().unwrap_or("reset")))
        }
        (Some(connection), Some(model)) => reset_model(&remote, connection, model),
    });
    match done {
        Ok(message) => {
            say(&message);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A model may be barred by its family and by itself: both go.
fn reset_model(remote: &Remote, connection: &str, model: &str) -> Result<String, String> {
    let actors = remote.ask("/api/actors", None)?;
    let ids: Vec<String> = ["family", "exact"]
        .iter()
        .map(|scope| format!("{}:{scope}:{}", encode(connection), encode(model)))
        .collect();
    let rows = actors["actors"].as_array().cloned().unwrap_or_default();
    let mut removed = 0;
    for row in rows.iter().filter(|row| row["kind"] == "lockout") {
        let id = row["id"].as_str().unwrap_or_default();
        if ids.iter().any(|wanted| wanted.eq_ignore_ascii_case(id)) {
            let path = format!("/api/actors/lockout/{}/messages", encode(id));
            remote.ask(&path, Some(json!({"message": "reset"})))?;
            removed += 1;
        }
    }
    match removed {
        0 => Err(format!("connection {connection} has no lockout of {model}")),
        count => Ok(format!("connection {connection}: {count} lockout of {model} removed")),
    }
}

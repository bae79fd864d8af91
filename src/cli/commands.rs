//! Commands that work on this machine's files: serve, check, demo-upstream.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use policy::strategy;

use crate::demo::{self, DemoSettings};
use crate::settings::{Finding, Loaded, Stored, load_with, unknown_variables};
use crate::{app, telemetry};

/// A refused config or wrong usage.
const REFUSED: u8 = 2;

/// Loads the config with the process's environment. A variable that looks like a setting and is
/// none is a mistake like an unknown key: it may be a switch that somebody relies on.
pub(super) fn load(config: &Path) -> Result<Loaded, Vec<Finding>> {
    let env = |name: &str| std::env::var(name).ok();
    let unknown = unknown_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
    match load_with(config, &env, &strategy::names(), &app::builtin(), &Stored::default()) {
        Ok(loaded) if unknown.is_empty() => Ok(loaded),
        Ok(_) => Err(unknown),
        Err(mut findings) => {
            findings.extend(unknown);
            Err(findings)
        }
    }
}

/// Says what refuses the config.
pub(super) fn refused(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        eprintln!("{finding}");
    }
    ExitCode::from(REFUSED)
}

/// Says what went wrong.
pub(super) fn failed(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

/// Says it on stdout at once, whoever reads it.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that went away is no reason to stop serving.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// `switchtower serve`.
pub(super) fn serve(config: &Path) -> ExitCode {
    let loaded = match load(config) {
        Ok(loaded) => loaded,
        Err(findings) => return refused(&findings),
    };
    let room = app::make_room();
    telemetry::start_log();
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    if let Err(error) = room {
        tracing::warn!(%error, "no room made for sockets");
    }
    let served = actix_rt::System::new().block_on(async {
        let signals = app::Signals::listen().map_err(|error| app::ServeError::System(error.to_string()))?;
        let running = app::start(loaded, config).await?;
        say(&format!("listening on http://{}", running.address));
        if let Some(address) = running.admin_address {
            say(&format!("management on http://{address}"));
        }
        if let Some(address) = running.demo_address {
            say(&format!("demo upstream on http://{address}"));
        }
        app::run(running, signals).await.map_err(|error| app::ServeError::System(error.to_string()))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(app::ServeError::Refused(findings)) => refused(&findings),
        Err(error) => failed(error),
    }
}

/// `switchtower check`.
pub(super) fn check(config: &Path) -> ExitCode {
    match load(config) {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                say(&warning.to_string());
            }
            say(&format!("{}: ok", config.display()));
            ExitCode::SUCCESS
        }
        Err(findings) => {
            for finding in &findings {
                say(&finding.to_string());
            }
            ExitCode::from(REFUSED)
        }
    }
}

/// `switchtower demo-upstream`.
pub(super) fn demo_upstream(listen: SocketAddr, log: bool) -> ExitCode {
    telemetry::start_log();
    let served = actix_rt::System::new().block_on(async {
        let demo = demo::bind(DemoSettings { listen, log, workers: 1 }).await?;
        let address = demo.address();
        let server = demo.server();
        let handle = server.handle();
        let running = actix_rt::spawn(server);
        say(&format!("listening on http://{address}"));
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => {}
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
        handle.stop(false).await;
        running.await.map_err(std::io::Error::other)?
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(format!("cannot listen on {listen}: {error}")),
    }
}

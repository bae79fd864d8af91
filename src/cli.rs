//! The command line (contract 1). Exit codes: 0 success, 1 failure, 2 wrong usage or a
//! refused config.

mod client;
mod commands;
mod explain;
mod settings;
mod status;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// One process between AI clients and LLM providers that keeps them working.
#[derive(Debug, Parser)]
#[command(name = "switchtower", version, about)]
pub struct Cli {
    /// The config file.
    #[arg(long, global = true, default_value = "config.toml", value_name = "FILE")]
    config: PathBuf,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy (the default).
    Serve,
    /// Check the config and say everything that is wrong with it; starts nothing.
    Check,
    /// Show every setting, its value and where it came from; while an instance runs, it is asked.
    Settings {
        #[command(flatten)]
        instance: Instance,
    },
    /// Show the providers, connections, lockouts and combos of a running instance.
    Status {
        #[command(flatten)]
        instance: Instance,
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
        /// Show it again every second.
        #[arg(long)]
        watch: bool,
    },
    /// Show which targets a request for MODEL would be tried in, and why each other one is left out.
    Explain {
        /// The model, as a client would write it.
        model: String,
        #[command(flatten)]
        instance: Instance,
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Reset breakers, a connection, or a model's lockout of a running instance.
    Reset {
        #[command(flatten)]
        instance: Instance,
        /// Close the breaker of this provider only.
        #[arg(long, value_name = "ID", conflicts_with_all = ["connection", "model"])]
        provider: Option<String>,
        /// Clear this connection's rest and locks.
        #[arg(long, value_name = "ID")]
        connection: Option<String>,
        /// With --connection: clear only this model's lockouts.
        #[arg(long, value_name = "ID", requires = "connection")]
        model: Option<String>,
    },
    /// Run the scripted upstream alone.
    DemoUpstream {
        /// Where to listen.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// Keep no log of requests: for benchmarks.
        #[arg(long)]
        no_log: bool,
    },
    /// Look at the store of a stopped instance, or make it smaller.
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Print every record as a JSON line; hashes are left out.
    Dump,
    /// Read every record as a start would, and name those that it could not use.
    Verify,
    /// Write it anew without what was overwritten; whenever this is killed, the old or the new one is there.
    Compact {
        /// Take records that cannot be read along as they are, instead of refusing.
        #[arg(long)]
        with_bad: bool,
    },
}

/// A running instance.
#[derive(Debug, clap::Args)]
struct Instance {
    /// Its address; by default the config's.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The admin token.
    #[arg(long, env = "SWITCHTOWER_ADMIN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = cli.config;
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => commands::serve(&config),
        Command::Check => commands::check(&config),
        Command::Settings { instance } => settings::settings(&config, &instance),
        Command::Status { instance, json, watch } => status::status(&config, &instance, json, watch),
        Command::Explain { model, instance, json } => explain::explain(&config, &instance, &model, json),
        Command::Reset { instance, provider, connection, model } => {
            client::reset(&config, &instance, provider.as_deref(), connection.as_deref(), model.as_deref())
        }
        Command::DemoUpstream { listen, no_log } => commands::demo_upstream(listen, !no_log),
        Command::Store { command } => match command {
            StoreCommand::Dump => store::dump(&config),
            StoreCommand::Verify => store::verify(&config),
            StoreCommand::Compact { with_bad } => store::compact(&config, with_bad),
        },
    }
}

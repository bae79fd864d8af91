//! The processes of a measurement: started on their core, ended with it, and read from /proc.

use std::fs;
use std::io::{BufRead, BufReader, Error, Result};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a process may take to start or to end.
const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);
/// Ticks per second of the times in /proc, whatever the kernel's own rate is.
const TICKS: f64 = 100.0;

/// The core of upstream and generator.
pub const LOAD_CORE: &str = "0";
/// The core of the proxy under test.
pub const PROXY_CORE: &str = "1";

/// A process that ends with this value.
pub struct Process {
    child: Child,
    // kept open: whoever writes to a closed pipe gets an error
    _stdout: Option<BufReader<ChildStdout>>,
}

/// Cores can be told apart: there are two, and `taskset` is there to say so. Found out once, before
/// this process itself is put on one of them.
pub fn can_pin() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let two = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2);
        let mut asked = Command::new("taskset");
        two && asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })
}

/// Puts this process, and what it starts from now on, on the core of the load.
pub fn pin_this_process() {
    if can_pin() {
        let pid = std::process::id().to_string();
        // A refusal shows in the figures, not in a wrong one: `report` prints the utilisation.
        let _ =
            Command::new("taskset").args(["-a", "-c", "-p", LOAD_CORE, &pid]).stdout(Stdio::null()).status();
    }
}

fn on_core(core: &str, program: &str) -> Command {
    if !can_pin() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", core, program]);
    command
}

impl Process {
    /// Starts a program that says `listening on http://ADDR` as its first line.
    pub fn start(core: &str, program: &str, arguments: &[&str]) -> Result<(Self, SocketAddr)> {
        let mut command = on_core(core, program);
        let command = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.env("RUST_LOG", "warn").env("SWITCHTOWER_ADMIN_TOKEN", "bench").spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let process = Self { child, _stdout: Some(stdout) };
        let address = line.trim().strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        let said = || Error::other(format!("{program} {} said {line:?}", arguments.join(" ")));
        Ok((process, address.ok_or_else(said)?))
    }

    /// Starts a program that says nothing and listens on `address`.
    pub fn start_on(address: SocketAddr, core: &str, program: &str, arguments: &[&str]) -> Result<Self> {
        let child = on_core(core, program).args(arguments).stdin(Stdio::null()).spawn()?;
        let mut process = Self { child, _stdout: None };
        let started = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            if let Some(status) = process.child.try_wait()? {
                return Err(Error::other(format!("{program} ended with {status}")));
            }
            if started.elapsed() > LIMIT {
                return Err(Error::other(format!("{program} does not listen on {address}")));
            }
            std::thread::sleep(LOOK);
        }
        Ok(process)
    }

    /// Seconds of processor time so far, with that of its children.
    pub fn cpu_seconds(&self) -> f64 {
        let ticks = |pid: u32| stat(pid).map_or(0, |stat| stat.ticks);
        self.family().into_iter().map(ticks).sum::<u64>() as f64 / TICKS
    }

    /// Resident memory in MiB, with that of its children.
    pub fn resident_mib(&self) -> f64 {
        self.family().into_iter().filter_map(resident_kib).sum::<u64>() as f64 / 1024.0
    }

    /// The process and its children: nginx works in one.
    fn family(&self) -> Vec<u32> {
        let own = self.child.id();
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| *pid == own || stat(*pid).is_some_and(|stat| stat.parent == own)).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Asked first: an nginx that is killed leaves its worker behind.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if asked.elapsed() > LIMIT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

struct Stat {
    parent: u32,
    ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name in brackets may hold anything, blanks too
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat { parent: u32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)? })
}

fn resident_kib(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

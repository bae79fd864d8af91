//! What is wrong with a config, and the list that collects it.
//!
//! Nothing stops at the first mistake: every check writes into one [`Findings`],
//! which ends as the sorted answer of `switchtower check`. A finding names the
//! place and the key, never a value that could be a secret.

use std::fmt;

/// One thing that is wrong (or, as a warning, doubtful) in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The config file as it was named, `env NAME`, or `stored`.
    pub file: String,
    /// 1-based line; 0 when there is none (an environment variable, a missing file).
    pub line: usize,
    /// The key as the settings table spells it, for example `providers[].base_url`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right; may be empty when the problem says it already.
    pub accepted: String,
    /// A warning does not refuse the config.
    pub warning: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        let mark = if self.warning { "warning: " } else { "" };
        write!(f, ": {}: {mark}{}", self.key, self.problem)?;
        if !self.accepted.is_empty() {
            write!(f, ", accepted: {}", self.accepted)?;
        }
        Ok(())
    }
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A 1-based line of the config file; 0: the file as a whole.
    Line(usize),
    /// An environment variable.
    Env(String),
    /// The store: the management API has set it.
    Stored,
}

/// A problem without its place: what is wrong and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub accepted: String,
}

impl Problem {
    /// A problem from its two texts.
    pub fn new(problem: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { problem: problem.into(), accepted: accepted.into() }
    }
}

/// An id that leads nowhere, quoted if it is short: a long one may be a credential in
/// the wrong place.
pub(super) fn quoted(id: &str) -> String {
    const MOST: usize = 32;
    if id.len() <= MOST { format!("`{id}`") } else { format!("of {} characters", id.len()) }
}

/// Collects findings while a config is read.
#[derive(Debug)]
pub(super) struct Findings {
    file: String,
    list: Vec<Finding>,
    broken_lines: Vec<usize>,
}

impl Findings {
    /// An empty list for one config file.
    pub fn new(file: String) -> Self {
        Self { file, list: Vec::new(), broken_lines: Vec::new() }
    }

    /// A line that is not TOML; other findings of that line would only repeat it.
    pub fn syntax(&mut self, line: usize, message: &str) {
        let accepted = "TOML, for example `listen = \"127.0.0.1:20128\"`";
        self.refuse(&Place::Line(line), "syntax", Problem::new(message, accepted));
        self.broken_lines.push(line);
    }

    /// Whether some line is not TOML, so that missing things may only look missing.
    pub fn is_broken(&self) -> bool {
        !self.broken_lines.is_empty()
    }

    /// Something that refuses the config. What is stored never does: it was right when it came in,
    /// and must not keep the process from starting.
    pub fn refuse(&mut self, place: &Place, key: &str, problem: Problem) {
        self.push(place, key, problem, *place == Place::Stored);
    }

    /// Something doubtful.
    pub fn warn(&mut self, place: &Place, key: &str, problem: Problem) {
        self.push(place, key, problem, true);
    }

    fn push(&mut self, place: &Place, key: &str, problem: Problem, warning: bool) {
        let (file, line) = match place {
            Place::Line(line) => (self.file.clone(), *line),
            Place::Env(name) => (format!("env {name}"), 0),
            Place::Stored => ("stored".to_owned(), 0),
        };
        if line > 0 && self.broken_lines.contains(&line) {
            return;
        }
        let Problem { problem, accepted } = problem;
        self.list.push(Finding { file, line, key: key.to_owned(), problem, accepted, warning });
    }

    /// The warnings when nothing refuses the config, else every finding; in file order,
    /// those without a line last.
    pub fn finish(mut self) -> Result<Vec<Finding>, Vec<Finding>> {
        self.list.sort_by_key(|finding| if finding.line == 0 { usize::MAX } else { finding.line });
        // What all combos begin with is read for each of them.
        self.list.dedup();
        if self.list.iter().all(|finding| finding.warning) { Ok(self.list) } else { Err(self.list) }
    }
}

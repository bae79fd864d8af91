//! Fifty clients with five hundred requests at an account that takes two at once.
//!
//! With `max_concurrent = 2` everybody waits for a turn and the account never has to refuse. Without
//! it the account refuses, rests and comes back, again and again: what still answers everybody is a
//! combo that waits out the rest, or one that has somebody else to ask.

use std::collections::HashMap;
use std::io::Result;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::clients::{Answered, Crowd, Until, crowd, of_status, quantile};
use super::stage::Stage;

const CLIENTS: usize = 50;
const MODEL: &str = "capacity-2-20ms";

/// Nobody is turned away for a full line; the wait itself is what is shown.
const QUEUE: &str = "[resilience.concurrency]\nqueue_size = 1000\ntimeout_ms = \"5m\"\n";

/// Whoever is refused after each of the five waits of the built-in numbers gets the 429.
const PATIENT: &str = "[resilience.combo_cooldown_wait]\nmax_attempts = 10\n";

/// One way to stand before the account.
struct Way {
    title: &'static str,
    /// The model asked for.
    model: String,
    sections: String,
}

/// One row of the table.
struct Row {
    title: &'static str,
    answers: Vec<Answered>,
    log: Vec<Value>,
    took: Duration,
}

fn ways(stage: &Stage) -> [Way; 5] {
    let own = format!("up/{MODEL}");
    let combo = |targets: &[&str]| {
        let targets: Vec<String> = targets.iter().map(|model| format!("{{ model = \"{model}\" }}")).collect();
        format!("[[combos]]\nname = \"m\"\nstrategy = \"priority\"\ntargets = [{}]\n", targets.join(", "))
    };
    let open = stage.account("up", "");
    [
        Way {
            title: "max_concurrent = 2",
            model: own.clone(),
            sections: stage.account("up", "max_concurrent = 2") + QUEUE,
        },
        Way { title: "none, asked directly", model: own.clone(), sections: open.clone() },
        Way {
            title: "none, a combo that waits",
            model: "m".into(),
            sections: open.clone() + &combo(&[&own]),
        },
        Way {
            title: "none, a combo that waits up to 10 times",
            model: "m".into(),
            sections: open.clone() + &combo(&[&own]) + PATIENT,
        },
        Way {
            title: "none, a combo with another account",
            model: "m".into(),
            sections: open + &stage.account("spare", "") + &combo(&[&own, "spare/slow-20ms"]),
        },
    ]
}

/// Runs and prints all ways.
pub async fn run(stage: &Stage, quick: bool) {
    let each = if quick { 2 } else { 10 };
    println!("# {CLIENTS} clients, {} requests, one account that takes 2 at once", CLIENTS * each);
    println!(
        "\n| before the account | answered | success | upstream 429 | order kept | p50 ms | p99 ms | seconds |"
    );
    println!("|{}", "---|".repeat(8));
    for way in ways(stage) {
        match one(stage, &way, each).await {
            Ok(row) => row.print(),
            Err(error) => println!("| {} | FAILED: {error} |", way.title),
        }
    }
}

async fn one(stage: &Stage, way: &Way, each: usize) -> Result<Row> {
    let tower = stage.tower(&way.sections)?;
    stage.log().await?;
    let began = Instant::now();
    let all = Crowd {
        name: "c",
        clients: CLIENTS,
        model: &way.model,
        until: Until::Count(each),
        every: Duration::ZERO,
    };
    let answers = crowd(tower.address, all).await;
    Ok(Row { title: way.title, answers, took: began.elapsed(), log: stage.log().await? })
}

impl Row {
    fn print(&self) {
        let Self { title, answers, log, took } = self;
        let good = of_status(answers, 200);
        println!(
            "| {title} | {} of {} | {:.1} % | {} | {} | {:.0} | {:.0} | {:.1} |",
            good.len(),
            answers.len(),
            good.len() as f64 * 100.0 / answers.len() as f64,
            log.iter().filter(|entry| entry["status"] == 429).count(),
            if in_order(log) { "yes" } else { "NO" },
            quantile(&good, 0.5),
            quantile(&good, 0.99),
            took.as_secs_f64(),
        );
    }
}

/// What the upstream served of each client came in the order in which the client sent it.
fn in_order(log: &[Value]) -> bool {
    let mut last: HashMap<&str, u32> = HashMap::new();
    let served = log.iter().filter(|entry| entry["status"] == 200);
    served.filter_map(|entry| entry["headers"]["user-agent"].as_str()?.split_once('-')).all(
        |(client, number)| {
            let Ok(number) = number.parse() else { return false };
            last.insert(client, number).is_none_or(|before| before < number)
        },
    )
}

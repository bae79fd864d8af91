//! Many more clients than line and account can hold: what a refusal costs, and whether those who
//! are let in, or ask somebody else, feel the flood beside them.

use std::io::Result;
use std::time::{Duration, Instant};

use super::clients::{Answered, Crowd, Until, crowd, of_status, quantile};
use super::stage::{Stage, Tower};

/// Refused at once when two run and four wait.
const QUEUE: &str = "[resilience.concurrency]\nqueue_size = 4\n";
const FLOODED: &str = "up/capacity-2-20ms";
const CALM: &str = "calm/slow-20ms";
/// The budget of the design, µs of processor time.
const BUDGET_US: f64 = 50.0;
/// Clients of the flood, and how often each of them asks when it does not ask at once.
const CLIENTS: usize = 200;
const PACE: Duration = Duration::from_millis(100);

/// Runs and prints it.
pub async fn run(stage: &Stage, quick: bool) {
    let length = Duration::from_secs(if quick { 1 } else { 5 });
    println!("\n# Overload: {CLIENTS} clients, 2 run, 4 wait, the rest is refused\n");
    let shown = async {
        let account = stage.account("up", "max_concurrent = 2") + &stage.account("calm", "") + QUEUE;
        let tower = stage.tower(&account)?;
        let refusal = cost(&tower, length).await;
        reference(&tower, length, refusal).await;
        beside(&stage.tower(&account)?, length).await
    };
    let shown: Result<()> = shown.await;
    if let Err(error) = shown {
        println!("FAILED: {error}");
    }
}

/// As many refusals as the processor gives; what each of them cost, µs.
async fn cost(tower: &Tower, length: Duration) -> f64 {
    let all = flood(Duration::ZERO, length);
    crowd(tower.address, Crowd { until: Until::Over(length / 5), ..all }).await;
    let (before, began) = (tower.process.cpu_seconds(), Instant::now());
    let answers = crowd(tower.address, all).await;
    let (cpu, took) = (tower.process.cpu_seconds() - before, began.elapsed().as_secs_f64());
    let refused = of_status(&answers, 429).len();
    let each = cpu * 1e6 / refused as f64;
    println!("{refused} refusals and {} answers in {took:.1} s", of_status(&answers, 200).len());
    println!("{}; the proxy used {:.0} % of its core", others(&answers), cpu * 100.0 / took);
    let word = if each <= BUDGET_US { "ok" } else { "MISSED" };
    println!(
        "{word:>6}  CPU per refusal, those let in included: {each:.1} µs (budget: at most {BUDGET_US} µs)"
    );
    each
}

/// The same crowd at an account that answers everybody at once: on a machine that others use too,
/// only the relation of the two figures means something.
async fn reference(tower: &Tower, length: Duration, refusal: f64) {
    let all = Crowd { model: "calm/steady", ..flood(Duration::ZERO, length) };
    let before = tower.process.cpu_seconds();
    let answers = crowd(tower.address, all).await;
    let each = (tower.process.cpu_seconds() - before) * 1e6 / of_status(&answers, 200).len() as f64;
    println!("        CPU per answered request: {each:.1} µs; a refusal costs {:.2} of it", refusal / each);
}

/// Two thousand refusals a second beside clients of another account, and beside those let in.
async fn beside(tower: &Tower, length: Duration) -> Result<()> {
    let calm =
        Crowd { name: "calm", clients: 4, model: CALM, until: Until::Over(length), every: Duration::ZERO };
    let few = Crowd { name: "few", clients: 2, model: FLOODED, ..calm };
    let alone = tokio::join!(crowd(tower.address, calm), crowd(tower.address, few));
    let (flooded, calm_beside) =
        tokio::join!(crowd(tower.address, flood(PACE, length)), crowd(tower.address, calm));
    println!("\n| who | flood | answers | p50 ms | p99 ms |\n|---|---|---|---|---|");
    row("another account", "no", &alone.0);
    row("another account", "yes", &calm_beside);
    row("this account, 2 clients", "no", &alone.1);
    row("this account, let in", "yes", &of_status(&flooded, 200));
    row("this account, refused", "yes", &of_status(&flooded, 429));
    println!("\n(Who is let in beside the flood has up to four before it, of 20 ms each and two at a time.)");
    Ok(())
}

fn flood(every: Duration, length: Duration) -> Crowd<'static> {
    Crowd { name: "flood", clients: CLIENTS, model: FLOODED, until: Until::Over(length), every }
}

fn row(who: &str, flood: &str, answers: &[Answered]) {
    let (p50, p99) = (quantile(answers, 0.5), quantile(answers, 0.99));
    println!("| {who} | {flood} | {} | {p50:.1} | {p99:.1} |", answers.len());
}

/// Answers that are neither: there should be none.
fn others(answers: &[Answered]) -> String {
    let others = answers.iter().filter(|answer| !matches!(answer.status, 200 | 429)).count();
    format!("{others} other answers")
}

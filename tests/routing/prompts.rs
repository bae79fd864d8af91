//! A prompt goes where it is likely to be cached, over sockets (routing 3.7, 4.18).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::support::{Setup, World, post};

fn world(strategy: &str) -> World {
    let combo = format!(
        "[[combos]]\nname = \"c\"\nstrategy = \"{strategy}\"\n\
         targets = [{{ model = \"a/m\" }}, {{ model = \"b/m\" }}, {{ model = \"d/m\" }}]\n"
    );
    Setup::new().provider("a", 1).provider("b", 1).provider("d", 1).section(&combo).start()
}

fn turns(texts: &[&str]) -> Value {
    let turn = |(index, text): (usize, &&str)| json!({"role": if index % 2 == 0 { "user" } else { "assistant" }, "content": text});
    texts.iter().enumerate().map(turn).collect()
}

fn provider(world: &World, texts: &[&str], headers: &str) -> String {
    let body = json!({"model": "c", "messages": turns(texts)}).to_string();
    let reply = post(world.address, "/v1/chat/completions", headers, body.as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("x-omniroute-provider").unwrap().to_owned()
}

/// Row 61: a first turn has nothing that could be cached. From the second on a talk stays where it is.
#[test]
fn row_61_requests_that_began_alike_share_a_target() {
    for strategy in ["cache-optimized", "random", "least-used"] {
        let world = world(strategy);
        let mut used = HashSet::new();
        for talk in 0..16 {
            let first = format!("question {talk}");
            let go = |last: &str| provider(&world, &[&first, "answer", last], "");
            let home = go("and?");
            assert_eq!([go("or?"), go("but?"), go("and?")], [&home; 3].map(String::clone), "{strategy}");
            let mut texts = vec![first.as_str(), "answer", "and?"];
            for _ in 0..4 {
                texts.extend(["so", "but?"]);
                assert_eq!(provider(&world, &texts, ""), home, "{strategy}: it has grown");
            }
            used.insert(home);
        }
        assert_eq!(used.len(), 3, "{strategy}: different ones are spread");
    }
    let world = world("cache-optimized");
    for talk in 0..8 {
        assert_eq!(provider(&world, &[&format!("question {talk}")], ""), "a");
    }
}

/// FC-100: a session has its place already, whatever its prompt becomes.
#[test]
fn fc_100_a_session_stays_while_its_prompt_grows() {
    for strategy in ["cache-optimized", "random", "least-used", "round-robin"] {
        let world = world(strategy);
        let mut texts = vec!["hi"];
        let home = provider(&world, &texts, "X-Session-Id: s1\r\n");
        for _ in 0..10 {
            texts.extend(["answer", "and?"]);
            assert_eq!(provider(&world, &texts, "X-Session-Id: s1\r\n"), home, "{strategy}");
        }
    }
}

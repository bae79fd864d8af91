//! What a request's headers ask of `auto`, over sockets (routing 5.7, 5.9).

use serde_json::json;

use super::support::{Reply, Setup, World, post};

/// `a` costs 10 USD per million tokens, `b` a twentieth of it, so that `b` is the cheap one.
fn priced() -> Setup {
    let at = |price: &str| {
        format!(
            "format = [\"openai\"]\nmodels = [{{ id = \"m\", input_price = {price}, output_price = {price} }}]"
        )
    };
    Setup::new().provider_with("a", 2, &at("10.0")).provider_with("b", 1, &at("0.5"))
}

fn auto(setup: Setup, config: &str) -> World {
    let combo = format!(
        "[[combos]]\nname = \"smart\"\nstrategy = \"auto\"\n\
         targets = [{{ model = \"a/m\" }}, {{ model = \"b/m\" }}]\n\
         config = {{ router_strategy = \"score\", exploration_rate = 0.0, {config} }}\n"
    );
    setup.section(&combo).start()
}

fn ask(world: &World, model: &str, headers: &str, text: &str) -> Reply {
    let body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
    post(world.address, "/v1/chat/completions", headers, body.to_string().as_bytes())
}

/// By its weights `a`, which has more accounts.
const MORE: &str = "weights = { health = 1.0, connection_density = 1.0 }";

#[test]
fn row_56_a_mode_that_nobody_knows_is_ignored() {
    let world = auto(priced(), MORE);
    for (mode, who) in [("", "a"), ("turbo", "a"), ("balanced", "a"), ("cheap", "b"), ("Cost-Saver", "b")] {
        ask(&world, "smart", &format!("X-OmniRoute-Mode: {mode}\r\n"), "hi").served_by(who);
    }
    let asked = [world.upstream("a").requests(), world.upstream("b").requests()].concat();
    assert_eq!(asked.len(), 5);
    for request in asked {
        assert!(!request.head.to_lowercase().contains("omniroute"), "{}", request.head);
    }
}

/// Routing 5.9: about ten tokens, so a tenth of a thousandth of a dollar at `a`.
#[test]
fn a_budget_of_the_request_beats_the_stored_one() {
    let world = auto(priced(), &format!("{MORE}, budget_cap = 1000.0, budget_fallback = \"cheapest\""));
    let budget =
        |usd: &str, more: &str| ask(&world, "smart", &format!("X-OmniRoute-Budget: {usd}\r\n{more}"), "hi");
    budget("1", "").served_by("a");
    budget("0.0001", "").served_by("b");
    budget("0.000000001", "").served_by("b");
    budget("0.000000001", "X-OmniRoute-Budget-Fallback: soft\r\n").served_by("b");
    let before = world.upstream("b").requests().len();
    for strict in ["strict", "block", "HARD"] {
        let refused = budget("0.000000001", &format!("X-OmniRoute-Budget-Fallback: {strict}\r\n"));
        refused.is_error(402, "budget_exceeded");
        assert_eq!(refused.header("retry-after"), None);
    }
    assert_eq!(world.upstream("b").requests().len(), before);
    for nonsense in ["-1", "0", "much", "NaN"] {
        budget(nonsense, "X-OmniRoute-Budget-Fallback: strict\r\n").served_by("a");
    }
    budget("0.000000001", "X-OmniRoute-Budget-Fallback: maybe\r\n").served_by("b");
}

/// Without a combo nobody else wants to know how long a request is: `auto` does. At `b` 10,000
/// tokens cost half a cent, 1,000 would cost a tenth of that.
#[test]
fn the_budget_of_auto_counts_the_tokens_of_the_request() {
    let strict = "X-OmniRoute-Budget: 0.003\r\nX-OmniRoute-Budget-Fallback: strict\r\n";
    for (model, aliases) in [("auto", ""), ("auto/cheap", ""), ("best", "[aliases]\nbest = \"auto\"")] {
        let world = priced().section(aliases).start();
        assert_eq!(ask(&world, model, strict, "hi").status, 200, "{model}");
        ask(&world, model, strict, &"x".repeat(40_000)).is_error(402, "budget_exceeded");
    }
}

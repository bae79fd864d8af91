//! FC-051: attempts do not multiply, and none is wasted on who is known to be out.

use serde_json::json;

use crate::support::{Answer, Setup, World};

const RESTING: [&str; 3] = ["rest-1", "rest-2", "rest-3"];
const UNPAID: [&str; 3] = ["unpaid-1", "unpaid-2", "unpaid-3"];
const FAILING: [&str; 5] = ["fail-1", "fail-2", "fail-3", "fail-4", "fail-5"];

/// Twelve providers of three accounts each; all but the last are out, each in its way.
fn twelve() -> World {
    let names: Vec<&str> = RESTING.into_iter().chain(UNPAID).chain(FAILING).chain(["well"]).collect();
    let setup = names.iter().fold(Setup::new(), |setup, name| setup.provider(name, 3));
    let world = setup.combo("m", &names).start();
    for name in RESTING {
        for account in 1..=3 {
            let cooled = json!({"message": "cool", "for": "1h"});
            assert_eq!(world.order("connection", &format!("{name}-{account}"), cooled).status, 200);
        }
    }
    all_answer(&world, &UNPAID, 402);
    all_answer(&world, &FAILING, 502);
    world
}

fn all_answer(world: &World, names: &[&str], status: u16) {
    for name in names {
        world.upstream(name).answers(Answer::status(status));
    }
}

fn asked(world: &World, names: &[&str]) -> Vec<usize> {
    names.iter().map(|name| world.upstream(name).asked()).collect()
}

#[test]
fn fc_051_the_healthy_one_behind_eleven_that_are_out_is_reached_with_few_attempts() {
    let world = twelve();
    let reply = world.ask("m");
    reply.served_by("well");
    // Who rests is not asked. Each account that is out of credit says so for itself; a failing
    // provider is asked once, its other accounts would come behind the other providers.
    assert_eq!(asked(&world, &RESTING), [0; 3]);
    assert_eq!(asked(&world, &UNPAID), [3; 3]);
    assert_eq!(asked(&world, &FAILING), [1; 5]);
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=priority; provider=well; attempts=15"));
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("14"));
}

#[test]
fn fc_051_what_one_request_learnt_the_next_need_not() {
    let world = twelve();
    world.ask("m").served_by("well");
    let reply = world.ask("m");
    reply.served_by("well");
    assert_eq!(asked(&world, &UNPAID), [3; 3], "an account out of credit is not asked again");
    assert_eq!(asked(&world, &FAILING), [2; 5], "a failing provider is asked through its next account");
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=priority; provider=well; attempts=6"));
}

/// Twelve providers of three accounts that all answer 502.
fn twelve_failing(names: &[&str]) -> World {
    let setup = names.iter().fold(Setup::new(), |setup, name| setup.provider(name, 3));
    let world = setup.combo("m", names).start();
    all_answer(&world, names, 502);
    world
}

const TWELVE: [&str; 12] = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12"];

#[test]
fn fc_051_the_accounts_of_eleven_failing_providers_do_not_use_up_the_healthy_one_s_turn() {
    let world = twelve_failing(&TWELVE);
    world.upstream("p12").answers(Answer::good("p12"));
    let reply = world.ask("m");
    reply.served_by("p12");
    assert_eq!(asked(&world, &TWELVE), [1; 12]);
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("11"));
}

#[test]
fn fc_051_no_request_is_sent_upstream_more_than_thirty_times() {
    let world = twelve_failing(&TWELVE);
    let reply = world.ask("m");
    assert_eq!(asked(&world, &TWELVE).iter().sum::<usize>(), 30);
    assert_eq!(reply.header("x-omniroute-combo-attempted"), Some("30"));
    reply.is_error(502, "fake_502");
}

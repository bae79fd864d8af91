//! Tables over names: every name of the contract, and every way to mistype one.

use super::{
    Behaviour, Breakage, EXAMPLES, FlakyCounters, Headless, Lane, Manner, Reason, Refusal, Wall, behaviours,
    flaky_fails,
};

fn plain(status: u16, retry_after: Option<u64>) -> Behaviour {
    Behaviour::Refuse(Refusal { status, manner: Manner::Plain { retry_after } })
}

fn wall(lane: Lane) -> Behaviour {
    Behaviour::Wall(Wall { resets_in: 60, lane })
}

fn broken(after: usize, how: Breakage) -> Behaviour {
    Behaviour::Broken { after, how }
}

#[test]
fn every_name_of_the_contract_is_understood() {
    let table = [
        ("steady", Behaviour::Steady),
        ("slow-300ms", Behaviour::Slow { delay_ms: 300 }),
        ("slow-0ms", Behaviour::Slow { delay_ms: 0 }),
        ("status-503", plain(503, None)),
        ("status-429-retry-7", plain(429, Some(7))),
        ("status-503-retry-0", plain(503, Some(0))),
        ("flaky-30", Behaviour::Flaky { percent: 30 }),
        ("flaky-0", Behaviour::Flaky { percent: 0 }),
        ("flaky-100", Behaviour::Flaky { percent: 100 }),
        ("capacity-2", Behaviour::Capacity { count: 2, delay_ms: 50 }),
        ("capacity-0-0ms", Behaviour::Capacity { count: 0, delay_ms: 0 }),
        ("capacity-12-300ms", Behaviour::Capacity { count: 12, delay_ms: 300 }),
        ("down-5s", Behaviour::Down { seconds: 5 }),
        ("stall-after-3", broken(3, Breakage::Stall)),
        ("stall-after-0", broken(0, Breakage::Stall)),
        ("cut-after-3", broken(3, Breakage::Cut)),
        ("empty", Behaviour::Empty),
        ("error-in-200", Behaviour::ErrorIn200),
        ("hang", Behaviour::Headless(Headless::Hang)),
        ("trickle-1", Behaviour::Trickle { bytes_per_second: 1 }),
        ("chunks-20x5", Behaviour::Chunks { count: 20, every_ms: 5 }),
        ("chunks-20x0", Behaviour::Chunks { count: 20, every_ms: 0 }),
        ("reset", Behaviour::Headless(Headless::Reset)),
        ("garbage", Behaviour::Headless(Headless::Garbage)),
        ("redirect-307", Behaviour::Refuse(Refusal { status: 307, manner: Manner::Redirect })),
        ("early-413", Behaviour::Refuse(Refusal { status: 413, manner: Manner::Early })),
        ("wall-60", wall(Lane::Serves)),
        ("wall-60-control", wall(Lane::Control)),
        ("wall-60-not-needed", wall(Lane::NotNeeded)),
        ("wall-60-busy-2", wall(Lane::Busy { count: 2 })),
        ("wall-60-overloaded-1", wall(Lane::Overloaded { count: 1 })),
        ("wall-60-weekly-limit", wall(Lane::Refuses(Reason::WeeklyLimit))),
        ("wall-60-off", wall(Lane::Refuses(Reason::Off))),
    ];
    for (name, behaviour) in table {
        assert_eq!(Behaviour::parse(name), behaviour, "{name}");
        assert_eq!(behaviour.to_string(), name, "the name reads back");
    }
}

#[test]
fn a_wall_that_makes_no_sense_is_steady() {
    for name in ["wall-", "wall-x", "wall-60-", "wall-60-busy", "wall-60-busy-x", "wall-60-tall"] {
        assert_eq!(Behaviour::parse(name), Behaviour::Steady, "{name}");
    }
}

#[test]
fn what_makes_no_sense_is_steady() {
    let names = [
        "",
        "gpt-5",
        "Steady",
        "steady-1",
        "slow-300",
        "slow-ms",
        "slow--1ms",
        "slow-1.5ms",
        "slow-+1ms",
        "slow-99999999999ms",
        "status-",
        "status-abc",
        "status-99",
        "status-199",
        "status-600",
        "status-503-",
        "status-503-retry-",
        "status-503-retry-x",
        "status-503-retry-7-retry-8",
        "status-503-7",
        "flaky-101",
        "flaky--1",
        "flaky-",
        "flaky-30%",
        "capacity-",
        "capacity-x",
        "capacity-2-",
        "capacity-2-ms",
        "capacity-2-300",
        "capacity-2ms",
        "capacity-2-3ms-4ms",
        "down-5",
        "down-s",
        "stall-after-",
        "stall-after-x",
        "stall-3",
        "cut-after-9999999",
        "trickle-0",
        "trickle-",
        "chunks-0x5",
        "chunks-5",
        "chunks-5x",
        "chunks-x5",
        "chunks-5x5ms",
        "hang-1",
        "redirect-200",
        "redirect-503",
        "early-100",
        "early-",
        "error-in-500",
        "18446744073709551616",
        "slow-18446744073709551616ms",
        "\u{661}",
    ];
    for name in names {
        assert_eq!(Behaviour::parse(name), Behaviour::Steady, "{name}");
    }
}

#[test]
fn the_delay_of_a_capacity_is_50_ms_unless_told() {
    assert_eq!(Behaviour::parse("capacity-2-50ms"), Behaviour::parse("capacity-2"), "one name, one count");
}

#[test]
fn flaky_30_fails_at_4_7_10() {
    let failing: Vec<u64> = (1..=10).filter(|&n| flaky_fails(n, 30)).collect();
    assert_eq!(failing, [4, 7, 10]);
}

#[test]
fn flaky_fails_exactly_its_share() {
    for percent in 0..=100 {
        let failures = (1..=100).filter(|&n| flaky_fails(n, percent)).count();
        assert_eq!(failures, usize::from(percent), "flaky-{percent}");
    }
    assert!(!flaky_fails(0, 100), "requests count from 1");
}

#[test]
fn each_flaky_name_counts_for_itself() {
    let counters = FlakyCounters::default();
    let thirty: Vec<bool> = (0..4).map(|_| counters.next_fails(30)).collect();
    assert_eq!(thirty, [false, false, false, true]);
    assert!(!counters.next_fails(50));
    assert!(counters.next_fails(50));
}

#[test]
fn every_pattern_has_an_example_that_is_understood() {
    assert_eq!(behaviours().len(), EXAMPLES.len());
    for ((pattern, meaning), example) in behaviours().iter().zip(EXAMPLES) {
        let stem = pattern.split(['N', 'P', '[']).next().expect("split yields one part at least");
        assert!(example.starts_with(stem), "{example} is an example of {pattern}");
        assert_eq!(Behaviour::parse(example).to_string(), example);
        assert!(!meaning.is_empty() && !meaning.contains('\n'));
    }
}

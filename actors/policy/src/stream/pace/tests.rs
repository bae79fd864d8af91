use super::Speed::{Fine, TooSlow};
use super::{GRAINS, Pace, PaceSettings, Speed};
use crate::stream::{Ending, Finish, Kind, Sight};
use crate::time::Millis;

const PING: Sight =
    Sight { kind: Kind::Idle, text: 0, usage: false, finish: None, choices: 0, stopped: 0, end: None };
const TOOL: Sight = Sight { kind: Kind::Tool, ..PING };
const THINKS: Sight = Sight { kind: Kind::Reasoning { readable: true }, ..PING };

fn text(bytes: usize) -> Sight {
    Sight { kind: Kind::Output, text: bytes, ..PING }
}

/// The built-in numbers, switched on: warm-up and window 30 s, 4 B/s.
fn on() -> PaceSettings {
    PaceSettings { enabled: true, ..PaceSettings::default() }
}

/// One chunk that holds one frame.
fn chunk(pace: &mut Pace, sight: Sight, now: Millis) -> Speed {
    pace.saw(&sight, now);
    pace.chunk(now)
}

/// What each chunk is judged to be, when it holds one frame.
fn run(settings: PaceSettings, chunks: &[(Millis, Sight)]) -> Vec<Speed> {
    let mut pace = Pace::new(settings);
    chunks.iter().map(|(now, sight)| chunk(&mut pace, *sight, *now)).collect()
}

#[test]
fn row_e116_the_window_slides_and_pings_count_nothing() {
    let chunks = [(0, PING), (10_000, text(200)), (40_000, text(100)), (59_999, PING), (60_000, PING)];
    assert_eq!(run(on(), &chunks), [Fine, Fine, Fine, Fine, TooSlow]);
}

#[test]
fn row_e117_the_edge_of_the_window_counts_and_equal_is_not_slow() {
    let chunks = [(0, PING), (30_000, text(60)), (60_000, text(60)), (60_001, PING)];
    assert_eq!(run(on(), &chunks), [Fine, Fine, Fine, TooSlow]);
}

#[test]
fn row_e118_a_little_text_is_not_judged_and_none_is() {
    let settings = PaceSettings { min_bytes: 10, ..on() };
    let chunks = |bytes| [(0, PING), (40_000, text(bytes)), (60_000, PING)];
    assert_eq!(run(settings, &chunks(5)), [Fine, Fine, Fine]);
    assert_eq!(run(settings, &chunks(0)), [Fine, Fine, TooSlow]);
    assert_eq!(run(settings, &chunks(9)), [Fine, Fine, Fine]);
    assert_eq!(run(settings, &chunks(10)), [Fine, Fine, TooSlow], "10 B in 30 s are judged");
}

#[test]
fn row_e119_a_tool_call_is_never_too_slow() {
    let mut pace = Pace::new(on());
    assert_eq!(chunk(&mut pace, TOOL, 0), Fine);
    for second in 1..=120 {
        assert_eq!(chunk(&mut pace, PING, second * 1_000), Fine, "{second}");
    }
}

#[test]
fn row_e120_after_thinking_one_full_window_passes_before_judgement() {
    let mut pace = Pace::new(on());
    for second in 0..300 {
        assert_eq!(chunk(&mut pace, THINKS, second * 1_000), Fine, "{second}");
    }
    assert_eq!(chunk(&mut pace, text(2), 300_000), Fine);
    assert_eq!(chunk(&mut pace, PING, 329_999), Fine);
    assert_eq!(chunk(&mut pace, PING, 330_000), TooSlow, "no second warm-up");
}

#[test]
fn what_was_said_before_the_thinking_is_forgotten() {
    let mut pace = Pace::new(on());
    assert_eq!(chunk(&mut pace, text(10_000), 59_000), Fine);
    assert_eq!(chunk(&mut pace, THINKS, 59_500), Fine);
    assert_eq!(chunk(&mut pace, text(2), 60_000), Fine);
    assert_eq!(chunk(&mut pace, PING, 118_999), Fine, "warm-up and window from the first chunk");
    assert_eq!(chunk(&mut pace, PING, 119_000), TooSlow);
    let mut pace = Pace::new(on());
    let _ = [chunk(&mut pace, PING, 0), chunk(&mut pace, text(10_000), 59_000)];
    assert_eq!(chunk(&mut pace, THINKS, 59_500), Fine);
    assert_eq!(chunk(&mut pace, text(2), 60_000), Fine);
    assert_eq!(chunk(&mut pace, text(117), 89_999), Fine);
    assert_eq!(chunk(&mut pace, PING, 90_000), TooSlow, "119 B of 120, without the 10 000");
}

#[test]
fn row_e122_stored_numbers_are_brought_within_their_bounds() {
    let stored = |warmup_ms, window_ms, min_bytes_per_second, min_bytes| {
        let settings = PaceSettings { enabled: true, warmup_ms, window_ms, min_bytes_per_second, min_bytes };
        let PaceSettings { warmup_ms, window_ms, min_bytes_per_second, min_bytes, .. } =
            settings.normalised();
        [warmup_ms, window_ms, min_bytes_per_second, min_bytes]
    };
    assert_eq!(stored(0, 10, 0, 0), [0, 1_000, 1, 1], "E122; -1 is 0 where there is no sign");
    let most = [600_000, 600_000, 1_000_000, 1_000_000];
    assert_eq!(stored(600_001, 600_001, 1_000_001, 1_000_001), most);
    assert_eq!(stored(most[0], most[1], most[2], most[3]), most);
    assert_eq!(on().normalised(), on());
    assert!(!PaceSettings::default().normalised().enabled, "off unless asked for");
}

#[test]
fn a_silent_stream_is_not_judged_and_its_next_chunk_is() {
    let mut pace = Pace::new(on());
    assert_eq!(chunk(&mut pace, text(1_000), 0), Fine);
    // Text after a long silence comes first, then the judgement.
    let mut other = pace.clone();
    assert_eq!(chunk(&mut pace, text(120), 500_000), Fine);
    assert_eq!(chunk(&mut other, text(119), 500_000), TooSlow);
}

#[test]
fn a_chunk_is_judged_once_by_all_its_frames() {
    let mut pace = Pace::new(on());
    assert_eq!(pace.chunk(0), Fine, "half a frame starts the clock as well");
    for sight in [PING, text(60), PING, text(60)] {
        pace.saw(&sight, 60_000);
    }
    assert_eq!(pace.chunk(60_000), Fine);
    let mut pace = Pace::new(on());
    assert_eq!(pace.chunk(0), Fine);
    for sight in [PING, text(100), TOOL] {
        pace.saw(&sight, 60_000);
    }
    assert_eq!(pace.chunk(60_000), Fine, "a tool call begins in it");
}

#[test]
fn frames_that_neither_speak_nor_work_do_not_end_a_suspension() {
    for idle in [Kind::Idle, Kind::KeepAlive, Kind::Lifecycle, Kind::Opaque, Kind::Output] {
        let chunks = [(0, THINKS), (100_000, Sight::of(idle)), (200_000, PING)];
        assert_eq!(run(on(), &chunks), [Fine, Fine, Fine], "{idle:?}");
        // Nor do they begin one.
        let chunks = [(0, Sight::of(idle)), (60_000, Sight::of(idle))];
        assert_eq!(run(on(), &chunks), [Fine, TooSlow], "{idle:?}");
    }
}

#[test]
fn a_model_that_has_stopped_is_not_slow() {
    let stop = Sight { finish: Some(Finish::Stop), ..Sight::of(Kind::Lifecycle) };
    let done = Sight { end: Some(Ending::Complete), ..PING };
    for last in [stop, done] {
        assert_eq!(run(on(), &[(0, PING), (70_000, last), (80_000, PING)]), [Fine, Fine, Fine]);
    }
    let tools = Sight { finish: Some(Finish::Tools), ..Sight::of(Kind::Lifecycle) };
    assert_eq!(run(on(), &[(0, PING), (70_000, tools)]), [Fine, TooSlow], "flow 6.6.33");
}

#[test]
fn switched_off_nothing_is_too_slow_and_nothing_is_kept() {
    let mut pace = Pace::new(PaceSettings::default());
    for second in 0..1_000 {
        assert_eq!(chunk(&mut pace, text(1), second * 1_000), Fine);
    }
    assert!(pace.buckets.is_empty());
}

#[test]
fn a_fast_stream_leaves_a_bounded_trace() {
    for window_ms in [1_000, 1_001, 30_000, 600_000] {
        let settings = PaceSettings { window_ms, warmup_ms: 0, min_bytes_per_second: 2_000, ..on() };
        let mut pace = Pace::new(settings);
        let mut most = 0;
        for now in 0..=2 * window_ms {
            // Two samples a millisecond: exactly the pace that is wanted, and a little for the edge.
            pace.saw(&text(1), now);
            assert_eq!(chunk(&mut pace, text(1), now), Fine, "{window_ms} {now}");
            most = most.max(pace.buckets.len() as Millis);
        }
        assert!(most <= GRAINS + 1, "{most} at {window_ms}");
        // What counts too long is at most one bucket.
        let exact = 2 * (window_ms + 1);
        let grain = window_ms.div_ceil(GRAINS);
        assert!((exact..exact + 2 * grain).contains(&pace.bytes), "{} at {window_ms}", pace.bytes);
    }
}

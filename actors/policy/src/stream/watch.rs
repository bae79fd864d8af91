//! The clocks of one streamed answer, each with its own limit (flow 6.1-6.3; decisions 9, 18a;
//! FC-030, FC-031, FC-032, FC-088).
//!
//! Until the model shows that it works the first-content limit holds, and nothing else moves it:
//! pings prove nothing. From then on output, tool calls and reasoning, readable or not, re-arm the
//! content stall, and any byte re-arms the idle limit. Attempt and total run from their start to
//! the end.

use super::Sight;
use crate::time::Millis;

/// Limits of a stream, ms; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamLimits {
    /// From the head to the first meaningful frame.
    pub first_content_ms: Millis,
    /// Between two frames that carry output, a tool call or reasoning.
    pub content_stall_ms: Millis,
    /// Between two bytes.
    pub idle_ms: Millis,
    /// From the request's arrival to the answer's end.
    pub total_ms: Millis,
    /// From the attempt's dispatch to the answer's end.
    pub attempt_ms: Millis,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Nothing meaningful in time.
    FirstContent,
    /// No output and no reasoning for too long.
    ContentStall,
    /// No byte for too long.
    Idle,
    /// The whole took too long.
    Total,
    /// The attempt took too long.
    Attempt,
    /// An answer that is not streamed took too long, from its head on.
    Body,
}

impl Limit {
    /// The code in errors.
    pub fn code(self) -> &'static str {
        match self {
            Self::FirstContent => "STREAM_READINESS_TIMEOUT",
            Self::ContentStall => "STREAM_CONTENT_STALL",
            Self::Idle => "STREAM_IDLE_TIMEOUT",
            Self::Total => "STREAM_TOTAL_TIMEOUT",
            Self::Attempt => "STREAM_ATTEMPT_TIMEOUT",
            Self::Body => "gateway_timeout",
        }
    }

    /// The status that it stands for (flow 6.2.5, 6.3.15).
    pub fn status(self) -> u16 {
        match self {
            Self::ContentStall => 502,
            _ => 504,
        }
    }

    /// The setting that moves it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::FirstContent => "stream.first_content_timeout",
            Self::ContentStall => "stream.content_stall_timeout",
            Self::Idle => "stream.idle_timeout",
            Self::Total => "stream.total_timeout",
            Self::Attempt => "stream.attempt_deadline",
            Self::Body => "upstream.body_timeout",
        }
    }
}

/// The clocks of one answer.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    limits: StreamLimits,
    /// End of the whole, by attempt and by request.
    ends: [Option<Millis>; 2],
    head_at: Millis,
    heard_at: Millis,
    /// The last frame that showed the model at work; `None`: none did.
    progress_at: Option<Millis>,
}

impl Watch {
    /// The head has come. `asked_at`: the request's arrival; `sent_at`: the attempt's dispatch.
    pub fn new(limits: StreamLimits, asked_at: Millis, sent_at: Millis, now: Millis) -> Self {
        let end = |start: Millis, limit: Millis| (limit > 0).then(|| start.saturating_add(limit));
        let ends = [end(sent_at, limits.attempt_ms), end(asked_at, limits.total_ms)];
        Self { limits, ends, head_at: now, heard_at: now, progress_at: None }
    }

    /// The wait for the first content is longer by so much (flow 6.2.8).
    pub fn extend(&mut self, more_ms: Millis) {
        self.limits.first_content_ms += more_ms;
    }

    /// Bytes came, whatever they hold.
    pub fn heard(&mut self, now: Millis) {
        self.heard_at = now;
    }

    /// A frame came.
    pub fn saw(&mut self, sight: &Sight, now: Millis) {
        if sight.is_progress() {
            self.progress_at = Some(now);
        }
    }

    /// The answer counts as begun, though nothing meaningful came.
    pub fn begin(&mut self, now: Millis) {
        self.progress_at.get_or_insert(now);
    }

    /// The next instant at which a limit is reached, and which.
    pub fn deadline(&self) -> Option<(Millis, Limit)> {
        let StreamLimits { first_content_ms, content_stall_ms, idle_ms, .. } = self.limits;
        let content = match self.progress_at {
            None => (self.head_at, first_content_ms, Limit::FirstContent),
            Some(at) => (at, content_stall_ms, Limit::ContentStall),
        };
        let moving = [content, (self.heard_at, idle_ms, Limit::Idle)];
        let moving = moving.into_iter().filter(|(_, limit, _)| *limit > 0);
        let moving = moving.map(|(from, limit, which)| (from.saturating_add(limit), which));
        let fixed = self.ends.into_iter().zip([Limit::Attempt, Limit::Total]);
        moving.chain(fixed.filter_map(|(end, which)| Some((end?, which)))).min()
    }

    /// The limit that is reached now.
    pub fn due(&self, now: Millis) -> Option<Limit> {
        self.deadline().filter(|(at, _)| *at <= now).map(|(_, limit)| limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, StreamLimits, Watch};
    use crate::stream::{Kind, Sight};
    use crate::time::Millis;

    const MINUTE: Millis = 60_000;

    fn watch(limits: StreamLimits) -> Watch {
        Watch::new(limits, 0, 0, 0)
    }

    /// Frames and when they come; when which limit ends it.
    fn fires(limits: StreamLimits, frames: &[(Millis, Kind)]) -> Option<(Millis, Limit)> {
        let mut watch = watch(limits);
        for (at, kind) in frames {
            if let Some(limit) = watch.due(*at) {
                return watch.deadline().map(|(at, _)| (at, limit));
            }
            watch.heard(*at);
            watch.saw(&Sight::of(*kind), *at);
        }
        watch.deadline()
    }

    const THINKS: Kind = Kind::Reasoning { readable: false };

    #[test]
    fn e99_lifecycle_frames_do_not_move_the_first_content() {
        let limits = StreamLimits { first_content_ms: 110_000, idle_ms: 600_000, ..StreamLimits::default() };
        let frames: Vec<(Millis, Kind)> = (1..30).map(|n| (n * 10_000, Kind::Lifecycle)).collect();
        assert_eq!(fires(limits, &frames), Some((110_000, Limit::FirstContent)));
    }

    /// FC-030: pings do not either.
    #[test]
    fn fc_030_pings_prove_nothing() {
        let limits = StreamLimits { first_content_ms: 30_000, idle_ms: 60_000, ..StreamLimits::default() };
        let pings: Vec<(Millis, Kind)> = (1..100).map(|n| (n * 5_000, Kind::Idle)).collect();
        assert_eq!(fires(limits, &pings), Some((30_000, Limit::FirstContent)));
        assert_eq!(fires(limits, &[]), Some((30_000, Limit::FirstContent)));
    }

    #[test]
    fn e100_reasoning_re_arms_the_content_stall_in_full() {
        let limits =
            StreamLimits { first_content_ms: 110_000, content_stall_ms: 110_000, ..StreamLimits::default() };
        let mut frames = vec![(60_000, THINKS), (120_000, THINKS), (200_000, THINKS)];
        frames.extend((21..40).map(|n| (n * 10_000, Kind::Idle)));
        assert_eq!(fires(limits, &frames), Some((310_000, Limit::ContentStall)));
    }

    /// Decision 18a: ours lives on after the first output; switched off, silence is the idle limit's.
    #[test]
    fn e101_e102_a_limit_of_nothing_never_fires() {
        let limits = StreamLimits { first_content_ms: 110_000, idle_ms: 600_000, ..StreamLimits::default() };
        assert_eq!(fires(limits, &[(109_900, Kind::Output)]), Some((709_900, Limit::Idle)));
        assert_eq!(fires(StreamLimits::default(), &[(5, Kind::Idle)]), None);
    }

    /// FC-031: pauses of a model that thinks.
    #[test]
    fn fc_031_each_clock_has_its_own_limit() {
        let limits = StreamLimits {
            first_content_ms: 2 * MINUTE,
            content_stall_ms: 5 * MINUTE,
            idle_ms: 10 * MINUTE,
            ..StreamLimits::default()
        };
        let frames = [
            (10, Kind::Lifecycle),
            (20, Kind::Lifecycle),
            (100_000, THINKS),
            (190_000, Kind::Output),
            (480_000, Kind::Output),
        ];
        assert_eq!(fires(limits, &frames), Some((780_000, Limit::ContentStall)));
    }

    /// FC-088: whatever the model does is progress, and any byte is life.
    #[test]
    fn fc_088_tools_and_reasoning_are_progress() {
        let limits = StreamLimits {
            first_content_ms: MINUTE,
            content_stall_ms: 5 * MINUTE,
            idle_ms: MINUTE,
            ..StreamLimits::default()
        };
        for kind in [Kind::Tool, THINKS, Kind::Output, Kind::Opaque] {
            let frames: Vec<(Millis, Kind)> = (1..=180).map(|n| (n * 5_000, kind)).collect();
            assert_eq!(fires(limits, &frames), Some((960_000, Limit::Idle)), "{kind:?}");
        }
        let mut zombie = vec![(5_000, Kind::Output)];
        zombie.extend((2..200).map(|n| (n * 5_000, Kind::KeepAlive)));
        assert_eq!(fires(limits, &zombie), Some((305_000, Limit::ContentStall)));
    }

    /// FC-032: an end of the whole only where somebody wants one.
    #[test]
    fn fc_032_attempt_and_total_are_never_re_armed() {
        let talks: Vec<(Millis, Kind)> = (1..2_000).map(|n| (n * 1_000, Kind::Output)).collect();
        let none = StreamLimits { content_stall_ms: MINUTE, ..StreamLimits::default() };
        assert_eq!(fires(none, &talks), Some((1_999_000 + MINUTE, Limit::ContentStall)));
        let attempt = StreamLimits { attempt_ms: 10 * MINUTE, ..none };
        assert_eq!(fires(attempt, &talks), Some((600_000, Limit::Attempt)));
        let total = StreamLimits { total_ms: 5 * MINUTE, ..attempt };
        assert_eq!(fires(total, &talks), Some((300_000, Limit::Total)));
        let later = Watch::new(total, 0, 60_000, 61_000);
        assert_eq!(later.ends, [Some(660_000), Some(300_000)]);
    }

    #[test]
    fn a_longer_request_may_take_longer_to_begin() {
        let mut watch = watch(StreamLimits { first_content_ms: 1_000, ..StreamLimits::default() });
        watch.extend(500);
        assert_eq!((watch.due(1_499), watch.due(1_500)), (None, Some(Limit::FirstContent)));
        watch.begin(1_400);
        assert_eq!(watch.deadline(), None);
    }
}

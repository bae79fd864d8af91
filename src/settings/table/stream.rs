//! Rows that watch over answers: `[stream]` (contract 8, flow 6.1), `[formats]` and
//! `[resilience.stream_recovery]` (flow 6.4). A clock of 0 never fires.

use policy::time::{HOUR, SECOND};

use super::{FLAG, Row, STREAM_LIMIT, row};
use crate::settings::kind::{Data, Kind};

const FRAME: Kind = Kind::Size(64 << 10, 1 << 30);

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [stream]
    row("stream.first_content_timeout", STREAM_LIMIT, "120s", "", "how long an answer that has begun may go without a meaningful frame; 0s = no limit; without its variable REQUEST_TIMEOUT_MS counts").env("STREAM_READINESS_TIMEOUT_MS"),
    row("stream.content_stall_timeout", STREAM_LIMIT, "300s", "", "how long a stream may go without output or reasoning; 0s = no limit").env("STREAM_CONTENT_STALL_TIMEOUT_MS"),
    row("stream.idle_timeout", STREAM_LIMIT, "600s", "", "how long it may go without a single byte; 0s = no limit; without its variable REQUEST_TIMEOUT_MS counts").env("STREAM_IDLE_TIMEOUT_MS"),
    row("stream.total_timeout", STREAM_LIMIT, "0s", "", "how long a stream may last altogether; 0s = no limit"),
    row("stream.attempt_deadline", STREAM_LIMIT, "0s", "", "hard ceiling of one attempt, however well it goes; 0s = none").env("STREAM_ACTIVE_TIMEOUT_MS"),
    row("stream.early_commit", Kind::Span(0, HOUR), "0s", "", "from when on a stream that is held may send comments, after which a failure is told inside it; 0s = nothing is sent before the first meaningful frame"),
    row("stream.early_commit_json", Kind::Span(0, HOUR), "0s", "", "from when on an answer that is not streamed sends its head (status 200) and a blank line each heartbeat, after which a failure is told in its body and by an abnormal end; 0s = nothing is sent before the answer"),
    row("stream.heartbeat", Kind::Span(0, HOUR), "15s", "", "comments to the client while the upstream is silent; 0s = none").env("SSE_HEARTBEAT_INTERVAL_MS"),
    row("stream.max_event", FRAME, "32MiB", "", "longest frame of a stream"),
    // [formats]
    row("formats.response_model", Kind::Choice(&["upstream", "requested"]), "upstream", "", "what the model of an answer says: upstream, as it came; requested, what the client asked for (x-omniroute-model says who answered)"),
    row("formats.response_model_by_name", Kind::Data(Data::Naming), "", "", "the same of single names that clients write, such as aliases: { \"claude-x\" = \"requested\", \"gpt-*\" = \"upstream\" }"),
    row("formats.on_loss", Kind::Choice(&["drop", "refuse"]), "drop", "", "what happens to what another dialect cannot say: drop it, or refuse the request; answers and requests are not translated yet, so nothing is lost").idle(),
];

#[rustfmt::skip] // one row, one line
pub(super) const RECOVERY: &[Row] = &[
    // [resilience.stream_recovery]
    row("resilience.stream_recovery.enabled", FLAG, "false", "", "a stream that failed before its first output is opened again on the same account").env("STREAM_RECOVERY_ENABLED"),
    row("resilience.stream_recovery.continue_mid_stream", FLAG, "false", "", "a stream that was cut later is continued by another request, where that is provably safe").env("STREAM_RECOVERY_MIDSTREAM_ENABLED"),
    row("resilience.stream_recovery.throughput_watchdog.enabled", FLAG, "false", "", "a stream that is too slow counts as failed").env("STREAM_THROUGHPUT_WATCHDOG_ENABLED"),
    row("resilience.stream_recovery.throughput_watchdog.warmup_ms", Kind::Millis(0, 600_000), "30000", "ms", "how long a stream may be slow at first"),
    row("resilience.stream_recovery.throughput_watchdog.window_ms", Kind::Millis(SECOND, 600_000), "30000", "ms", "over how long speed is measured"),
    row("resilience.stream_recovery.throughput_watchdog.min_useful_bytes_per_second", Kind::Whole(1, 1_000_000), "4", "bytes/s", "less than this is too slow"),
    row("resilience.stream_recovery.throughput_watchdog.min_useful_bytes", Kind::Whole(1, 1_000_000), "1", "bytes", "less than this is not judged, unless it is none"),
];

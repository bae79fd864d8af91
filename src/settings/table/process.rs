//! Rows of the process itself: where it listens, what it keeps, how it dials. All of them act.

use policy::time::{DAY, HOUR, MINUTE};

use super::{ANSWER_LIMIT, DIAL_LIMIT, FLAG, Row, STREAM_LIMIT, row};
use crate::settings::kind::{Kind, Shape};

const MESSAGES: Kind = Kind::Whole(1, 1_000_000);

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [server]
    row("server.listen", Kind::Text(Shape::Address), "127.0.0.1:20128", "", "where clients connect").restart(),
    row("server.workers", Kind::Whole(0, 1_024), "0", "threads", "HTTP worker threads; 0 = one per core").restart(),
    row("server.max_body", Kind::Size(1 << 10, 4 << 30), "32MiB", "", "largest request body"),
    row("server.header_timeout", Kind::Span(1, HOUR), "10s", "", "how long a client may take to send its request head").restart(),
    row("server.write_stall_timeout", Kind::Span(1, HOUR), "60s", "", "how long a client may stop reading an answer").restart(),
    row("server.shutdown_grace", Kind::Span(0, DAY), "30s", "", "how long requests in flight may go on after SIGTERM"),
    row("server.require_api_key", FLAG, "false", "", "whether clients need a key of [[keys]]; forced when listen is not a loopback address"),
    row("server.max_retry_after", Kind::Span(0, 30 * DAY), "0s", "", "cap of the Retry-After header that clients see; 0s = none"),
    // [admin]
    row("admin.token", Kind::Secret, "env:SWITCHTOWER_ADMIN_TOKEN", "", "token of the management API; missing: one is made at first start and shown once"),
    row("admin.listen", Kind::Text(Shape::OptionalAddress), "", "", "address of the management API; empty: the one of [server]").restart(),
    // [store]
    row("store.path", Kind::Text(Shape::Path), "data", "", "folder of the database; relative to this file's folder").restart(),
    row("store.flush_interval", Kind::Span(1, MINUTE), "250ms", "", "the most state that a kill -9 may cost").restart(),
    // [mailbox]
    row("mailbox.router", MESSAGES, "4096", "messages", "waiting at the router; a full mailbox refuses, it never drops"),
    row("mailbox.provider", MESSAGES, "512", "messages", "waiting at each provider"),
    row("mailbox.connection", MESSAGES, "1024", "messages", "waiting at each connection"),
    row("mailbox.lockout", MESSAGES, "64", "messages", "waiting at each lockout"),
    row("mailbox.store", MESSAGES, "4096", "messages", "waiting at the store"),
    // [upstream]
    row("upstream.connect_timeout", DIAL_LIMIT, "10s", "", "limit on name lookup, TCP and TLS together").env("FETCH_CONNECT_TIMEOUT_MS"),
    row("upstream.first_byte_timeout", ANSWER_LIMIT, "600s", "", "limit from the sent request to the first byte of the answer; without its variable REQUEST_TIMEOUT_MS counts").env("FETCH_TIMEOUT_MS"),
    row("upstream.body_timeout", STREAM_LIMIT, "600s", "", "limit to all of an answer that is not streamed, from its head on; 0s = none; absent: as long as its first byte may take").env("FETCH_BODY_TIMEOUT_MS"),
    row("upstream.pool_idle", Kind::Span(0, HOUR), "15s", "", "how long an idle connection is kept; shorter than what providers keep"),
    row("upstream.pool_lifetime", Kind::Span(1, DAY), "10m", "", "how old a kept connection may become"),
    row("upstream.ca_file", Kind::Text(Shape::OptionalPath), "", "", "extra root certificates (PEM); relative to this file's folder"),
    // [demo]
    row("demo.enabled", FLAG, "false", "", "the scripted upstream with its providers, connections and combos").restart(),
    row("demo.listen", Kind::Text(Shape::Address), "127.0.0.1:0", "", "where it listens; port 0 = any free one").restart(),
    row("demo.log", FLAG, "true", "", "keep the requests it received for GET /demo/log").restart(),
    // [log], [metrics]
    row("log.access", FLAG, "false", "", "one line per request on stderr"),
    row("metrics.public", FLAG, "false", "", "/metrics answers without management auth"),
];

//! Limits of our own, told as such: a client must not take them for the provider's (flow 4.31).

use policy::change::Exclusion;
use policy::time::Millis;

use super::{Code, Problem};

/// The error of one of our limits: that it is ours, and which setting moves it.
pub(super) fn own_limit(why: Exclusion, wait: Option<Millis>) -> Problem {
    let (code, message) = match why {
        Exclusion::QueuedTotal => (
            Code::SemaphoreQueueFull,
            "as many requests wait inside switchtower as may (resilience.request_queue.max_queued_total)",
        ),
        Exclusion::ShuttingDown => (Code::Draining, "switchtower is shutting down; the request was not sent"),
        Exclusion::SemaphoreTimeout => (
            Code::SemaphoreTimeout,
            "no slot became free in time; this is a limit of switchtower, not of the provider \
             (max_concurrent, model_concurrency, resilience.concurrency.timeout_ms)",
        ),
        Exclusion::QueueFull => (
            Code::RateLimitQueueFull,
            "as many requests wait for the connection as may; this is a limit of switchtower, not of the \
             provider (resilience.request_queue.max_queue_depth)",
        ),
        Exclusion::QueueTimeout | Exclusion::LocalLimit => (
            Code::RateLimitQueueTimeout,
            "the request could not start in time; this is the pace that switchtower keeps for the provider \
             (resilience.request_queue.max_wait_ms)",
        ),
        Exclusion::QueueWedged => (
            Code::RateLimitQueueWedged,
            "the queue of the connection stood still and was replaced; send the request again",
        ),
        Exclusion::ExecutionTimeout => (
            Code::RateLimitExecutionTimeout,
            "the request ran longer than it may; this is a limit of switchtower, not of the provider \
             (resilience.request_queue.execution_max_wait_ms)",
        ),
        _ => (
            Code::SemaphoreQueueFull,
            "every slot is taken, and as many requests wait as may; this is a limit of switchtower, not of \
             the provider (max_concurrent, model_concurrency, resilience.concurrency.queue_size)",
        ),
    };
    Problem::new(code, message).after(wait)
}

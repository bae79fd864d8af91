//! What clients and orchestrators ask.

use super::{Operation, operation};

/// What may come instead of an upstream's answer.
const REFUSALS: &[u16] = &[400, 401, 402, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504];
const LISTING: &[u16] = &[401, 403];

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Operation] = &[
    operation(("post", "/v1/chat/completions"), "a chat, whole or streamed, as OpenAI's API has it", (200, "relayed")).body("ModelRequest").errors(REFUSALS),
    operation(("post", "/v1/embeddings"), "embeddings, as OpenAI's API has them", (200, "relayed")).body("ModelRequest").errors(REFUSALS),
    operation(("post", "/v1/messages"), "a message, whole or streamed, as Anthropic's API has it", (200, "relayed")).body("ModelRequest").errors(REFUSALS),
    operation(("post", "/v1/messages/count_tokens"), "counts the tokens of a message, as Anthropic's API does", (200, "relayed")).body("ModelRequest").errors(REFUSALS),
    operation(("post", "/v1/responses"), "a response, whole or streamed, as OpenAI's Responses API has it", (200, "relayed")).body("ModelRequest").errors(REFUSALS),
    operation(("get", "/v1/models"), "what a client may write as `model`", (200, "Models")).errors(LISTING),
    operation(("head", "/v1/models"), "the same without a body", (200, "")).errors(LISTING),
    operation(("get", "/v1/models/{id}"), "one of them", (200, "Model")).errors(&[401, 403, 404]),
    operation(("head", "/v1/models/{id}"), "the same without a body", (200, "")).errors(&[401, 403, 404]),
    operation(("post", "/v1/session-leases"), "takes, renews, gives back or looks at a lease; names its owner in `X-OmniRoute-Lease-Owner`", (200, "Lease")).body("LeaseRequest").errors(&[400, 401, 403, 404, 409, 413, 415, 429, 503]),
    operation(("options", "/v1/session-leases"), "what a browser may send there", (204, "")),
    operation(("get", "/healthz"), "the process is up", (200, "text/plain")),
    operation(("head", "/healthz"), "the same without a body", (200, "")),
    operation(("get", "/readyz"), "it takes requests; 503 before and while draining", (200, "text/plain")).errors(&[503]),
    operation(("head", "/readyz"), "the same without a body", (200, "")).errors(&[503]),
];

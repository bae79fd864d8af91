//! What operators ask.

use super::{Operation, operation};

const BODY_OF_ONE: &[u16] = &[400, 401, 404, 413];
const CHANGE: &[u16] = &[400, 401, 413, 503];
const CHANGE_OF_ONE: &[u16] = &[400, 401, 404, 409, 413, 503];
const LOOK: &[u16] = &[401];
const LOOK_AT_ONE: &[u16] = &[401, 404];
const ASKED: &[u16] = &[400, 401];
const GONE: &[u16] = &[401, 404, 409, 503];
const PROVIDER: (&str, &str, &str) = ("provider", "text", "only connections of this provider");

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Operation] = &[
    operation(("get", "/api/monitoring/health"), "everything at a glance; without a token only `status`", (200, "Health")),
    operation(("head", "/api/monitoring/health"), "the same without a body", (200, "")),
    operation(("delete", "/api/monitoring/health"), "closes every breaker", (200, "Reset")).errors(LOOK).does("breaker.reset"),
    operation(("post", "/api/auth/login"), "opens a session for the admin token, or a key with scope `manage`; sets the cookie `switchtower_session`", (204, "")).body("Login").errors(&[400, 401, 413, 429, 503]).does("session.login"),
    operation(("post", "/api/auth/logout"), "ends the session of the cookie, and takes the cookie back", (204, "")).errors(LOOK).does("session.logout"),
    operation(("post", "/api/resilience/reset"), "closes all breakers, or one", (200, "Reset")).maybe("ResetRequest").errors(BODY_OF_ONE).does("breaker.reset"),
    operation(("get", "/api/resilience"), "the numbers of `[resilience]` that are in force", (200, "object")).errors(LOOK),
    operation(("patch", "/api/resilience"), "changes what it names; null takes it back", (200, "object")).body("ResiliencePatch").errors(CHANGE).does("resilience.update"),
    operation(("get", "/api/settings"), "the values of `[settings]` that are in force, and `modelLockout`", (200, "object")).errors(LOOK),
    operation(("patch", "/api/settings"), "changes what it names; null takes it back", (200, "object")).body("SettingsPatch").errors(CHANGE).does("settings.update"),
    operation(("put", "/api/settings"), "the same as PATCH", (200, "object")).body("SettingsPatch").errors(CHANGE).does("settings.update"),
    operation(("get", "/api/settings/effective"), "every key, its value and who gave it", (200, "EffectiveSettings")).errors(LOOK),
    operation(("post", "/api/providers/{id}/test"), "sends one small real request through this connection", (200, "TestReport")).maybe("TestRequest").errors(&[400, 401, 404, 413, 503]).does("connection.test"),
    operation(("get", "/api/resilience/cooldowns"), "who rests, is locked or terminal", (200, "Cooldowns")).query(&[PROVIDER]).errors(ASKED),
    operation(("post", "/api/resilience/cooldowns"), "clears rests and locks; terminal states stay", (200, "Cleared")).body("ClearRequest").errors(BODY_OF_ONE).does("cooldown.clear"),
    operation(("get", "/api/resilience/model-cooldowns"), "the locks of models, the one that ends last first", (200, "ModelCooldowns")).errors(LOOK),
    operation(("delete", "/api/resilience/model-cooldowns"), "removes all that bars a model, or everything", (200, "Removed")).body("RemoveRequest").errors(BODY_OF_ONE).does("lockout.remove"),
    operation(("get", "/api/actors"), "every owner", (200, "Actors")).errors(LOOK),
    operation(("get", "/api/actors/{kind}/{id}"), "one owner whole", (200, "Actor")).errors(&[401, 404, 503]),
    operation(("post", "/api/actors/{kind}/{id}/messages"), "an order to one owner; answers its new state", (200, "Actor")).body("Order").errors(CHANGE_OF_ONE).does("actor.message"),
    operation(("get", "/api/audit"), "what operators have changed, newest first", (200, "Audit")).query(&[("limit", "int", "1 to 1000; absent: 100")]).errors(&[400, 401, 503]),
    operation(("get", "/api/decisions"), "the latest requests, newest first", (200, "Decisions")).query(&[("limit", "int", "1 to 1000; absent: 100"), ("model", "text", "only those that asked for it"), ("connection", "text", "only those that tried it")]).errors(ASKED),
    operation(("get", "/api/events"), "server-sent events of every change of a state; `Last-Event-ID` goes on behind the one it names", (200, "text/event-stream")).errors(&[400, 401, 503]),
    operation(("post", "/api/route/explain"), "the plan that such a request would get now; nothing is sent", (200, "Explanation")).body("ExplainRequest").errors(&[400, 401, 402, 403, 404, 409, 413, 429, 503]).untold("it answers what would be, and changes nothing"),
    operation(("get", "/api/usage/history"), "what requests took, by day (UTC)", (200, "UsageHistory")).query(&[("from", "text", "a day or an RFC 3339 instant; absent: 30 days in all"), ("to", "text", "likewise, included; absent: today"), ("groupBy", "'key'|'model'|'provider'|'connection'|'day'", "what rows are added up by")]).errors(&[400, 401, 503]),
    operation(("get", "/metrics"), "Prometheus text, or OpenMetrics if that is accepted; open to everybody with `metrics.public`", (200, "text/plain")).errors(LOOK),
    operation(("get", "/api/combos/metrics"), "how combos that were asked have fared", (200, "ComboMetrics")).errors(LOOK),
    operation(("get", "/api/combos/auto"), "every name of `auto` and what it would choose from now", (200, "AutoCombos")).errors(&[401, 503]),
    operation(("get", "/api/models/alias"), "other names of models", (200, "Aliases")).errors(LOOK),
    operation(("post", "/api/models/alias"), "sets `from` to `to`, or all that `aliases` names", (200, "Aliases")).body("AliasRequest").errors(CHANGE).does("alias.set"),
    operation(("delete", "/api/models/alias"), "takes one away, named in the query or the body", (200, "Aliases")).query(&[("from", "text", "the alias that goes")]).maybe("AliasGone").errors(CHANGE_OF_ONE).does("alias.delete"),
    operation(("get", "/api/rate-limits"), "which connections have a local limiter, and how it fares", (200, "RateLimits")).errors(LOOK),
    operation(("post", "/api/rate-limits"), "protects a connection, or takes that back", (200, "Protected")).body("ProtectRequest").errors(&[400, 401, 404, 413, 503]).does("connection.protect"),
    operation(("get", "/dashboard"), "the operators' page; open, what it shows needs a session", (200, "text/html")),
    operation(("get", "/dashboard/style.css"), "how it looks", (200, "text/css")),
    operation(("get", "/dashboard/api.js"), "its calls of this API", (200, "text/javascript")),
    operation(("get", "/dashboard/app.js"), "its start", (200, "text/javascript")),
    operation(("get", "/dashboard/audit.js"), "what operators changed", (200, "text/javascript")),
    operation(("get", "/dashboard/dom.js"), "what it is made of", (200, "text/javascript")),
    operation(("get", "/dashboard/events.js"), "its ear", (200, "text/javascript")),
    operation(("get", "/dashboard/explain.js"), "who would be asked", (200, "text/javascript")),
    operation(("get", "/dashboard/requests.js"), "the latest requests", (200, "text/javascript")),
    operation(("get", "/dashboard/standing.js"), "how things stand", (200, "text/javascript")),
    operation(("get", "/api/openapi.json"), "this document", (200, "object")).errors(LOOK),
];

#[rustfmt::skip] // one row, one line
pub(super) const ENTITIES: &[Operation] = &[
    operation(("get", "/api/providers"), "connections", (200, "Connections")).query(&[PROVIDER]).errors(ASKED),
    operation(("post", "/api/providers"), "makes a connection", (201, "OneConnection")).body("ConnectionBody").errors(CHANGE_OF_ONE).does("connection.create"),
    operation(("patch", "/api/providers"), "switches connections on or off", (200, "Switched")).body("SwitchRequest").errors(CHANGE).does("connection.switch"),
    operation(("post", "/api/providers/bulk"), "makes connections of one provider; each row stands for itself", (200, "MadeMany")).body("BulkRequest").errors(CHANGE).does("connection.create"),
    operation(("post", "/api/providers/import"), "makes connections; each row stands for itself", (200, "MadeMany")).body("ImportRequest").errors(CHANGE).does("connection.create"),
    operation(("get", "/api/providers/{id}"), "one connection", (200, "OneConnection")).errors(LOOK_AT_ONE),
    operation(("put", "/api/providers/{id}"), "puts a whole connection in its place; secrets that are not given stay", (200, "OneConnection")).body("ConnectionPatch").errors(CHANGE_OF_ONE).does("connection.update"),
    operation(("patch", "/api/providers/{id}"), "changes the fields it names; null clears", (200, "OneConnection")).body("ConnectionPatch").errors(CHANGE_OF_ONE).does("connection.update"),
    operation(("delete", "/api/providers/{id}"), "takes a stored one away; the file's is in force again", (200, "Deleted")).errors(GONE).does("connection.delete"),
    operation(("get", "/api/provider-nodes"), "providers", (200, "Providers")).errors(LOOK),
    operation(("post", "/api/provider-nodes"), "makes a provider", (201, "Provider")).body("ProviderBody").errors(CHANGE_OF_ONE).does("provider.create"),
    operation(("get", "/api/provider-nodes/{id}"), "one provider", (200, "Provider")).errors(LOOK_AT_ONE),
    operation(("put", "/api/provider-nodes/{id}"), "puts a whole provider in its place; secrets that are not given stay", (200, "Provider")).body("ProviderPatch").errors(CHANGE_OF_ONE).does("provider.update"),
    operation(("patch", "/api/provider-nodes/{id}"), "changes the fields it names; null clears", (200, "Provider")).body("ProviderPatch").errors(CHANGE_OF_ONE).does("provider.update"),
    operation(("delete", "/api/provider-nodes/{id}"), "takes a stored one away; the file's is in force again", (200, "Deleted")).errors(GONE).does("provider.delete"),
    operation(("get", "/api/keys"), "client keys", (200, "Keys")).errors(LOOK),
    operation(("post", "/api/keys"), "makes a client key; `key` is shown this once", (201, "Key")).body("KeyBody").errors(CHANGE_OF_ONE).does("key.create"),
    operation(("get", "/api/keys/{id}"), "one client key", (200, "Key")).errors(LOOK_AT_ONE),
    operation(("put", "/api/keys/{id}"), "puts a whole key in its place; what opens it stays", (200, "Key")).body("KeyPatch").errors(CHANGE_OF_ONE).does("key.update"),
    operation(("patch", "/api/keys/{id}"), "changes the fields it names; null clears", (200, "Key")).body("KeyPatch").errors(CHANGE_OF_ONE).does("key.update"),
    operation(("delete", "/api/keys/{id}"), "takes a stored one away; the file's is in force again", (200, "Deleted")).errors(GONE).does("key.delete"),
    operation(("get", "/api/quota-pools"), "accounts that client keys share", (200, "Pools")).errors(LOOK),
    operation(("post", "/api/quota-pools"), "makes a pool", (201, "Pool")).body("PoolBody").errors(CHANGE_OF_ONE).does("pool.create"),
    operation(("get", "/api/quota-pools/{id}"), "one pool", (200, "Pool")).errors(LOOK_AT_ONE),
    operation(("put", "/api/quota-pools/{id}"), "puts a whole pool in its place", (200, "Pool")).body("PoolBody").errors(CHANGE_OF_ONE).does("pool.update"),
    operation(("patch", "/api/quota-pools/{id}"), "changes the fields it names", (200, "Pool")).body("PoolPatch").errors(CHANGE_OF_ONE).does("pool.update"),
    operation(("delete", "/api/quota-pools/{id}"), "takes it away, and its models with it", (200, "Deleted")).errors(GONE).does("pool.delete"),
    operation(("get", "/api/combos"), "combos and their targets", (200, "Combos")).errors(LOOK),
    operation(("post", "/api/combos"), "makes a combo", (201, "Combo")).body("ComboBody").errors(CHANGE_OF_ONE).does("combo.create"),
    operation(("get", "/api/combos/{id}"), "one combo, by its percent-encoded name", (200, "Combo")).errors(LOOK_AT_ONE),
    operation(("put", "/api/combos/{id}"), "puts a whole combo in its place", (200, "Combo")).body("ComboPatch").errors(CHANGE_OF_ONE).does("combo.update"),
    operation(("patch", "/api/combos/{id}"), "changes the fields it names; null clears", (200, "Combo")).body("ComboPatch").errors(CHANGE_OF_ONE).does("combo.update"),
    operation(("delete", "/api/combos/{id}"), "takes a stored one away; the file's is in force again", (200, "Deleted")).errors(GONE).does("combo.delete"),
    operation(("get", "/api/model-combo-mappings"), "models whose names fit a pattern are a combo's", (200, "Mappings")).errors(LOOK),
    operation(("post", "/api/model-combo-mappings"), "makes a mapping", (201, "Mapping")).body("MappingBody").errors(CHANGE_OF_ONE).does("mapping.create"),
    operation(("get", "/api/model-combo-mappings/{id}"), "one mapping", (200, "Mapping")).errors(LOOK_AT_ONE),
    operation(("put", "/api/model-combo-mappings/{id}"), "puts a whole mapping in its place", (200, "Mapping")).body("MappingBody").errors(CHANGE_OF_ONE).does("mapping.update"),
    operation(("patch", "/api/model-combo-mappings/{id}"), "changes the fields it names; null clears", (200, "Mapping")).body("MappingPatch").errors(CHANGE_OF_ONE).does("mapping.update"),
    operation(("delete", "/api/model-combo-mappings/{id}"), "takes a stored one away; the file's is in force again", (200, "Deleted")).errors(GONE).does("mapping.delete"),
];

//! The names of the rows that decide a verdict, in their order. Shown to people beside each
//! attempt, so a wrong verdict names the row to blame.

use serde::{Deserialize, Serialize};

macro_rules! detectors {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// The row of the table that decided (core 3.2, rules 3.7).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Detector {
            $($(#[$doc])* $name),*
        }

        impl Detector {
            /// Every row there is, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in JSON and documentation.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text),*
                }
            }
        }
    };
}

detectors! {
    /// Core D2: the request names a response of another account.
    ResponseBinding = "response_binding",
    /// Core P2: the request names a file, item, response, store or upload that is not there.
    ResourceMissing = "resource_missing",
    /// Core D3: the supervisor of an embedded service speaks.
    ServiceDown = "service_down",
    /// Core D4: the rotation gate blocks.
    RotationHolds = "rotation_holds",
    /// Core D4: the rotation gate forces a 400 on.
    RotationForces = "rotation_forces",
    /// Core D5: the account is disabled.
    BanText = "ban_text",
    /// Core D6: the model is retired.
    ModelRetired = "model_retired",
    /// Core D7: the endpoint has moved.
    EndpointMoved = "endpoint_moved",
    /// Core D8: the account is suspended for its bills.
    BillingSuspended = "billing_suspended",
    /// Core D9: Google's metric per day.
    GoogleDaily = "google_daily",
    /// Core D9: Google's metric per minute.
    GoogleMinute = "google_minute",
    /// FC-078: a typed limit of the whole account.
    UsageLimit = "usage_limit",
    /// Core D10: the account is out of credit.
    Credits = "credits",
    /// Core D11: the quota of the day is used up.
    DailyQuota = "daily_quota",
    /// Core D12: the limit of a subscription.
    Subscription = "subscription",
    /// Core D13: the limit of the week.
    WeeklyQuota = "weekly_quota",
    /// Core D14: the limit of the session.
    SessionQuota = "session_quota",
    /// Core D15: a quota text with a stated wait.
    QuotaWithWait = "quota_with_wait",
    /// Core D16: the account is healthy but busy.
    Concurrency = "concurrency",
    /// Decision 12c: the model is overloaded.
    Overloaded = "overloaded",
    /// Core D17: the route is closed to the account.
    RouteForbidden = "route_forbidden",
    /// Core 3.8.4: the account refuses this request.
    RequestRejected = "request_rejected",
    /// Core D18: a 403 for which a rule with an honoured scope exists.
    ForbiddenByRule = "forbidden_by_rule",
    /// Core D19 and S12: the edge before the provider refuses us.
    EdgeRefusal = "edge_refusal",
    /// FC-023: a quota text on a 403.
    ForbiddenQuota = "forbidden_quota",
    /// Core D19: any other 403 of an API key.
    Forbidden = "forbidden",
    /// Decision 29: an operator's rule that names this status of a request's content.
    ContentByRule = "content_by_rule",
    /// Core 3.2.6: the provider does not serve the model.
    ModelUnknown = "model_unknown",
    /// FC-081: the model is unavailable there.
    ModelUnavailable = "model_unavailable",
    /// Core D24: too long for this model.
    ContextOverflow = "context_overflow",
    /// Core D24: a parameter out of this model's range.
    ParameterRange = "parameter_range",
    /// Core D24: no access to the model.
    ModelAccess = "model_access",
    /// Core D25: throttled by a status of content.
    ContentThrottled = "content_throttled",
    /// Core D26, decision 8: the request's own affair.
    Content = "content",
    /// Core 3.9.4: a 401 that only says the model is not supported.
    ModelNotForKey = "model_not_for_key",
    /// Core R1: no credentials.
    NoCredentials = "no_credentials",
    /// Core R1: request not allowed.
    RequestNotAllowed = "request_not_allowed",
    /// Core R1: improperly formed request.
    MalformedRequest = "malformed_request",
    /// Core R1: rate limit, too many requests.
    RateLimitText = "rate_limit_text",
    /// Core R1: quota texts.
    QuotaText = "quota_text",
    /// Core R1: capacity, overloaded, high demand.
    CapacityText = "capacity_text",
    /// 401 (R2, decision 12a).
    Unauthorized = "unauthorized",
    /// 402 (R2).
    PaymentRequired = "payment_required",
    /// 403 (R2, decision 1).
    ForbiddenStatus = "forbidden_status",
    /// 404, 410 (decision 10, FC-081).
    NotFound = "not_found",
    /// 408, 500, 502, 503, 504 (R2).
    Trip = "trip",
    /// 429 (R2).
    RateLimited = "rate_limited",
    /// 432 (core D23).
    PlanLimit = "plan_limit",
    /// 406 and the 5xx that do not count.
    OtherServerError = "other_server_error",
    /// Any other 4xx (core D27).
    Status = "status",
    /// 3xx (FC-041).
    Redirect = "redirect",
    /// Flow 6.11.49, routing 7.9: a good status without a good answer.
    Quality = "quality",
    /// No status came.
    Transport = "transport",
}

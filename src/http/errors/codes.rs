//! The closed list of codes.

use policy::stream::Limit;

use crate::relay::Lack;

macro_rules! codes {
    ($($variant:ident = $text:literal, $status:literal, $meaning:literal;)+) => {
        /// Codes of switchtower's own errors: a closed list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)+
        }

        impl Code {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The text in `error.code`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The HTTP status it usually comes with.
            pub fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// What it means, for the reference.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json", 400, "the body is not JSON, or not UTF-8";
    InvalidRequest = "invalid_request", 400, "a field of the body is not what it must be; `error.param` names it";
    AmbiguousModel = "ambiguous_model", 400, "several providers list this bare model; write `provider/model`";
    FormatNotSupported = "format_not_supported", 400, "the provider does not speak the dialect of this route";
    ContextLengthExceeded = "context_length_exceeded", 400, "the input fits into no target's context window";
    CapabilityMismatch = "capability_mismatch", 400, "no target of the combo can do what the request needs: tools, pictures, a schema, its length";
    ComboHasNoMembers = "combo_has_no_members", 400, "a `fusion` or `pipeline` combo has nobody to ask";
    ComboCycle = "combo_cycle", 400, "a `fusion` or `pipeline` combo asks for itself: the message names the way";
    BudgetExceeded = "budget_exceeded", 402, "every target that could run costs more than the request may, and the budget is strict";
    InvalidApiKey = "invalid_api_key", 401, "a key is required and this one is missing or unknown; or it is inactive, banned or expired";
    PermissionDenied = "permission_denied", 403, "the key may not do this, or use none of the connections";
    ModelNotAllowed = "model_not_allowed", 403, "the key may not ask for this model (`allowedModels`)";
    ComboNotAllowed = "combo_not_allowed", 403, "the key may not ask for this combo (`allowedCombos`)";
    EndpointNotAllowed = "endpoint_not_allowed", 403, "the key may not call this route (`allowedEndpoints`)";
    KeyOutsideSchedule = "key_outside_schedule", 403, "the key may not be used at this hour (`accessSchedule`); `Retry-After` and `error.reset_at` say when";
    ModelNotFound = "model_not_found", 404, "nobody knows this model or combo";
    NoExecutableTargets = "no_executable_targets", 404, "the combo has no target that could run";
    NotFound = "not_found", 404, "no such route";
    MethodNotAllowed = "method_not_allowed", 405, "the route is called with another method; `Allow` names it";
    RequestTooLarge = "request_too_large", 413, "the body is larger than `server.max_body`, or than 256 KiB in the management API";
    KeyRateLimited = "key_rate_limited", 429, "the key has made as many requests as it may (`rateLimits`)";
    KeyBudgetSpent = "key_budget_spent", 429, "the key has spent its budget (`budgets`); `Retry-After` is the end of the window";
    KeySessionLimit = "key_session_limit", 429, "the key has as many sessions at once as it may (`maxSessions`)";
    ModelCooldown = "model_cooldown", 429, "every account of the only target rests";
    AllTargetsSkipped = "ALL_TARGETS_SKIPPED", 503, "every target of the combo was skipped; 429 when a wait is known";
    SemaphoreQueueFull = "SEMAPHORE_QUEUE_FULL", 429, "every slot is taken, and as many wait as may";
    SemaphoreTimeout = "SEMAPHORE_TIMEOUT", 429, "no slot became free in time";
    RateLimitQueueFull = "RATE_LIMIT_QUEUE_FULL", 429, "as many wait for the connection's local limiter as may";
    RateLimitQueueTimeout = "RATE_LIMIT_QUEUE_TIMEOUT", 503, "the local limiter did not let the request go in time";
    RateLimitQueueWedged = "RATE_LIMIT_QUEUE_WEDGED", 503, "the local limiter stood still and was replaced";
    RateLimitExecutionTimeout = "RATE_LIMIT_EXECUTION_TIMEOUT", 504, "the request ran longer than a limited connection's may";
    QuotaShareExceeded = "QUOTA_SHARE_EXCEEDED", 429, "the key has used its share of the quota pool";
    LeaseAuthenticationRequired = "LEASE_AUTHENTICATION_REQUIRED", 401, "a lease is asked for without a key";
    LeaseApiKeyInvalid = "LEASE_API_KEY_INVALID", 401, "a lease is asked for with an unknown key";
    LeaseContentTypeRequired = "LEASE_CONTENT_TYPE_REQUIRED", 415, "the body of a lease's request must be `application/json`";
    LeaseActionInvalid = "LEASE_ACTION_INVALID", 400, "the body is no action of a lease";
    LeaseScopeRequired = "LEASE_SCOPE_REQUIRED", 403, "the key has no scope `lease:exclusive`";
    LeaseKeyConfigurationInvalid = "LEASE_KEY_CONFIGURATION_INVALID", 403, "the key names no connections that it could lease";
    LeaseContextRequired = "LEASE_CONTEXT_REQUIRED", 400, "`X-OmniRoute-Lease-Owner` is missing";
    LeaseContextInvalid = "LEASE_CONTEXT_INVALID", 400, "`X-OmniRoute-Lease-Owner` or `-Generation` is not what it must be";
    LeaseFenceStale = "LEASE_FENCE_STALE", 409, "the lease has ended, or has another generation or key";
    LeaseModelInvalid = "LEASE_MODEL_INVALID", 400, "no provider has the model that a lease is asked for";
    LeaseNoEligibleConnection = "LEASE_NO_ELIGIBLE_CONNECTION", 409, "none of the key's connections could serve the model";
    LeaseCapacityUnavailable = "LEASE_CAPACITY_UNAVAILABLE", 429, "every connection that could be leased is leased by others";
    LeaseEligibilityUnavailable = "LEASE_ELIGIBILITY_UNAVAILABLE", 429, "every connection that could be leased rests or needs an operator";
    LeaseServiceUnavailable = "LEASE_SERVICE_UNAVAILABLE", 503, "the lease could not be looked up or stored";
    LeaseRequired = "LEASE_REQUIRED", 409, "the owner has no active lease";
    LeaseAuthorizationMismatch = "LEASE_AUTHORIZATION_MISMATCH", 409, "the lease belongs to another key";
    LeaseConnectionMismatch = "LEASE_CONNECTION_MISMATCH", 409, "the lease is of another connection";
    LeaseUnsupportedRoute = "LEASE_UNSUPPORTED_ROUTE", 409, "the combo asks several accounts for one answer";
    BadGateway = "bad_gateway", 502, "no upstream gave an answer, or the attempts failed in different ways";
    UpstreamAuthFailed = "upstream_auth_failed", 502, "the upstream refused the credential of our account";
    UpstreamCreditsExhausted = "upstream_credits_exhausted", 502, "the upstream wants our account paid";
    UpstreamError = "upstream_error", 502, "the upstream's error was not JSON; `error.upstream_details` has its text";
    EmptyResponse = "empty_response", 502, "the upstream's answer was well-formed and held no output";
    ResponseRejected = "response_validation_failed", 502, "the upstream's answer is not what the combo's `response_validation` expects";
    StreamContentStall = "STREAM_CONTENT_STALL", 502, "a stream sent no output and no reasoning for too long (`stream.content_stall_timeout`)";
    StreamThroughputTooLow = "STREAM_THROUGHPUT_TOO_LOW", 502, "a stream sent too little output for too long (`streamRecovery.throughputWatchdog`)";
    UpstreamTruncated = "upstream_truncated", 502, "the upstream's answer was cut; told inside the stream";
    PanelFailed = "panel_failed", 503, "nobody of a `fusion` panel has answered; the message has the code of each";
    AllTargetsCoolingDown = "all_targets_cooling_down", 503, "every target of the combo is behind an open breaker";
    ProviderCircuitOpen = "provider_circuit_open", 503, "the breaker of the only provider is open";
    NoUsableConnection = "no_usable_connection", 503, "the only target has no account that could answer";
    MailboxFull = "MAILBOX_FULL", 503, "too many requests wait inside switchtower";
    ServiceUnavailable = "service_unavailable", 503, "the most attempts of one request were reached, or switchtower is not ready";
    Draining = "draining", 503, "switchtower is shutting down";
    ComboTimeout = "COMBO_TIMEOUT", 504, "the combo's whole time was over before an answer began";
    GatewayTimeout = "gateway_timeout", 504, "no upstream answered in time";
    StreamReadinessTimeout = "STREAM_READINESS_TIMEOUT", 504, "a stream's head came, and nothing meaningful in time (`stream.first_content_timeout`)";
    StreamIdleTimeout = "STREAM_IDLE_TIMEOUT", 504, "a stream sent no byte for too long (`stream.idle_timeout`)";
    StreamTotalTimeout = "STREAM_TOTAL_TIMEOUT", 504, "a streamed request took longer than it may (`stream.total_timeout`)";
    StreamAttemptTimeout = "STREAM_ATTEMPT_TIMEOUT", 504, "one attempt of a stream took longer than it may (`stream.attempt_deadline`)";
    InternalError = "internal_error", 500, "a fault of switchtower";
}

impl Code {
    /// What to call a good answer that was none.
    pub(super) fn of_lack(lack: Lack) -> Self {
        match lack {
            Lack::Content => Self::EmptyResponse,
            Lack::Expected => Self::ResponseRejected,
            Lack::Speed => Self::StreamThroughputTooLow,
            Lack::Time(Limit::FirstContent) => Self::StreamReadinessTimeout,
            Lack::Time(Limit::ContentStall) => Self::StreamContentStall,
            Lack::Time(Limit::Idle) => Self::StreamIdleTimeout,
            Lack::Time(Limit::Total) => Self::StreamTotalTimeout,
            Lack::Time(Limit::Attempt) => Self::StreamAttemptTimeout,
            Lack::Time(Limit::Body) => Self::GatewayTimeout,
        }
    }
}

//! Which connections have a local limiter (flow 5): those that an operator protects, and the
//! active API-key ones while the safety net is on. No connection can leave the net alone.

use crate::ids::Class;

/// What counts about one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// `rateLimitProtection`: false is as good as never set (flow 5.2).
    pub flag: bool,
    /// The class of its provider.
    pub class: Class,
    /// Whether an operator lets it be used.
    pub active: bool,
}

/// Whether a connection is protected; `net` is `autoEnableApiKeyProviders` (flow 5.1).
pub fn is_protected(standing: Standing, net: bool) -> bool {
    standing.flag || (net && standing.active && standing.class == Class::Apikey)
}

#[cfg(test)]
mod tests {
    use super::{Standing, is_protected};
    use crate::ids::Class;

    #[test]
    fn e83_to_e87_the_flag_protects_always_and_the_net_active_api_keys() {
        // flag, class, active, net -> protected
        for (flag, class, active, net, protected, row) in [
            (true, Class::Oauth, false, true, true, "E83"),
            (true, Class::Oauth, true, false, true, "E83: without the net too"),
            (true, Class::Local, false, false, true, "flow 5.2: any class"),
            (false, Class::Apikey, true, true, true, "E84, E86"),
            (false, Class::Apikey, true, false, false, "E85, E87"),
            (false, Class::Apikey, false, true, false, "flow 5.1: only active ones"),
            (false, Class::Oauth, true, true, false, "flow 5.1: only API keys"),
            (false, Class::Local, true, true, false, "flow 5.1: only API keys"),
        ] {
            assert_eq!(is_protected(Standing { flag, class, active }, net), protected, "{row}");
        }
    }
}

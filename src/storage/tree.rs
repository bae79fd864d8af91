//! The trees of the store: one for each kind of record, named as the guide names its tables.
//! A tree that is not listed here belongs to another version, and is left alone.

/// Trees, named as the guide names its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Breakers by provider.
    Breakers,
    /// Connections by id.
    Connections,
    /// Lockouts by id.
    Lockouts,
    /// What the management API has set.
    Settings,
    /// Connections that the management API made or changed.
    ProviderConnections,
    /// Providers that the management API made or changed.
    Providers,
    /// Client keys that the management API made or changed.
    Keys,
    /// Combos that the management API made or changed.
    Combos,
    /// Patterns of models that are a combo's, likewise.
    Mappings,
    /// Other names of models, likewise.
    Aliases,
    /// Pools that the management API made.
    Pools,
    /// What keys have used of pools, by pool, time and key.
    Usage,
    /// The newest lease of each owner, by the owner's hash.
    Leases,
    /// Which account each session is tied to.
    Pins,
    /// Who served each combo last.
    LastGood,
    /// Summaries for next accounts, sealed.
    Handoffs,
    /// What requests took, by day, key and who answered.
    History,
    /// What operators have changed, by number.
    Audit,
    /// Tokens of OAuth connections by id.
    Tokens,
    /// Hashes of what was made at first start.
    Meta,
    /// Records that could not be read.
    Quarantine,
}

impl Tree {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Breakers,
        Self::Connections,
        Self::Lockouts,
        Self::Settings,
        Self::ProviderConnections,
        Self::Providers,
        Self::Keys,
        Self::Combos,
        Self::Mappings,
        Self::Aliases,
        Self::Pools,
        Self::Usage,
        Self::Leases,
        Self::Pins,
        Self::LastGood,
        Self::Handoffs,
        Self::History,
        Self::Audit,
        Self::Tokens,
        Self::Meta,
        Self::Quarantine,
    ];

    /// The one of that name on disk, if this version knows it.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|tree| tree.name().as_bytes() == name)
    }

    /// The name on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Breakers => "domain_circuit_breakers",
            Self::Connections => "connections",
            Self::Lockouts => "model_lockouts",
            Self::Settings => "settings",
            Self::ProviderConnections => "provider_connections",
            Self::Providers => "provider_nodes",
            Self::Keys => "api_keys",
            Self::Combos => "combos",
            Self::Mappings => "model_combo_mappings",
            Self::Aliases => "model_aliases",
            Self::Pools => "quota_pools",
            Self::Usage => "quota_consumption",
            Self::Leases => "session_leases",
            Self::Pins => "pins",
            Self::LastGood => "last_good",
            Self::Handoffs => "handoffs",
            Self::History => "usage_history",
            Self::Audit => "audit_log",
            Self::Tokens => "oauth_tokens",
            Self::Meta => "meta",
            Self::Quarantine => "quarantine",
        }
    }

    /// Whether its values are snapshots of owners.
    pub fn holds_snapshots(self) -> bool {
        matches!(
            self,
            Self::Breakers
                | Self::Connections
                | Self::Lockouts
                | Self::Usage
                | Self::Leases
                | Self::Pins
                | Self::LastGood
                | Self::Handoffs
        )
    }
}

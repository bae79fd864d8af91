//! How connections to vendors are opened, used again and given up, on real sockets.

#[path = "dialling/encoded.rs"]
mod encoded;
#[path = "dialling/heads.rs"]
mod heads;
#[path = "dialling/ipv6.rs"]
mod ipv6;
#[path = "dialling/leaks.rs"]
mod leaks;
#[path = "dialling/proxy.rs"]
mod proxy;
#[path = "dialling/scope.rs"]
mod scope;
#[path = "dialling/stage.rs"]
mod stage;
#[path = "dialling/stale.rs"]
mod stale;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "dialling/tls.rs"]
mod tls;

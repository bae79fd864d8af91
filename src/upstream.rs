//! The only room that holds a client towards a vendor. Everything it needs is handed
//! in; what it returns is an answer or the way in which there was none.

mod body;
mod call;
mod connector;
mod decode;
mod dial;
mod endpoint;
mod headers;
mod heads;
pub mod oauth;
mod outgoing;
mod proxies;
mod proxy;
mod race;
mod trip;
mod wall;
mod wire;

pub use awc::http::Uri;
pub use awc::http::header::{HeaderMap, HeaderName, HeaderValue};
pub use body::{AnswerBody, Broken};
pub use call::{Answer, Call, Dialled, Dialler};
pub use connector::{ClientSettings, extra_roots};
pub use endpoint::{Endpoint, Endpoints, Route, StreamTimeouts, join_url};
pub use headers::{finder, header, is_event_stream};
pub use proxies::Proxies;
pub use wall::{Wall, Walled};

//! How an attempt ended, in words: a status tells itself, everything else needs them.

use super::{End, Transport};

/// How an attempt ended, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its code in decisions.
    pub code: &'static str,
    /// What is said of it, after the upstream's name.
    pub words: &'static str,
}

impl Told {
    const fn new(code: &'static str, words: &'static str) -> Self {
        Self { code, words }
    }

    /// The answer is not what its combo expects (routing 7.9).
    pub const NOT_EXPECTED: Self = Self::new("not_expected", "its answer is not what the combo expects");
    /// The stream was slower than its watchdog lets it be (flow 6.6).
    pub const TOO_SLOW: Self = Self::new("too_slow", "its answer came too slowly");
}

/// What is told of all ends that no status tells.
pub const ENDS: &[(End, Told)] = &[
    (End::Transport(Transport::Refused), Told::new("refused", "its host refused the connection")),
    (End::Transport(Transport::Dns), Told::new("dns", "the name of its host was not found")),
    (
        End::Transport(Transport::ConnectTimeout),
        Told::new("connect_timeout", "no connection within `upstream.connect_timeout`"),
    ),
    (End::Transport(Transport::Tls), Told::new("tls", "the TLS handshake failed")),
    (End::Transport(Transport::Reset), Told::new("reset", "the connection ended before an answer came")),
    (End::Transport(Transport::BadAnswer), Told::new("bad_answer", "its answer could not be read")),
    (End::Transport(Transport::Truncated), Told::new("truncated", "its answer ended before it was complete")),
    (
        End::Transport(Transport::ProxyUnreachable),
        Told::new("proxy_unreachable", "the outbound proxy could not be reached"),
    ),
    (End::NoFirstByte, Told::new("no_first_byte", "no answer began in time")),
    (End::SendInterrupted, Told::new("send_interrupted", "it stopped reading the request")),
    (End::CutAfterCommit, Told::new("cut_after_commit", "its answer was cut off")),
    (
        End::StallBeforeCommit,
        Told::new("stall_before_commit", "its answer began, and nothing of use came in time"),
    ),
    (End::StallAfterCommit, Told::new("stall_after_commit", "its answer stalled")),
    (End::Empty, Told::new("empty", "its answer was empty")),
    (End::EarlyEof, Told::new("early_eof", "its stream ended before anything of use")),
    (End::CredentialDead, Told::new("credential_dead", "the account has to log in again")),
    (End::ClientGone, Told::new("client_gone", "the client left")),
    (End::Local, Told::new("local", "nothing was sent")),
];

impl End {
    /// What is told of it; nothing where a status tells.
    pub fn told(self) -> Option<Told> {
        ENDS.iter().find(|(known, _)| *known == self).map(|(_, told)| *told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The match names each end, so a new one does not compile before it was thought of here.
    #[test]
    fn every_end_without_a_status_has_words() {
        for (end, told) in ENDS {
            match end {
                End::Status(_) | End::InStream(_) => panic!("a status tells itself: {told:?}"),
                End::Transport(
                    Transport::Refused
                    | Transport::Dns
                    | Transport::ConnectTimeout
                    | Transport::Tls
                    | Transport::Reset
                    | Transport::BadAnswer
                    | Transport::Truncated
                    | Transport::ProxyUnreachable,
                )
                | End::NoFirstByte
                | End::SendInterrupted
                | End::CutAfterCommit
                | End::StallBeforeCommit
                | End::Empty
                | End::EarlyEof
                | End::StallAfterCommit
                | End::CredentialDead
                | End::ClientGone
                | End::Local => {}
            }
            assert_eq!(end.told(), Some(*told));
        }
        assert_eq!(ENDS.len(), 8 + 10, "one row for each of them");
        assert_eq!((End::Status(503).told(), End::InStream(500).told()), (None, None));
    }
}

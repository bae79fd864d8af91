//! Sending one attempt, with whatever credential its connection has now.
//!
//! An OAuth connection's token is renewed before it is sent if it is due, and once more when the
//! provider answers 401: only a 401 to a renewed token, or to one that cannot be renewed, is
//! the attempt's answer (decision 12a).

use std::sync::Arc;

use bytes::Bytes;
use policy::change::{Exclusion, Refusal};
use policy::ids::ConnectionId;
use policy::lease::Fence;
use policy::verdict::End;
use tokio::time::{Instant, timeout_at};

use super::Worker;
use super::fault::Fault;
use crate::upstream::oauth::{NoPass, Pass};
use crate::upstream::{Answer, Call, Dialled, Endpoint, HeaderName, HeaderValue, Route};

/// What is sent, and where to; everything but the credential.
pub(super) struct Shot<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) route: Route,
    pub(super) headers: &'a [(HeaderName, HeaderValue)],
    pub(super) body: &'a [Bytes],
    /// Whose account it is, and the lease it goes under; `None`: an operator's test, which no lease
    /// keeps away.
    pub(super) under: Option<(&'a ConnectionId, Option<&'a Fence>)>,
}

/// A head, and what was sent to get it.
pub(super) struct Hit {
    pub(super) answer: Answer,
    pub(super) pass: Option<Arc<Pass>>,
}

/// Sends, and awaits the head until `ends`.
pub(super) async fn send(worker: &Worker, shot: &Shot<'_>, ends: Instant) -> Result<Hit, Fault> {
    let Some(session) = &shot.endpoint.session else {
        return Ok(Hit { answer: once(worker, shot, None, ends).await?, pass: None });
    };
    // Our own wait for a token is no slowness of the provider (decision 9).
    let pass = timeout_at(ends, session.pass(&worker.dialler)).await;
    let pass = pass.unwrap_or(Err(NoPass::Later(0))).map_err(without_pass)?;
    let answer = once(worker, shot, Some(&pass), ends).await?;
    if answer.status != 401 {
        return Ok(Hit { answer, pass: Some(pass) });
    }
    match timeout_at(ends, session.after_401(&pass, &worker.dialler)).await {
        Ok(Ok(newer)) => {
            let answer = once(worker, shot, Some(&newer), ends).await?;
            Ok(Hit { answer, pass: Some(newer) })
        }
        Ok(Err(_)) | Err(_) => Ok(Hit { answer, pass: Some(pass) }),
    }
}

async fn once(worker: &Worker, shot: &Shot<'_>, pass: Option<&Pass>, ends: Instant) -> Result<Answer, Fault> {
    let Shot { endpoint, route, headers, body, under } = *shot;
    // Whatever was awaited until now: a token, a place at the wall, the end of another answer.
    if let Some((connection, lease)) = under {
        worker.tower.owners.may_send(lease, connection).map_err(Fault::fenced)?;
    }
    let credential = pass.map(|pass| &pass.header).or_else(|| endpoint.key(route));
    let call = Call { endpoint, route, headers, credential, body };
    match timeout_at(ends, worker.dialler.send(&call)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Dialled::Failed(transport))) => Err(Fault::of(End::Transport(transport))),
        Ok(Err(Dialled::SendInterrupted)) => Err(Fault::of(End::SendInterrupted)),
        Err(_) => Err(Fault::of(End::NoFirstByte)),
    }
}

/// A dead refresh token ends the connection's use; a token endpoint that fails is nobody's fault
/// here, and passes.
fn without_pass(no_pass: NoPass) -> Fault {
    match no_pass {
        NoPass::Expired => Fault::of(End::CredentialDead),
        NoPass::Later(at) => {
            Fault::refused(Refusal { why: Exclusion::ConnectionCooldown, retry_at: Some(at) })
        }
    }
}

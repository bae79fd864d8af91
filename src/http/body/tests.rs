//! Bodies that come slowly, on paused time.

use std::iter;
use std::time::Duration;

use actix_web::error::PayloadError;
use actix_web::http::header::HeaderMap;
use actix_web::test::TestRequest;
use actix_web::{FromRequest, dev, web};
use bytes::Bytes;
use futures_util::stream;
use tokio::time::{Instant, sleep};

use super::{Unread, read};

/// Parts of these sizes, so far apart.
async fn dripping(sizes: impl Iterator<Item = usize> + 'static, every: Duration) -> web::Payload {
    let parts = stream::unfold(sizes, move |mut sizes| async move {
        sleep(every).await;
        let size = sizes.next()?;
        Some((Ok::<_, PayloadError>(Bytes::from(vec![b'x'; size])), sizes))
    });
    let mut payload: dev::Payload = dev::Payload::Stream { payload: Box::pin(parts) };
    let request = TestRequest::default().to_http_request();
    web::Payload::from_request(&request, &mut payload).await.unwrap()
}

/// How long the body was, or why it was given up, and after how many seconds.
async fn outcome(sizes: impl Iterator<Item = usize> + 'static, every_s: u64) -> (Result<usize, Unread>, u64) {
    let payload = dripping(sizes, Duration::from_secs(every_s)).await;
    let began = Instant::now();
    let read = read(payload, &HeaderMap::new(), usize::MAX / 8).await;
    (read.map(|body| body.len()), began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn fc_112_a_body_that_drips_is_given_up_after_a_minute() {
    for every_s in [1, 59, 61] {
        assert_eq!(outcome(iter::repeat(1), every_s).await, (Err(Unread::Stalled), 60), "{every_s}");
    }
}

#[tokio::test(start_paused = true)]
async fn fc_112_a_slow_body_that_comes_is_read() {
    assert_eq!(outcome(iter::repeat_n(1, 50), 1).await.0, Ok(50));
    assert_eq!(outcome(iter::repeat_n(1_100, 2_000), 1).await.0, Ok(2_200_000));
}

/// Each kibibyte buys a second, and no pause may be longer than a minute.
#[tokio::test(start_paused = true)]
async fn fc_112_a_body_that_becomes_slow_is_given_up_when_its_credit_is_spent() {
    let begins_well = || iter::once(1024 * 1024).chain(iter::repeat(1));
    assert_eq!(outcome(begins_well(), 59).await, (Err(Unread::Stalled), 60 + 1024));
    assert_eq!(outcome(begins_well(), 61).await, (Err(Unread::Stalled), 60));
}

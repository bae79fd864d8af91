//! Sessions against the scripted token endpoint, over real sockets in one thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use awc::http::header::AUTHORIZATION;
use policy::time::Millis;
use policy::token::{RefreshOutcome, Timetable};
use serde_json::Value;
use tokio::sync::Notify;

use super::{Client, Desk, Identity, Keeper, Kept, NoPass, Pass, Session, TokenHeader, Tokens};
use crate::demo::{DemoSettings, bind};
use crate::settings::Secret;
use crate::upstream::call::Dialler;
use crate::upstream::connector::ClientSettings;

const T0: Millis = 1_800_000_000_000;
const HOUR: Millis = 3_600_000;

/// What was kept, and a way to hold the disk.
#[derive(Clone, Default)]
struct Disk(Arc<Shelf>);

#[derive(Default)]
struct Shelf {
    kept: Mutex<Vec<Tokens>>,
    held: Mutex<Option<Arc<Notify>>>,
    broken: Mutex<bool>,
}

impl Keeper for Disk {
    fn keep(&self, _: &Identity, tokens: &Tokens) -> Kept {
        let (disk, tokens) = (self.clone(), tokens.clone());
        Box::pin(async move {
            let held = disk.0.held.lock().unwrap().take();
            if let Some(held) = held {
                held.notified().await;
            }
            if *disk.0.broken.lock().unwrap() {
                return Err("no space left".into());
            }
            disk.0.kept.lock().unwrap().push(tokens);
            Ok(())
        })
    }
}

impl Disk {
    fn newest(&self) -> String {
        let kept = self.0.kept.lock().unwrap();
        kept.last().map(|tokens| tokens.refresh.expose().to_owned()).unwrap_or_default()
    }
}

/// A token endpoint, a clock that is set by hand, and what was heard.
struct World {
    endpoint: SocketAddr,
    stop: Box<dyn Fn()>,
    now: Arc<AtomicU64>,
    disk: Disk,
    heard: Arc<Mutex<Vec<RefreshOutcome>>>,
    desk: Arc<Desk>,
    dialler: Dialler,
}

impl Drop for World {
    fn drop(&mut self) {
        (self.stop)();
    }
}

impl World {
    async fn new() -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let demo = bind(DemoSettings { listen, log: true, workers: 1 }).await.unwrap();
        let endpoint = demo.address();
        let server = demo.server();
        let handle = server.handle();
        actix_rt::spawn(server);
        let (now, disk) = (Arc::new(AtomicU64::new(T0)), Disk::default());
        let heard: Arc<Mutex<Vec<RefreshOutcome>>> = Arc::default();
        let (clock, ear) = (now.clone(), heard.clone());
        let observer = Arc::new(move |_: &Identity, outcome| ear.lock().unwrap().push(outcome));
        let desk = Desk::new(move || clock.load(Ordering::Relaxed), disk.clone(), observer);
        let dialler = Dialler::new(Arc::new(ArcSwap::from_pointee(ClientSettings {
            connect_timeout: Duration::from_secs(5),
            pool_idle: Duration::from_secs(15),
            pool_lifetime: Duration::from_secs(60),
            roots: Arc::default(),
        })));
        let stop = Box::new(move || drop(handle.stop(false)));
        Self { endpoint, stop, now, disk, heard, desk, dialler }
    }

    fn session(
        &self,
        connection: &str,
        access: Option<&str>,
        refresh: &str,
        expires: Millis,
    ) -> Arc<Session> {
        let identity =
            Identity { connection: connection.into(), provider: "p".into(), origin: String::new() };
        let tokens = Tokens {
            access: access.map(Secret::from),
            refresh: refresh.into(),
            times: Timetable::configured(Some(expires)),
        };
        let offered = tokens.access.clone();
        Session::new(identity, (tokens, offered), (self.client("me"), bearer()), self.desk.clone())
    }

    fn client(&self, id: &str) -> Client {
        let token_url = format!("http://{}/demo/oauth/token", self.endpoint).parse().unwrap();
        Client { token_url, client_id: id.into(), client_secret: None, scope: String::new(), proxy: None }
    }

    fn later(&self, ms: Millis) {
        self.now.fetch_add(ms, Ordering::Relaxed);
    }

    async fn posts(&self) -> usize {
        let client = awc::Client::new();
        let mut page = client.get(format!("http://{}/demo/oauth/log", self.endpoint)).send().await.unwrap();
        let page: Value = page.json().await.unwrap();
        page["requests"].as_array().unwrap().len()
    }

    async fn has_landed(&self) {
        self.until(|| self.desk.flights() == 0).await;
    }

    async fn until(&self, condition: impl Fn() -> bool) {
        let started = Instant::now();
        while !condition() {
            assert!(started.elapsed() < Duration::from_secs(20), "not in time");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn heard(&self) -> Vec<RefreshOutcome> {
        self.heard.lock().unwrap().clone()
    }
}

fn bearer() -> TokenHeader {
    TokenHeader { name: AUTHORIZATION, prefix: "Bearer " }
}

fn token(pass: Result<Arc<Pass>, NoPass>) -> Result<String, NoPass> {
    pass.map(|pass| pass.header.1.to_str().unwrap().to_owned())
}

fn good(text: &str) -> Result<String, NoPass> {
    Ok(format!("Bearer {text}"))
}

#[actix_rt::test]
async fn fc_036_one_post_for_all_who_find_the_token_over() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-slow-30ms", T0);
    let asked = futures_util::future::join_all((0..20).map(|_| session.pass(&world.dialler)));
    session.sweep(false, &world.dialler);
    let got: Vec<_> = asked.await.into_iter().map(token).collect();
    assert_eq!(got, vec![good("at-slow-30ms.1"); 20]);
    assert_eq!((world.posts().await, world.heard()), (1, vec![RefreshOutcome::Renewed]));
    assert_eq!(world.disk.newest(), "rt-slow-30ms.1");
}

#[actix_rt::test]
async fn fc_036_nobody_sends_a_token_that_is_not_on_disk() {
    let world = World::new().await;
    let held = Arc::new(Notify::new());
    *world.disk.0.held.lock().unwrap() = Some(held.clone());
    let session = world.session("c", None, "rt-a", 0);
    let waits = actix_rt::spawn({
        let (session, dialler) = (session.clone(), world.dialler.clone());
        async move { token(session.pass(&dialler).await) }
    });
    world.until(|| world.disk.0.held.lock().unwrap().is_none()).await;
    assert_eq!(world.posts().await, 1, "the endpoint has answered");
    assert!(!waits.is_finished());
    assert!(session.current.load().pass.is_none());
    held.notify_one();
    assert_eq!(waits.await.unwrap(), good("at-a.1"));
    assert_eq!(world.disk.newest(), "rt-a.1");
}

#[actix_rt::test]
async fn a_client_that_leaves_takes_no_rotated_token_along() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-slow-30ms", 0);
    {
        let leaves = session.pass(&world.dialler);
        let left = tokio::time::timeout(Duration::from_millis(1), leaves).await;
        assert!(left.is_err());
    }
    assert_eq!(world.desk.flights(), 1, "a shutdown waits for it");
    world.has_landed().await;
    assert_eq!(world.disk.newest(), "rt-slow-30ms.1");
    assert_eq!(token(session.pass(&world.dialler).await), good("at-slow-30ms.1"));
    assert_eq!(world.posts().await, 1);
}

#[actix_rt::test]
async fn an_early_refresh_holds_nobody_up() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-slow-30ms", T0 + 60_000);
    assert_eq!(token(session.pass(&world.dialler).await), good("old"));
    world.has_landed().await;
    assert_eq!(token(session.pass(&world.dialler).await), good("at-slow-30ms.1"));
    assert_eq!(world.posts().await, 1);
}

#[actix_rt::test]
async fn decision_12a_parallel_401s_are_one_refresh_and_a_late_one_is_none() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-a", T0 + 10 * HOUR);
    let pass = session.pass(&world.dialler).await.unwrap();
    let (one, other) = futures_util::future::join(
        session.after_401(&pass, &world.dialler),
        session.after_401(&pass, &world.dialler),
    )
    .await;
    assert_eq!((token(one), token(other)), (good("at-a.1"), good("at-a.1")));
    let late = session.after_401(&pass, &world.dialler).await;
    assert_eq!(token(late), good("at-a.1"), "its token is older than the newest");
    assert_eq!(world.posts().await, 1);
}

#[actix_rt::test]
async fn fc_038_a_blip_keeps_the_token_that_is_still_good() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-first-1-status-503", T0 + 60_000);
    session.sweep(false, &world.dialler);
    world.has_landed().await;
    assert_eq!(token(session.pass(&world.dialler).await), good("old"));
    session.sweep(false, &world.dialler);
    assert_eq!(world.desk.flights(), 0, "the next early one waits five minutes");
    assert_eq!(world.posts().await, 1);
    world.later(60_000);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-first-1-status-503.1"));
    assert_eq!(world.heard(), [RefreshOutcome::Failed, RefreshOutcome::Renewed]);
}

#[actix_rt::test]
async fn fc_038_without_a_good_token_the_wait_is_short_and_told() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-first-1-status-503", T0);
    let Err(NoPass::Later(at)) = token(session.pass(&world.dialler).await) else {
        panic!("there is no token")
    };
    assert!((T0 + 4_000..=T0 + 6_000).contains(&at), "{}", at - T0);
    assert_eq!(token(session.pass(&world.dialler).await), Err(NoPass::Later(at)));
    assert_eq!(world.posts().await, 1, "nobody asks before it is over");
    world.later(6_000);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-first-1-status-503.1"));
}

#[actix_rt::test]
async fn core_3_9_7_a_dead_token_sends_nothing_until_a_retry_is_due() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-first-2-invalid-grant", T0);
    for _ in 0..3 {
        assert_eq!(token(session.pass(&world.dialler).await), Err(NoPass::Expired));
        session.sweep(false, &world.dialler);
    }
    assert_eq!((world.posts().await, session.is_dead()), (1, true));
    session.sweep(true, &world.dialler);
    world.has_landed().await;
    assert!(session.is_dead());
    session.sweep(true, &world.dialler);
    world.has_landed().await;
    assert_eq!(token(session.pass(&world.dialler).await), good("at-first-2-invalid-grant.1"));
    let expired = RefreshOutcome::Expired;
    assert_eq!(world.heard(), [expired, expired, RefreshOutcome::Renewed]);
}

#[actix_rt::test]
async fn a_test_or_an_operator_tries_a_dead_token_again() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-first-2-invalid-grant", 0);
    assert_eq!(token(session.pass(&world.dialler).await), Err(NoPass::Expired));
    session.retry(&world.dialler).await;
    assert_eq!(world.posts().await, 2);
    session.revive();
    assert_eq!(token(session.pass(&world.dialler).await), good("at-first-2-invalid-grant.1"));
    session.retry(&world.dialler).await;
    assert_eq!(world.posts().await, 3, "a living one is not retried");
}

#[actix_rt::test]
async fn fc_038_a_wrong_client_is_an_alarm_for_the_provider_and_no_end_of_an_account() {
    let world = World::new().await;
    let session = world.session("c", Some("old"), "rt-a", T0);
    session.configure(world.client("invalid-client"), bearer());
    assert!(matches!(session.pass(&world.dialler).await, Err(NoPass::Later(_))));
    assert_eq!(world.desk.alarm(&"p".into()), Some("invalid_client"));
    assert!(!session.is_dead());
    session.configure(world.client("me"), bearer());
    assert_eq!(world.desk.alarm(&"p".into()), None, "it speaks of other settings");
    world.later(6_000);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-a.1"));
    assert_eq!(world.heard(), [RefreshOutcome::Misconfigured, RefreshOutcome::Renewed]);
}

#[actix_rt::test]
async fn core_6_an_open_breaker_leaves_each_account_one_turn_a_minute() {
    let world = World::new().await;
    for number in 0..5 {
        let session = world.session(&format!("c{number}"), None, &format!("rt-status-503_{number}"), 0);
        assert!(matches!(session.pass(&world.dialler).await, Err(NoPass::Later(_))));
    }
    let ill = world.session("c4", None, "rt-status-503_again", 0);
    assert_eq!(token(ill.pass(&world.dialler).await), Err(NoPass::Later(T0 + 60_000)));
    assert_eq!(world.posts().await, 5, "it had its turn");
    let well = world.session("d", Some("old"), "rt-d", T0);
    assert_eq!(token(well.pass(&world.dialler).await), good("at-d.1"), "the ill ones do not take its turn");
}

#[actix_rt::test]
async fn a_full_disk_stops_nobody_and_is_tried_again() {
    let world = World::new().await;
    *world.disk.0.broken.lock().unwrap() = true;
    let session = world.session("c", None, "rt-a", 0);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-a.1"));
    assert!(session.view().unsaved);
    *world.disk.0.broken.lock().unwrap() = false;
    session.sweep(false, &world.dialler);
    world.until(|| !session.view().unsaved).await;
    assert_eq!(world.disk.newest(), "rt-a.1");
}

#[actix_rt::test]
async fn a_token_endpoint_that_keeps_the_refresh_token_is_asked_with_it_again() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-kept", 0);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-kept.1"));
    world.later(HOUR);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-kept.2"));
}

#[actix_rt::test]
async fn fc_122_a_fresh_token_that_looks_expired_is_used_and_renewed_once_a_minute() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-expires-0", 0);
    for _ in 0..5 {
        assert_eq!(token(session.pass(&world.dialler).await), good("at-expires-0.1"));
    }
    world.later(59_999);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-expires-0.1"));
    world.later(1);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-expires-0.2"));
    assert_eq!(world.posts().await, 2);
}

#[actix_rt::test]
async fn what_a_retired_session_learns_is_not_kept() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-slow-30ms", 0);
    session.sweep(false, &world.dialler);
    session.retire();
    world.has_landed().await;
    assert_eq!((world.posts().await, world.disk.newest()), (1, String::new()));
    session.sweep(false, &world.dialler);
    assert_eq!(world.desk.flights(), 0);
}

/// FC-036: a connection that gets other tokens and then its first ones back (a PATCH that is
/// deleted again) goes on with the newest pair; the first refresh token is used up.
#[actix_rt::test]
async fn what_comes_back_goes_on_with_its_newest_pair() {
    let world = World::new().await;
    let session = world.session("c", None, "rt-back", 0);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-back.1"));
    session.retire();
    session.resume(None, None);
    world.later(HOUR);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-back.2"), "no used-up token was sent");
    session.resume(Some(&"at-given".into()), Some(world.desk.now() + HOUR));
    assert_eq!(token(session.pass(&world.dialler).await), good("at-given"), "the operator's newer one");
    session.resume(Some(&"at-given".into()), Some(0));
    world.later(HOUR);
    assert_eq!(token(session.pass(&world.dialler).await), good("at-back.3"));
}

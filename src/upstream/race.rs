//! Several addresses of one name: whoever answers first (RFC 8305).
//!
//! Tried one after another, two dead IPv6 addresses would cost minutes before the live IPv4
//! one has its turn (FC-115). Here the next one starts as soon as one fails, and at the
//! latest after a quarter of a second; the families take turns.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// How long one address may keep the next one waiting.
pub(super) const STAGGER: Duration = Duration::from_millis(250);

/// The families by turns, beginning with that of the first, each in its own order.
pub(super) fn by_turns(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let addresses: Vec<SocketAddr> = addresses.into_iter().collect();
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    std::iter::from_fn(|| Some([first.next(), second.next()]))
        .take_while(|pair| pair.iter().any(Option::is_some))
        .flatten()
        .flatten()
        .collect()
}

/// The first connection there is; without one, why the last address failed.
pub(super) async fn race<T, F>(addresses: Vec<SocketAddr>, connect: impl Fn(SocketAddr) -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        running.extend(waiting.next().map(&connect));
        let next = match waiting.len() {
            0 => Ok(running.next().await),
            _ => tokio::time::timeout(STAGGER, running.next()).await,
        };
        match next {
            Ok(Some(Ok(connected))) => return Ok(connected),
            Ok(Some(Err(error))) => failed = error,
            Ok(None) => return Err(failed),
            // The one that is late stays in the race.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::pending;
    use std::io;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{STAGGER, by_turns, race};

    fn v6(port: u16) -> SocketAddr {
        (Ipv6Addr::LOCALHOST, port).into()
    }

    fn v4(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn the_families_take_turns() {
        assert_eq!(by_turns([v6(1), v6(2), v4(3), v4(4)]), [v6(1), v4(3), v6(2), v4(4)]);
        assert_eq!(by_turns([v4(1), v6(2), v6(3), v6(4)]), [v4(1), v6(2), v6(3), v6(4)]);
        assert_eq!(by_turns([v4(1), v4(2)]), [v4(1), v4(2)]);
        assert_eq!(by_turns([]), []);
    }

    /// Odd ports answer after a second, ports from 100 on fail at once, others never answer.
    async fn run(ports: &[u16]) -> (io::Result<u16>, Duration, Vec<(u16, Duration)>) {
        let (started, log) = (Instant::now(), RefCell::new(Vec::new()));
        let won = race(ports.iter().map(|port| v4(*port)).collect(), async |address| {
            let port = address.port();
            log.borrow_mut().push((port, started.elapsed()));
            match port {
                100.. => return Err(io::ErrorKind::ConnectionRefused.into()),
                odd if odd % 2 == 1 => tokio::time::sleep(Duration::from_secs(1)).await,
                _ => pending().await,
            }
            Ok(port)
        })
        .await;
        (won, started.elapsed(), log.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn fc_115_a_dead_address_costs_a_quarter_of_a_second_and_stays_in_the_race() {
        let (won, took, log) = run(&[2, 4, 1]).await;
        assert_eq!((won.unwrap(), took), (1, 2 * STAGGER + Duration::from_secs(1)));
        assert_eq!(log, [(2, Duration::ZERO), (4, STAGGER), (1, 2 * STAGGER)]);
        // The earlier one is only late, and wins.
        let (won, took, _) = run(&[1, 3]).await;
        assert_eq!((won.unwrap(), took), (1, Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn fc_115_a_refusal_starts_the_next_at_once() {
        let (won, took, log) = run(&[100, 101, 1]).await;
        assert_eq!((won.unwrap(), took), (1, Duration::from_secs(1)));
        assert_eq!(log.len(), 3);
        let (won, took, _) = run(&[100, 101]).await;
        assert_eq!((won.unwrap_err().kind(), took), (io::ErrorKind::ConnectionRefused, Duration::ZERO));
        assert_eq!(run(&[]).await.0.unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }

    /// Takes no connection and refuses none, as a host that is off: its queue is full.
    fn dead() -> (socket2::Socket, Vec<TcpStream>, SocketAddr) {
        let socket = socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::STREAM, None).unwrap();
        socket.bind(&v6(0).into()).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let mut queue = Vec::new();
        while let Ok(taken) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            queue.push(taken);
        }
        (socket, queue, address)
    }

    #[tokio::test]
    async fn fc_115_two_dead_ipv6_addresses_and_a_live_ipv4_one_connect_within_a_second() {
        let (one, other) = (dead(), dead());
        let live = TcpListener::bind(v4(0)).unwrap();
        let live = live.local_addr().unwrap();
        let started = std::time::Instant::now();
        let connected = race(by_turns([one.2, other.2, live]), tokio::net::TcpStream::connect).await;
        assert_eq!(connected.unwrap().peer_addr().unwrap(), live);
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn fc_115_a_service_that_listens_on_ipv4_only_is_reached_by_a_name_of_both() {
        let live = TcpListener::bind(v4(0)).unwrap();
        let port = live.local_addr().unwrap().port();
        let connected = race(by_turns([v6(port), v4(port)]), tokio::net::TcpStream::connect).await;
        assert_eq!(connected.unwrap().peer_addr().unwrap(), v4(port));
    }
}

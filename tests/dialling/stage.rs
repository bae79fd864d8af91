//! A dialler without anything around it, and hosts that take no connection.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use switchtower::upstream::{Call, ClientSettings, Dialled, Dialler, Endpoint, Route, join_url};

/// With this limit of a new connection.
pub fn dialler() -> Dialler {
    Dialler::new(Arc::new(ArcSwap::from_pointee(ClientSettings {
        connect_timeout: Duration::from_secs(5),
        pool_idle: Duration::from_secs(15),
        pool_lifetime: Duration::from_secs(60),
        roots: Arc::default(),
    })))
}

pub fn endpoint(base: &str, connect_timeout: Duration) -> Endpoint {
    Endpoint {
        addresses: Route::ALL.map(|route| join_url(base, route.path()).parse().unwrap()),
        headers: Vec::new(),
        keys: Default::default(),
        credential: None,
        session: None,
        walled: None,
        proxy: None,
        connect_timeout,
        first_byte_timeout: Duration::from_secs(5),
        timeouts: Default::default(),
        model_timeouts: Default::default(),
        execution: None,
    }
}

/// The status of the answer to a small request.
pub async fn ask(dialler: &Dialler, endpoint: &Endpoint) -> Result<u16, Dialled> {
    let body = [Bytes::from_static(b"{}")];
    let call = Call { endpoint, route: Route::Chat, headers: &[], credential: None, body: &body };
    Ok(dialler.send(&call).await?.status)
}

/// A port that refuses until it is told to listen.
pub struct Shut(socket2::Socket);

impl Shut {
    pub fn new() -> Self {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        Self(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap().as_socket().unwrap()
    }

    pub fn open(self) -> TcpListener {
        self.0.listen(64).unwrap();
        self.0.into()
    }
}

/// Takes no connection and refuses none, as a host that is off: its queue is full.
pub struct Dead {
    pub address: SocketAddr,
    _socket: socket2::Socket,
    _queue: Vec<TcpStream>,
}

impl Dead {
    pub fn new() -> Self {
        let shut = Shut::new();
        let address = shut.address();
        shut.0.listen(0).unwrap();
        let mut queue = Vec::new();
        while let Ok(taken) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            queue.push(taken);
        }
        Self { address, _socket: shut.0, _queue: queue }
    }

    /// Connections to it that are being opened.
    pub fn attempts(&self) -> usize {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let peer = format!("0100007F:{:04X}", self.address.port());
        let opening = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields[2] == peer && fields[3] == "02"
        };
        table.lines().skip(1).filter(opening).count()
    }
}

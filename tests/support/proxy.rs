//! An outbound proxy that makes tunnels, or does not.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a proxy does with a request for a tunnel.
#[derive(Clone, Copy)]
pub enum Way {
    /// Makes it, to this address whatever was asked for: the names of the tests are nobody's.
    To(SocketAddr),
    /// Says this and closes.
    Says(&'static str),
    /// Says nothing.
    Hangs,
}

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// One on port 0.
    pub fn start(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen) = (stream.unwrap(), seen.clone());
                std::thread::spawn(move || serve(stream, way, &seen));
            }
        });
        Self { address, heads }
    }

    /// The heads of the requests for tunnels so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, way: Way, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    seen.lock().unwrap().push(String::from_utf8(head).unwrap());
    match way {
        Way::To(address) => {
            let upstream = TcpStream::connect(address).unwrap();
            stream.write_all(b"HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n").unwrap();
            let (back, forth) = (upstream.try_clone().unwrap(), stream.try_clone().unwrap());
            std::thread::spawn(move || splice(back, forth));
            splice(stream, upstream);
        }
        Way::Says(bytes) => drop(stream.write_all(bytes.as_bytes())),
        Way::Hangs => drop(stream.read(&mut [0])),
    }
}

fn splice(mut from: TcpStream, mut to: TcpStream) {
    match std::io::copy(&mut from, &mut to) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => drop(to.shutdown(Shutdown::Both)),
        _ => drop(to.shutdown(Shutdown::Write)),
    }
}

//! A TCP proxy that cuts connections after random numbers of bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A proxy, which ends with this value.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    is_ending: AtomicBool,
    /// Whether connections are cut.
    cuts: AtomicBool,
    count: AtomicU32,
}

impl Proxy {
    /// Starts a proxy for a port of this machine. Each connection is cut after 1 to `bytes` bytes.
    pub fn start(to: u16, bytes: u64, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            is_ending: AtomicBool::new(false),
            cuts: AtomicBool::new(true),
            count: AtomicU32::new(0),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let mut random = StdRng::seed_from_u64(seed);
            for from in listener.incoming().map_while(Result::ok) {
                if shared.is_ending.load(Ordering::Relaxed) {
                    return;
                }
                let left = Arc::new(AtomicU64::new(random.random_range(1..=bytes)));
                // A server that was killed refuses, and so does the proxy then.
                let Ok(to) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                for (source, sink) in [(&from, &to), (&to, &from)] {
                    let copies = [source.try_clone(), sink.try_clone()];
                    let [Ok(source), Ok(sink)] = copies else { continue };
                    let (state, left) = (Arc::clone(&shared), Arc::clone(&left));
                    thread::spawn(move || copy(source, sink, &left, &state));
                }
            }
        });
        Self { port, state }
    }

    /// The port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts no more connections; returns how many it has cut.
    pub fn stop_cutting(&self) -> u32 {
        self.state.cuts.store(false, Ordering::Relaxed);
        self.state.count.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_ending.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Copies until one end closes, or the bytes of both directions together are used up: then in the middle of what was read.
fn copy(mut source: TcpStream, mut sink: TcpStream, left: &AtomicU64, state: &State) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = source.read(&mut buffer) {
        let mut allowed = count as u64;
        if state.cuts.load(Ordering::Relaxed) {
            let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(count as u64))
            });
            allowed = before.unwrap_or_default().min(count as u64);
        }
        if sink.write_all(&buffer[..allowed as usize]).is_err() {
            break;
        }
        if allowed < count as u64 {
            state.count.fetch_add(1, Ordering::Relaxed);
            break;
        }
    }
    let _ = source.shutdown(Shutdown::Both);
    let _ = sink.shutdown(Shutdown::Both);
}

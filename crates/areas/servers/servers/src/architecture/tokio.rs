//! A task for each connection, on as many of tokio's threads as CPUs.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::{Pin, pin};
use std::task::Poll;

use platform::CaseError;
use platform::socket::server::stop_listening;
use platform::socket::transfer::is_shortage;
use serving::{Drain, PAUSE, STOP_CHECKED_EVERY, Stop, is_of_one_connection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::exchange::{Exchange, Wants};
use crate::server::{Server, Terms};

/// Size of the receive buffer, in bytes.
const READ_AT_ONCE: usize = 4 * 1024;

/// Checks whether this process may have threads, and what the runtime waits by, such as epoll and eventfd.
pub fn check() -> Result<(), CaseError> {
    super::threads()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(drop).map_err(|e| CaseError::from_io("tokio's runtime", &e))
}

pub fn serve(server: &Server) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(server.cpus.len().max(1))
        .enable_all()
        .build()?;
    let listener = server.listeners[0].try_clone()?;
    // The loop runs in a task, since this thread is not one of the runtime's.
    let accepting = runtime.spawn(accept_all(listener, server.terms.clone()));
    runtime.block_on(accepting).expect("accepting does not panic")
}

async fn accept_all(listener: StdListener, terms: Terms) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let socket = listener.try_clone()?;
    let listener = TcpListener::from_std(listener)?;
    // Each task has a sender, so that all tasks have ended when all senders are dropped.
    let (task, mut tasks) = mpsc::channel::<()>(1);
    let (mut drain, mut is_drained) = (None, false);
    let waiter = terms.stop.waiter(None);
    waiter.begin_wait();
    let mut stopped = pin!(stopped(terms.stop));
    loop {
        if drain.is_none() && terms.stop.is_requested() {
            waiter.end_wait();
            drain = Some(Drain::begin([&socket], &terms.accepting()));
        }
        let accepted = match drain {
            None => match accepted_or(&listener, stopped.as_mut()).await {
                Some(accepted) => accepted,
                None => continue,
            },
            Some(drain) if drain.is_cut_off() => break,
            Some(drain) => match timeout(PAUSE, listener.accept()).await {
                Ok(accepted) => accepted,
                Err(_elapsed) if is_drained => break,
                Err(_elapsed) => {
                    is_drained = !drain.may_arrive(&socket);
                    continue;
                }
            },
        };
        match accepted {
            Ok((stream, _)) => {
                let (task, terms) = (task.clone(), terms.clone());
                tokio::spawn(async move {
                    converse(stream, terms).await;
                    drop(task);
                });
            }
            Err(e) if is_shortage(&e) => {
                terms.counters.shortages.note(&e);
                sleep(PAUSE).await;
            }
            Err(e) if is_of_one_connection(&e) => {}
            Err(e) => return Err(e),
        }
    }
    stop_listening(&socket);
    drop(task);
    tasks.recv().await;
    Ok(())
}

/// The next connection, or `None` if `stopped` is ready first.
async fn accepted_or(
    listener: &TcpListener,
    mut stopped: Pin<&mut impl Future<Output = ()>>,
) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    poll_fn(|context| match listener.poll_accept(context) {
        Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
        Poll::Pending => stopped.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Waits until the stop is requested, which is checked from time to time: the runtime resumes a wait that was interrupted.
async fn stopped(stop: Stop) {
    while !stop.is_requested() {
        sleep(STOP_CHECKED_EVERY).await;
    }
}

async fn converse(mut stream: TcpStream, terms: Terms) {
    let work = || terms.work();
    let mut exchange = Exchange::new(terms.protocol, &work);
    let mut buffer = [0; READ_AT_ONCE];
    let mut until = Instant::now() + terms.timeout;
    let mut stops = false;
    loop {
        let done = match exchange.wants() {
            // Time is given for a whole reply: a client may not receive a byte at a time for ever.
            Wants::Write => {
                let sent = timeout_at(until, stream.write_all(exchange.to_send())).await;
                exchange.was_sent(exchange.to_send().len()); // an error ends the exchange
                if !exchange.is_in_request() && !stops {
                    until = Instant::now() + terms.timeout;
                }
                sent
            }
            Wants::Read => timeout_at(until, stream.read(&mut buffer)).await.map(|read| {
                read.map(|bytes| {
                    if terms.stop.is_requested() {
                        exchange.finish_soon();
                    }
                    match bytes {
                        0 => exchange.ended(),
                        _ => exchange.received(&buffer[..bytes], &work),
                    }
                    // A client may not continue for ever after the stop.
                    if !exchange.is_in_request() && !stops {
                        until = Instant::now() + terms.timeout;
                        stops = terms.stop.is_requested();
                    }
                })
            }),
            // Nothing is awaited; a client that has closed already is noticed by the next read.
            Wants::Shut => {
                let _ = stream.shutdown().await;
                exchange.was_shut();
                continue;
            }
            Wants::Close => return,
        };
        match done {
            Ok(Ok(())) => {}
            Ok(Err(_closed)) => return,
            Err(_elapsed) => return terms.note_timed_out(),
        }
    }
}

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;

use measure::CaseError;

use super::{
    BANDWIDTH, Calls, Mechanism, MessageEnd, Stream, block_of, blocks_at_once, fill_block,
    measure_transfer, number_of, tcp,
};
use crate::{Case, only};

/// Sending blocks of a file over a connection, without passing through user space.
pub const CASE: Case = Case {
    name: "sendfile-bandwidth",
    operation: "One block as in ipc/tcp-bandwidth, sent by one sendfile from a cached file.",
    comparable_to: "The difference to ipc/tcp-bandwidth is what sendfile saves or costs; lmbench has no such measurement; \
            stress-ng's `sendfile` stressor sends to /dev/null.",
    params: super::TRANSFER,
    metrics: &[BANDWIDTH],
    run: |params, round| {
        let bytes = block_of(params)?;
        let file = file_of_blocks(bytes, blocks_at_once(bytes, &MECHANISM))?;
        let [sender, receiver] = tcp::connection()?;
        let ends = [SendfileEnd::Sender(sender, file), SendfileEnd::Receiver(Stream(receiver))];
        measure_transfer(params, round, MECHANISM, ends)
    },
    ..tcp::TRANSFER.on_linux()
};

const MECHANISM: Mechanism = Mechanism::new("sendfile over TCP", Calls::Any);

enum SendfileEnd {
    Sender(TcpStream, File),
    Receiver(Stream<TcpStream>),
}

impl MessageEnd for SendfileEnd {
    /// Sends the file's block with the number of `bytes`, which has the same contents.
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Receiver(stream) => stream.send(bytes),
            Self::Sender(stream, file) => {
                let start = (number_of(bytes) as i64).checked_mul(bytes.len() as i64);
                match start.filter(|&start| start >= 0) {
                    Some(start) => send_from(file, start, bytes.len(), stream),
                    // The last block ends the partner and is not in the file.
                    None => stream.write_all(bytes),
                }
            }
        }
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Receiver(stream) => stream.receive(bytes),
            Self::Sender(stream, _) => io::Read::read_exact(stream, bytes),
        }
    }
}

#[inline(always)]
fn send_from(file: &File, start: i64, bytes: usize, stream: &TcpStream) -> io::Result<()> {
    if send_all(file, start, bytes, stream) == Ok(true) {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether all bytes were sent.
#[only(linux)]
#[inline(always)]
fn send_all(file: &File, start: i64, bytes: usize, stream: &TcpStream) -> Result<bool, CaseError> {
    use std::os::fd::AsRawFd;

    let (mut at, end) = (start, start + bytes as i64);
    while at < end {
        let rest = (end - at) as usize;
        // SAFETY: the descriptors are open, and the offset is valid; the call advances it.
        let sent = unsafe { libc::sendfile(stream.as_raw_fd(), file.as_raw_fd(), &mut at, rest) };
        if sent <= 0 {
            break;
        }
    }
    Ok(at == end)
}

/// A file of this number of blocks, each with its number and contents.
fn file_of_blocks(bytes: usize, blocks: usize) -> Result<File, CaseError> {
    let (mut file, mut all) = (super::file_of(0)?, vec![0; bytes * blocks]);
    for (number, block) in all.chunks_exact_mut(bytes).enumerate() {
        fill_block(block, number as u64);
    }
    file.write_all(&all).map_err(|e| CaseError::from_io("writing a file", &e))?;
    Ok(file)
}

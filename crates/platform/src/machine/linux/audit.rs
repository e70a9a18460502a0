//! State of kernel auditing, which makes the kernel record entry and exit of each system call.

use crate::linux::tree::{Tree, option};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The state: `none` if the kernel cannot audit; else `off`, `on`, or `on (locked)`.
pub(super) fn state(tree: &Tree, command_line: &str) -> Option<String> {
    // A kernel built with auditing has this file for each process.
    if !tree.has("proc/self/loginuid") {
        return tree.has("proc/self/status").then(|| "none".to_owned());
    }
    let is_disabled = matches!(option(command_line, "audit"), Some("0" | "off"));
    let state = match is_disabled {
        true => Some(0), // the kernel does not answer in this case
        false => ask(),
    };
    Some(match state? {
        0 => "off".to_owned(),
        1 => "on".to_owned(),
        2 => "on (locked)".to_owned(),
        other => other.to_string(),
    })
}

const AUDIT_GET: u16 = 1000;
const NLMSG_ERROR: u16 = 2;
const HEADER_BYTES: usize = 16;

/// Queries the kernel, which answers only root outside of containers.
fn ask() -> Option<u32> {
    const NETLINK_AUDIT: libc::c_int = 9;
    // SAFETY: the call takes three numbers.
    let socket = unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, NETLINK_AUDIT)
    };
    if socket < 0 {
        return None;
    }
    // SAFETY: the socket has just been opened, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // A thread of the kernel answers, which on a busy machine may wait for a CPU.
    let patience = libc::timeval { tv_sec: 3, tv_usec: 0 };
    // SAFETY: `patience` has the stated length.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const patience).cast(),
            size_of_val(&patience) as libc::socklen_t,
        )
    };
    let request = request();
    // SAFETY: `request` has the stated length. Unconnected, the message goes to the kernel.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if set != 0 || sent != request.len() as isize {
        return None;
    }
    const MESSAGES_AT_MOST: usize = 4;
    for _ in 0..MESSAGES_AT_MOST {
        let mut reply = [0_u8; 512];
        // SAFETY: the buffer has the stated length.
        let length =
            unsafe { libc::recv(socket.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0) };
        let length = usize::try_from(length).ok()?;
        if let Some(answer) = answer_in(&reply[..length.min(reply.len())]) {
            return answer;
        }
    }
    None
}

/// A netlink header (netlink(7)) that requests the state, without payload.
fn request() -> [u8; HEADER_BYTES] {
    let mut request = [0; HEADER_BYTES];
    request[..4].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&AUDIT_GET.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request
}

/// The state in one message from the kernel, the second number of `struct audit_status`. The outer `None`: the message is
/// no answer; the inner one: it reports an error.
fn answer_in(message: &[u8]) -> Option<Option<u32>> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    match kind {
        AUDIT_GET => {
            let enabled = message.get(HEADER_BYTES + 4..HEADER_BYTES + 8);
            Some(enabled.map(|bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
        }
        NLMSG_ERROR => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::in_tree;

    fn message(kind: u16, payload: &[u32]) -> Vec<u8> {
        let mut message = request().to_vec();
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.extend(payload.iter().flat_map(|word| word.to_ne_bytes()));
        message
    }

    #[test]
    fn replies_are_distinguished_from_errors() {
        assert_eq!(answer_in(&message(AUDIT_GET, &[0x3f, 1, 1, 0])), Some(Some(1)));
        assert_eq!(answer_in(&message(AUDIT_GET, &[0x3f])), Some(None));
        assert_eq!(answer_in(&message(NLMSG_ERROR, &[-1_i32 as u32])), Some(None));
        assert_eq!(answer_in(&message(1300, &[1, 2])), None);
        assert_eq!(answer_in(&[]), None);
    }

    #[test]
    fn a_kernel_without_auditing_has_none() {
        let state_of = |files: &[(&str, &str)], line| in_tree(files, |tree| state(tree, line));
        let status = ("proc/self/status", "Name:\toscost\n");
        assert_eq!(state_of(&[status], "").unwrap(), "none");
        assert_eq!(state_of(&[], ""), None);
        let loginuid = ("proc/self/loginuid", "4294967295");
        assert_eq!(state_of(&[status, loginuid], "quiet audit=0").unwrap(), "off");
    }
}

//! Messages and connections between tasks.

use std::ffi::CString;
use std::mem::zeroed;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr::null_mut;

use crate::calls::{close, fail, must, pipe, read, socket_pair, write};
use crate::operation::{Operation, Params};
use crate::setting::{Setting, Timed};
use crate::sysv;
use crate::tasks::{Kind, Place, beside};

const ONE_BYTE: Params = &[("message", "1"), ("as", "processes"), ("place", "same")];
const OF_64K: Params = &[("block", "64k"), ("as", "processes"), ("place", "other")];
const BLOCK: usize = 64 << 10;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("ipc/pipe", ONE_BYTE, |setting| {
        let ([take_there, pass_there], [take_back, pass_back]) = (pipe(), pipe());
        round_trips(setting, [pass_there, take_there, pass_back, take_back])
    }),
    Operation::new("ipc/unix-stream", ONE_BYTE, |setting| {
        let [own, partners] = socket_pair(libc::SOCK_STREAM);
        round_trips(setting, [own, partners, partners, own])
    }),
    Operation::new("ipc/unix-datagram", ONE_BYTE, |setting| {
        let [own, partners] = socket_pair(libc::SOCK_DGRAM);
        round_trips(setting, [own, partners, partners, own])
    }),
    Operation::new("ipc/tcp", ONE_BYTE, |setting| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback interface");
        let address = listener.local_addr().expect("a bound socket has an address");
        let own = TcpStream::connect(address).expect("a connection");
        let (partners, _) = listener.accept().expect("a connection");
        let [own, partners] = [own, partners].map(|stream| {
            stream.set_nodelay(true).expect("TCP_NODELAY");
            stream.into_raw_fd()
        });
        round_trips(setting, [own, partners, partners, own])
    }),
    Operation::new("ipc/udp", ONE_BYTE, |setting| {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("a port of the loopback interface");
        let (own, partners) = (bind(), bind());
        let address =
            |socket: &UdpSocket| socket.local_addr().expect("a bound socket has an address");
        own.connect(address(&partners)).expect("connecting a datagram socket");
        partners.connect(address(&own)).expect("connecting a datagram socket");
        let [own, partners] = [own, partners].map(IntoRawFd::into_raw_fd);
        round_trips(setting, [own, partners, partners, own])
    }),
    Operation::new("ipc/sysv-queue", ONE_BYTE, |setting| {
        const THERE: libc::c_long = 1;
        const BACK: libc::c_long = 2;
        let queue = sysv::queue();
        let answer = move || {
            let byte = receive(queue, THERE);
            send(queue, BACK, byte);
        };
        beside(setting, Kind::Process, Place::Same, answer, || {
            let mut byte = 0u8;
            setting.repeat(|| {
                send(queue, THERE, byte);
                assert_eq!(receive(queue, BACK), byte, "the message comes back");
                byte = byte.wrapping_add(1);
            })
        })
    }),
    Operation::new("ipc/posix-queue", ONE_BYTE, |setting| {
        let ([there, back], mut byte) = ([posix_queue("there"), posix_queue("back")], [0u8]);
        let answer = move || {
            let mut byte = [0];
            mq_receive(there, &mut byte);
            mq_send(back, &byte);
        };
        beside(setting, Kind::Process, Place::Same, answer, || {
            setting.repeat(|| {
                mq_send(there, &byte);
                mq_receive(back, &mut byte);
            })
        })
    }),
    Operation::new("ipc/pipe-bandwidth", OF_64K, |setting| {
        let [from, to] = pipe();
        blocks(setting, to, from)
    }),
    Operation::new("ipc/unix-stream-bandwidth", OF_64K, |setting| {
        let [from, to] = socket_pair(libc::SOCK_STREAM);
        blocks(setting, to, from)
    }),
    Operation::new("ipc/unix-connect", &[], |setting| {
        let path = setting.folder().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket in the folder");
        setting.repeat(|| {
            let own = UnixStream::connect(&path).expect("a connection");
            let (partners, _) = listener.accept().expect("a connection");
            drop((own, partners));
        })
    }),
    Operation::new("ipc/pass-descriptor", &[], |setting| {
        let [from, to] = socket_pair(libc::SOCK_STREAM);
        let passed = std::fs::File::open("/dev/null").expect("/dev/null");
        setting.repeat(|| close(pass_descriptor(from, to, passed.as_raw_fd())))
    }),
];

/// One byte there and back between two processes on one CPU. The descriptors are those to write and read there, and to write and
/// read back.
fn round_trips(
    setting: &Setting,
    [pass_there, take_there, pass_back, take_back]: [RawFd; 4],
) -> Timed {
    let answer = move || {
        let mut byte = [0];
        read(take_there, &mut byte);
        write(pass_back, &byte);
    };
    beside(setting, Kind::Process, Place::Same, answer, || {
        let mut byte = [1];
        setting.repeat(|| {
            write(pass_there, &byte);
            read(take_back, &mut byte);
        })
    })
}

/// Blocks sent to a process on another CPU, which acknowledges each MiB.
fn blocks(setting: &Setting, to: RawFd, from: RawFd) -> Timed {
    const TOGETHER: u64 = 16;
    let ([awaited, acknowledgement], mut buffer) = (pipe(), vec![0u8; BLOCK]);
    let answer = move || {
        let mut left = TOGETHER as usize * BLOCK;
        while left > 0 {
            // SAFETY: pointer and length describe the buffer. A stream may give a part of a block.
            let got = unsafe { libc::read(from, buffer.as_mut_ptr().cast(), BLOCK.min(left)) };
            left -= must("read", got) as usize;
        }
        write(acknowledgement, &[1]);
    };
    let block = vec![7u8; BLOCK];
    let timed = beside(setting, Kind::Process, Place::Other, answer, || {
        setting.repeat(|| {
            (0..TOGETHER).for_each(|_| write(to, &block));
            read(awaited, &mut [0]);
        })
    });
    timed.times(TOGETHER)
}

/// A message of a System V queue.
#[repr(C)]
struct Message {
    kind: libc::c_long,
    byte: u8,
}

fn send(queue: i32, kind: libc::c_long, byte: u8) {
    let message = Message { kind, byte };
    // SAFETY: the message has a type and one byte.
    must("msgsnd", unsafe { libc::msgsnd(queue, (&raw const message).cast(), 1, 0) });
}

fn receive(queue: i32, kind: libc::c_long) -> u8 {
    let mut message = Message { kind: 0, byte: 0 };
    // SAFETY: the message has space for a type and one byte.
    must("msgrcv", unsafe { libc::msgrcv(queue, (&raw mut message).cast(), 1, kind, 0) });
    message.byte
}

/// A new POSIX message queue for messages of one byte, whose name is removed at once.
fn posix_queue(name: &str) -> libc::mqd_t {
    let name =
        CString::new(format!("/oscost-independent-{}-{name}", std::process::id())).expect("no NUL");
    // SAFETY: attributes of zeros are valid once the lengths are set; the name ends with NUL.
    unsafe {
        let mut attributes: libc::mq_attr = zeroed();
        (attributes.mq_maxmsg, attributes.mq_msgsize) = (8, 1);
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
        let queue = libc::mq_open(name.as_ptr(), flags, 0o600, &raw const attributes);
        if queue < 0 {
            fail("mq_open");
        }
        must("mq_unlink", libc::mq_unlink(name.as_ptr()));
        queue
    }
}

fn mq_send(queue: libc::mqd_t, byte: &[u8; 1]) {
    // SAFETY: the message has one byte.
    must("mq_send", unsafe { libc::mq_send(queue, byte.as_ptr().cast(), 1, 0) });
}

fn mq_receive(queue: libc::mqd_t, byte: &mut [u8; 1]) {
    // SAFETY: there is space for a message of one byte.
    must("mq_receive", unsafe { libc::mq_receive(queue, byte.as_mut_ptr().cast(), 1, null_mut()) });
}

/// Space for the control message with one descriptor, with the alignment of its header.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Sends a byte with a descriptor from one socket and receives both from the other. Returns the new descriptor.
fn pass_descriptor(from: RawFd, to: RawFd, passed: RawFd) -> RawFd {
    let (mut byte, mut control) = ([1u8], Control([0; 64]));
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: header, part and control message are valid during both calls, and have space for a byte and a descriptor.
    unsafe {
        let mut header: libc::msghdr = zeroed();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        let space = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        header.msg_controllen = space as _;
        let message = libc::CMSG_FIRSTHDR(&header);
        (*message).cmsg_level = libc::SOL_SOCKET;
        (*message).cmsg_type = libc::SCM_RIGHTS;
        (*message).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(message).cast::<RawFd>().write_unaligned(passed);
        must("sendmsg", libc::sendmsg(from, &header, 0));
        header.msg_controllen = space as _;
        must("recvmsg", libc::recvmsg(to, &mut header, 0));
        libc::CMSG_DATA(libc::CMSG_FIRSTHDR(&header)).cast::<RawFd>().read_unaligned()
    }
}

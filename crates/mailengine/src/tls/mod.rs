//! How TLS is spoken: whom the sender trusts, and the sink's self-made certificate.

pub mod client;

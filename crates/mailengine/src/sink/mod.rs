//! An SMTP server that throws mail away, one event loop, and misbehaves as it is told to.

//! A connection, with or without TLS, whose calls wait or not, as its socket is set.

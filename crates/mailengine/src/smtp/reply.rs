//! What a server answers, as the sender reads it.

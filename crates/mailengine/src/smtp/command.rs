//! What a client asks for, as the sink reads it.

//! What each recipient gets: the message with its fields filled in, its header completed, signed.

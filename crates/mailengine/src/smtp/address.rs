//! Mail addresses, as RFC 5321 has them, and RFC 6531 for those beyond ASCII.

//! How oscost shows results to people: tables and pictures of text.

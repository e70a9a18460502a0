//! Recipients: a CSV file that is read where it lies, however long it is.

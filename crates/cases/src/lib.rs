//! What oscost measures: one small file per case, one folder per area.

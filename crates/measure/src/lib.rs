//! Clocks, calibration, sentinel, sampling and statistics of oscost.

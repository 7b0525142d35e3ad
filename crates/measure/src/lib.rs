//! Observers: series, histograms, confidence intervals.

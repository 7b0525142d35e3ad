//! The Python module fabricsim._native.

//! Endpoint protocols: state machines that turn messages into packets.

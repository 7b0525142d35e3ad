//! Calls that start a request with a buffer.

use fabricsim_mpi::{Environment, Mode, Pattern, ReceiveCall, SendCall, World};
use fabricsim_units::Time;
use pyo3::prelude::*;

use super::MpiPrograms;
use super::buffers::{Held, Kept};

/// Where a message goes: rank, tag, context, mode, identity of the memory.
pub(super) type Target = (u32, i32, u16, u8, u64);

/// Which message is received: source, tag, context, identity of the memory.
pub(super) type Origin = (i32, i32, u16, u64);

/// A buffer, and which message is received into it.
pub(super) type Received<'py> = (Bound<'py, PyAny>, Origin);

/// A buffer, and where it is sent.
pub(super) type Sent<'py> = (Bound<'py, PyAny>, Target);

impl MpiPrograms {
    /// Begins a call that starts a request with a buffer, and runs until a program goes on. `waits`: the call ends with the request. `begin` gets
    /// the number of the request and the length of its buffer. Returns the program, the request and what `begin` returned.
    pub(super) fn start<T>(
        &self,
        py: Python<'_>,
        (rank, waits): (usize, bool),
        data: &Bound<'_, PyAny>,
        begin: impl FnOnce(&mut World, &mut dyn Environment, (usize, Time), (u32, u64)) -> T,
    ) -> PyResult<(i64, u32, T)> {
        let kept = Kept::of(data)?;
        self.with(|inner| {
            let (request, length) = (inner.run.world().reserve(rank), kept.len());
            inner.buffers.keep(rank, request, kept);
            let mut held = Held { py, buffers: &mut inner.buffers };
            let value = inner
                .run
                .begin(&mut held, |world, place, now| begin(world, place, (rank, now), (request, length)));
            if waits {
                inner.run.end_with(rank, vec![request]);
            }
            Ok((self.drive(py, inner, Some(rank))?, request, value))
        })
    }

    pub(super) fn start_send(
        &self,
        py: Python<'_>,
        rank: (usize, bool),
        data: &Bound<'_, PyAny>,
        (to, tag, context, mode, memory): Target,
    ) -> PyResult<(i64, u32)> {
        let mode = mode_of(mode);
        let (step, request, ()) = self.start(py, rank, data, |world, place, at, (request, length)| {
            world.send(place, at, request, SendCall { to, tag, context, mode, length, memory });
        })?;
        Ok((step, request))
    }

    pub(super) fn start_receive(
        &self,
        py: Python<'_>,
        rank: (usize, bool),
        buffer: &Bound<'_, PyAny>,
        (source, tag, context, memory): Origin,
    ) -> PyResult<(i64, u32)> {
        let pattern = Pattern { source, tag, context };
        let (step, request, ()) = self.start(py, rank, buffer, |world, place, at, (request, length)| {
            world.receive(place, at, request, (pattern, ReceiveCall { length, memory }));
        })?;
        Ok((step, request))
    }

    /// Starts a receive, and a send as soon as that has begun. `waits`: the call ends with both. Returns the program, and both requests.
    pub(super) fn start_exchange(
        &self,
        py: Python<'_>,
        (rank, waits): (usize, bool),
        (buffer, (source, tag, context, memory)): Received<'_>,
        (data, (to, send_tag, send_context, mode, send_memory)): Sent<'_>,
    ) -> PyResult<(i64, u32, u32)> {
        let (received, sent) = (Kept::of(&buffer)?, Kept::of(&data)?);
        let call = ReceiveCall { length: received.len(), memory };
        let send = SendCall {
            to,
            tag: send_tag,
            context: send_context,
            mode: mode_of(mode),
            length: sent.len(),
            memory: send_memory,
        };
        self.with(|inner| {
            let requests = [received, sent].map(|kept| {
                let request = inner.run.world().reserve(rank);
                inner.buffers.keep(rank, request, kept);
                request
            });
            let mut held = Held { py, buffers: &mut inner.buffers };
            inner.run.begin(&mut held, |world, place, now| {
                world.receive(place, (rank, now), requests[0], (Pattern { source, tag, context }, call));
            });
            inner.run.follow_with(rank, requests[1], send);
            if waits {
                inner.run.end_with(rank, requests.to_vec());
            }
            Ok((self.drive(py, inner, Some(rank))?, requests[0], requests[1]))
        })
    }
}

fn mode_of(number: u8) -> Mode {
    match number {
        0 => Mode::Standard,
        1 => Mode::Buffered,
        2 => Mode::Synchronous,
        _ => Mode::Ready,
    }
}

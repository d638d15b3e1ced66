//! Plans for a GPU.
#![allow(unsafe_code)]

use crate::error::{OrRaise, raise};
use crate::options;
use crate::pipeline::Pipeline;
use crate::place::{Memory, Place, slice};
use fzgm::{CallResult, DeviceBuffer, DeviceSlice, Error, ResultBuffer, Stream, Workspace, on_device};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The direction of a plan.
enum Task {
    Compress(Box<fzgm::Encoder>),
    Decompress(Box<fzgm::Decoder>),
}

/// An asynchronous call.
struct Last {
    stream: usize,
    number: u64,
    /// The object that the stream belongs to.
    _keeper: Option<Py<PyAny>>,
}

/// The state that a call changes.
struct State {
    workspace: Workspace,
    /// The last asynchronous call, unless somebody has waited for it: it may use the workspace still.
    last: Option<Last>,
    /// Asynchronous calls so far.
    calls: u64,
    /// A container of any length, before it is known how long it is.
    container: Option<DeviceBuffer>,
}

/// A plan for a GPU, with its workspace.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct DevicePlan {
    task: Task,
    device: u32,
    state: Mutex<State>,
    /// Places for results of asynchronous calls. Calls of one plan follow each other, so an earlier call is done with its
    /// place before a later one writes there.
    places: Mutex<Vec<ResultBuffer>>,
}

impl DevicePlan {
    fn around(task: Task, device: u32) -> fzgm::Result<DevicePlan> {
        let workspace = match &task {
            Task::Compress(encoder) => encoder.workspace()?,
            Task::Decompress(decoder) => decoder.workspace()?,
        };
        let state = Mutex::new(State { workspace, last: None, calls: 0, container: None });
        Ok(DevicePlan { task, device, state, places: Mutex::default() })
    }

    /// The state, when no asynchronous call uses the workspace but those on `stream`.
    fn settled(&self, stream: Option<usize>) -> fzgm::Result<MutexGuard<'_, State>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &state.last
            && Some(last.stream) != stream
        {
            on_device(self.device, || Stream::from_raw(last.stream).wait())?;
            state.last = None;
        }
        Ok(state)
    }

    fn places(&self) -> MutexGuard<'_, Vec<ResultBuffer>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> fzgm::Result<ResultBuffer> {
        let kept = self.places().pop();
        let mut place = kept.map_or_else(|| ResultBuffer::new(self.device), Ok)?;
        place.clear();
        Ok(place)
    }

    fn call(&self, workspace: &mut Workspace, src: DeviceSlice, dst: DeviceSlice) -> fzgm::Result<usize> {
        // SAFETY: the package holds both arrays and has checked that they are apart.
        unsafe {
            match &self.task {
                Task::Compress(encoder) => encoder.compress_at(workspace, src, dst),
                Task::Decompress(decoder) => decoder.decompress_at(workspace, src, dst),
            }
        }
    }

    fn outcome(&self, result: CallResult, dst_bytes: u64) -> fzgm::Result<u64> {
        match &self.task {
            Task::Compress(encoder) => encoder.outcome(result, dst_bytes),
            Task::Decompress(decoder) => decoder.outcome(result, dst_bytes),
        }
    }

    fn encoder(&self) -> fzgm::Result<&fzgm::Encoder> {
        match &self.task {
            Task::Compress(encoder) => Ok(encoder),
            Task::Decompress(_) => Err(Error::Internal("a plan that decompresses has no encoder")),
        }
    }
}

#[pymethods]
impl DevicePlan {
    /// A plan that compresses.
    #[new]
    fn new(
        py: Python<'_>,
        pipeline: &Pipeline,
        dtype: &str,
        dims: Vec<u64>,
        container: &str,
        checksum: (bool, bool),
        device: u32,
    ) -> PyResult<Self> {
        let options = options::encoding(1, container, checksum.0).or_raise(py)?;
        let options = fzgm::Options { checksum_async: checksum.1, ..options::on_gpu(options, device) };
        let array = options::array(dtype, &dims).or_raise(py)?;
        py.detach(|| {
            DevicePlan::around(
                Task::Compress(Box::new(fzgm::Encoder::new(&pipeline.0, &array, &options)?)),
                device,
            )
        })
        .or_raise(py)
    }

    /// The plan that decompresses the containers of this one.
    fn decoder(&self, py: Python<'_>) -> PyResult<Self> {
        py.detach(|| DevicePlan::around(Task::Decompress(Box::new(self.encoder()?.decoder()?)), self.device))
            .or_raise(py)
    }

    /// A plan that decompresses one container.
    #[staticmethod]
    fn open(py: Python<'_>, container: Place<'_>, device: u32, max_memory_bytes: u64) -> PyResult<Self> {
        let (container, _guard) = container.read()?;
        let options = options::on_gpu(options::decoding(1, max_memory_bytes), device);
        py.detach(|| {
            // SAFETY: the package holds the array of the address.
            let decoder = unsafe { fzgm::Decoder::open_at(container, &options)? };
            DevicePlan::around(Task::Decompress(Box::new(decoder)), device)
        })
        .or_raise(py)
    }

    /// Runs the plan and waits; the length of the result in bytes.
    fn run(&self, py: Python<'_>, src: Place<'_>, dst: Place<'_>) -> PyResult<u64> {
        let ((src, _read), (dst, _written)) = (src.read()?, dst.write()?);
        py.detach(|| Ok(self.call(&mut self.settled(None)?.workspace, src, dst)? as u64)).or_raise(py)
    }

    /// Compresses into memory of its own and waits.
    fn compress(&self, py: Python<'_>, src: Place<'_>) -> PyResult<Memory> {
        let (src, _guard) = src.read()?;
        py.detach(|| {
            let mut state = self.settled(None)?;
            let most = self.encoder()?.max_compressed_bytes();
            let State { workspace, container, .. } = &mut *state;
            let container = match container {
                Some(container) => container,
                none => none.insert(DeviceBuffer::new(self.device, most)?),
            };
            let bytes = self.call(workspace, src, container.slice())? as u64;
            let exact = DeviceBuffer::new(self.device, bytes)?;
            exact.copy_front(container, bytes)?;
            Ok(Memory(exact))
        })
        .or_raise(py)
    }

    /// Compresses into bytes on the host and waits.
    fn compress_to_host<'py>(&self, py: Python<'py>, src: Place<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (src, _guard) = src.read()?;
        let bytes = py
            .detach(|| {
                let mut state = self.settled(None)?;
                let mut container = crate::codec::zeroed(self.encoder()?.max_compressed_bytes())?;
                let at = (container.as_mut_ptr() as u64, container.len() as u64);
                let bytes = self.call(&mut state.workspace, src, slice(at))?;
                container.truncate(bytes);
                Ok(container)
            })
            .or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Makes the plan ready for asynchronous calls on a stream.
    fn preload(&self, py: Python<'_>, stream: usize) -> PyResult<()> {
        py.detach(|| {
            on_device(self.device, || {
                let mut state = self.settled(Some(stream))?;
                match &self.task {
                    Task::Compress(encoder) => {
                        encoder.preload(&mut state.workspace, Stream::from_raw(stream))?;
                    }
                    Task::Decompress(decoder) => {
                        decoder.preload(&mut state.workspace, Stream::from_raw(stream))?;
                    }
                }
                let place = self.place()?;
                self.places().push(place);
                Ok(())
            })
        })
        .or_raise(py)
    }

    /// Puts the plan on a stream. `keeper` keeps the stream alive.
    fn enqueue(
        slf: Bound<'_, Self>,
        src: (u64, u64),
        dst: (u64, u64),
        stream: usize,
        keeper: Option<Py<PyAny>>,
    ) -> PyResult<Pending> {
        let (py, plan) = (slf.py(), slf.get());
        let dst = slice(dst);
        let place = py.detach(|| {
            on_device(plan.device, || {
                let mut state = plan.settled(Some(stream))?;
                let place = plan.place()?;
                let (ws, to, s) = (&mut state.workspace, place.address(), Stream::from_raw(stream));
                // SAFETY: the package holds both arrays and has checked that they are apart; the plan and the place are dropped
                // after the stream has passed.
                unsafe {
                    match &plan.task {
                        Task::Compress(encoder) => encoder.compress_async(ws, slice(src), dst, to, s)?,
                        Task::Decompress(decoder) => decoder.decompress_async(ws, slice(src), dst, to, s)?,
                    }
                }
                state.calls += 1;
                let number = state.calls;
                state.last = Some(Last { stream, number, _keeper: keeper });
                Ok((place, number))
            })
        });
        let (place, number) = place.or_raise(py)?;
        Ok(Pending {
            plan: slf.unbind(),
            place: Mutex::new(Some(place)),
            dst_bytes: dst.bytes,
            stream,
            number,
        })
    }

    /// No container of this plan is longer.
    #[getter]
    fn max_compressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.encoder().map(fzgm::Encoder::max_compressed_bytes).or_raise(py)
    }
}

impl Drop for DevicePlan {
    fn drop(&mut self) {
        // The stream may use workspace and places still. If it cannot be waited for, the device is lost.
        drop(self.settled(None));
    }
}

/// An asynchronous call.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct Pending {
    plan: Py<DevicePlan>,
    place: Mutex<Option<ResultBuffer>>,
    dst_bytes: u64,
    stream: usize,
    number: u64,
}

#[pymethods]
impl Pending {
    /// Waits for the stream; the length of the result in bytes.
    fn result(&self, py: Python<'_>) -> PyResult<u64> {
        let plan = self.plan.get();
        let found = py.detach(|| {
            on_device(plan.device, || Stream::from_raw(self.stream).wait())?;
            let mut state = plan.state.lock().unwrap_or_else(PoisonError::into_inner);
            // From here on the stream may be destroyed.
            state.last = state.last.take().filter(|last| last.number != self.number);
            let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(place.as_ref().and_then(ResultBuffer::get))
        });
        match found.or_raise(py)? {
            Some(result) => plan.outcome(result, self.dst_bytes).or_raise(py),
            None => {
                let error = Error::InvalidArgument {
                    what: "the call".into(),
                    got: "not run, because the graph that captured it was not launched".into(),
                    expected: "a launch on this stream before its result".into(),
                };
                Err(raise(py, &error))
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.plan.get().places().extend(place);
    }
}

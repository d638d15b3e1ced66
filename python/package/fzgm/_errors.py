"""Exceptions by class of status. The numbers are those of fz_status in fzgm.h."""


class Error(Exception):
    """A failure of fzgm. ``status`` is the number of the status, 0 for checks of the Python package itself."""

    status: int = 0


class CallError(Error, ValueError):
    """An argument is outside of its range, or arrays and containers do not belong together."""


class PipelineError(Error, ValueError):
    """A name, a parameter, or an element type does not fit the pipeline."""


class ContainerError(Error, ValueError):
    """The bytes are damaged, or are no container."""


class RoomError(Error, MemoryError):
    """A destination, a memory limit, or the system has too little room."""


class DeviceError(Error, RuntimeError):
    """A GPU is missing or failed."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class InternalError(Error, RuntimeError):
    """A defect of fzgm; please report the text."""


_CLASSES = {1: CallError, 2: PipelineError, 3: ContainerError, 4: RoomError, 5: DeviceError, 6: FileError}


def from_status(status: int, message: str) -> Error:
    error = _CLASSES.get(status // 10, InternalError)(message)
    error.status = status
    return error

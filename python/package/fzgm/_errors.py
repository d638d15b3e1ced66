"""Exceptions by class of status. The numbers are those of fz_status in fzgm.h."""


class Error(Exception):
    """Failure of fzgm. ``status`` is the number of the status; 0 if the Python package itself rejects an argument."""

    status: int = 0


class CallError(Error, ValueError):
    """An argument is out of range, or arrays and containers do not belong together."""


class PipelineError(Error, ValueError):
    """A name, a parameter, or an element type is not valid for the pipeline."""


class ContainerError(Error, ValueError):
    """The container is damaged, or the bytes are not a container."""


class RoomError(Error, MemoryError):
    """A destination or a memory limit is too small, or the system has too little memory or too few threads."""


class DeviceError(Error, RuntimeError):
    """A GPU is missing, or a GPU call failed."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class InternalError(Error, RuntimeError):
    """A defect of fzgm. Please report the error text."""


_CLASSES = {1: CallError, 2: PipelineError, 3: ContainerError, 4: RoomError, 5: DeviceError, 6: FileError}


def from_status(status: int, message: str) -> Error:
    error = _CLASSES.get(status // 10, InternalError)(message)
    error.status = status
    return error

"""fzgm: error-bounded compression of numpy arrays.

    container = fzgm.compress(x, error_bound=1e-3)      # of the value range
    y = fzgm.decompress(container)

``fzgm.hdf5`` has the filter for HDF5, ``fzgm.zarr`` and ``fzgm.numcodecs`` the codecs for zarr.
"""

from ._codec import (
    Decoder,
    Encoder,
    Info,
    Pipeline,
    Preset,
    compress,
    decompress,
    decompress_region,
    info,
    presets,
)
from ._compare import Metrics, compare
from ._errors import (
    CallError,
    ContainerError,
    DeviceError,
    Error,
    FileError,
    InternalError,
    PipelineError,
    RoomError,
)

__all__ = [
    "CallError", "ContainerError", "Decoder", "DeviceError", "Encoder", "Error", "FileError", "Info", "InternalError", "Metrics",
    "Pipeline", "PipelineError", "Preset", "RoomError", "compare", "compress", "decompress", "decompress_region", "info", "presets",
]

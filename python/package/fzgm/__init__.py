"""fzgm: error-bounded compression of NumPy arrays.

    container = fzgm.compress(x, error_bound=1e-3)      # of the value range
    y = fzgm.decompress(container)

``fzgm.hdf5`` contains the HDF5 filter, ``fzgm.zarr`` and ``fzgm.numcodecs`` the codecs for zarr.
"""

from ._choose import Choice, choose
from ._codec import (
    Info,
    Preset,
    compress,
    decompress,
    decompress_region,
    info,
    presets,
    preview,
)
from ._compare import Metrics, compare
from ._details import Details
from ._device import DeviceArray
from ._encoders import Decoder, Encoder
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
from ._fills import FillValueWarning
from ._fzgm import __version__
from ._gpu import Call
from ._pipelines import Pipeline
from ._series import Series, SeriesWriter, Step

__all__ = [
    "__version__", "Call", "CallError", "Choice", "ContainerError", "Decoder", "Details", "DeviceArray", "DeviceError", "Encoder", "Error", "FileError", "FillValueWarning", "Info",
    "InternalError", "Metrics", "Pipeline", "PipelineError", "Preset", "RoomError", "Series", "SeriesWriter", "Step", "choose", "compare", "compress", "decompress", "decompress_region", "info", "presets",
    "preview",
]

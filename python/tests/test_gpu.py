"""Arrays on a GPU, or on the emulator in its place. The arrays are those of a library that uses the driver and not fzgm."""

import ctypes
import gc
import os
from concurrent.futures import ThreadPoolExecutor

import cuda_driver as cuda
import fzgm
import numpy as np
import pytest
from cuda_driver import Capsules, Interface

required = os.environ.get("FZGM_REQUIRE_GPU", "0") != "0"
pytestmark = pytest.mark.skipif(not required, reason="FZGM_REQUIRE_GPU is not set")
KINDS = [Interface, Capsules]


@pytest.fixture(autouse=True)
def context():
    assert cuda.start(), "FZGM_REQUIRE_GPU is set and there is no device"


def field(shape=(5, 20, 30), dtype="f4", seed=1):
    return np.random.default_rng(seed).normal(size=shape).cumsum(axis=-1).astype(dtype)


def on_host(array):
    return np.asarray(array).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset, dtype", [("fast", "f4"), ("fast", "f8"), ("high", "f4"), ("pfpl", "f8"), ("bits", "i4"), ("bits", "u1"), ("exact", "f4"), ("exact", "i2")])
def test_the_bytes_are_those_of_the_cpu(kind, preset, dtype):
    x = field(dtype="f4").astype(dtype)
    arguments = {"preset": preset} if preset in ("bits", "exact") else {"preset": preset, "error_bound": 1e-3}
    want = fzgm.compress(x, **arguments)
    container = fzgm.compress(kind(x), **arguments)
    assert isinstance(container, fzgm.DeviceArray) and container.dtype == np.uint8 and container.shape == (len(want),)
    assert on_host(container) == want
    y = fzgm.decompress(container)
    assert isinstance(y, fzgm.DeviceArray) and (y.dtype, y.shape) == (x.dtype, x.shape)
    assert on_host(y) == fzgm.decompress(want).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_is_that_of_host_memory(kind):
    for x in (field(), np.round(field() * 50).astype("f8") * 0.01):
        for goal in ("balanced", "speed", "ratio"):
            for aim in ({"error_bound": 1e-3}, {"lossless": True}, {"target_psnr": 60}):
                assert fzgm.choose(kind(x), goal=goal, **aim) == fzgm.choose(x, goal=goal, **aim)
        for preset in ("auto", "auto:ratio"):
            want = fzgm.compress(x, preset=preset, error_bound=1e-3)
            assert on_host(fzgm.compress(kind(x), preset=preset, error_bound=1e-3)) == want
            assert on_host(fzgm.compress(kind(x), preset=preset, error_bound=1e-3, stream=cuda.Stream())) == want
            assert fzgm.compress(x, preset=preset, error_bound=1e-3, device="cuda:0") == want


@pytest.mark.parametrize("kind", KINDS)
def test_destinations_of_other_libraries(kind):
    x = field()
    want = fzgm.compress(x, error_bound=1e-3)
    room, restored = kind(np.zeros(x.nbytes, "u1")), kind(np.zeros_like(x))
    part = fzgm.compress(kind(x), error_bound=1e-3, out=room)
    assert part.tobytes() == want
    container = kind(np.frombuffer(want, "u1"))
    assert fzgm.decompress(container, out=restored) is restored
    assert restored.get().tobytes() == fzgm.decompress(want).tobytes()
    # Both ways between host and GPU.
    host = np.empty_like(x)
    assert fzgm.decompress(container, out=host) is host
    assert fzgm.decompress(want, out=restored) is restored
    assert restored.get().tobytes() == host.tobytes() == fzgm.decompress(want).tobytes()


def test_where_results_are():
    x = field()
    want = fzgm.compress(x, error_bound=1e-3)
    assert fzgm.compress(x, error_bound=1e-3, device="cuda:0") == want
    assert fzgm.compress(x, error_bound=1e-3, device="cpu") == want
    container = Interface(np.frombuffer(want, "u1"))
    y = fzgm.decompress(want).tobytes()
    for device in ("cuda", "cuda:0", 0):
        assert on_host(fzgm.decompress(want, device=device)) == y
    back = fzgm.decompress(container, device="cpu")
    assert isinstance(back, np.ndarray) and back.tobytes() == y
    assert fzgm.decompress(container, shape=(10, 10, 30)).shape == (10, 10, 30)
    assert fzgm.info(container) == fzgm.info(want)
    four = fzgm.compress(Interface(field((2, 3, 4, 5))), error_bound=1e-3)
    assert fzgm.decompress(four).shape == (2, 3, 4, 5)


@pytest.mark.skipif(not cuda.emulated(), reason="counts of the emulator")
def test_nothing_of_the_data_is_copied_to_the_host():
    x = np.random.default_rng(0).normal(size=40_000).astype("f4")
    array, room = Capsules(x), Capsules(np.zeros(200_000, "u1"))
    before = cuda.copies_to_host()
    container = fzgm.compress(array, error_bound=1e-5)
    fzgm.compress(array, error_bound=1e-5, out=room)
    fzgm.decompress(container)
    fzgm.info(container)
    # Headers are read, twice 4 KiB.
    assert container.nbytes > 50_000 and cuda.copies_to_host() - before <= 3 * 4096


def test_encoders():
    x = field()
    encoder = fzgm.Encoder(x.shape, "f4", error_bound=1e-3, device="cuda")
    decoder = encoder.decoder()
    room, restored = Interface(np.zeros(encoder.max_compressed_bytes, "u1")), Capsules(np.zeros_like(x))
    for seed in range(3):
        x = field(seed=seed)
        want = fzgm.compress(x, error_bound=1e-3)
        assert encoder.compress(x) == want
        container = encoder.compress(Capsules(x))
        assert on_host(container) == want == encoder.compress(Interface(x), out=room).tobytes()
        y = fzgm.decompress(want).tobytes()
        assert decoder.decompress(want).tobytes() == y == on_host(decoder.decompress(container))
        assert decoder.decompress(container, out=restored) is restored and restored.get().tobytes() == y


@pytest.mark.parametrize("checksum, same", [("always", True), (True, False)])
def test_asynchronous_calls(checksum, same):
    stream = cuda.Stream()
    x = field()
    encoder = fzgm.Encoder(x.shape, "f4", error_bound=1e-3, device="cuda:0", checksum=checksum)
    decoder = encoder.decoder()
    encoder.preload(stream)
    decoder.preload(stream)
    array, restored = Capsules(np.zeros_like(x)), Interface(np.zeros_like(x))
    for seed in range(3):
        x = field(seed=seed)
        array.put(x, stream)
        packed = encoder.compress_async(array, stream=stream)
        unpacked = decoder.decompress_async(packed.out, out=restored, stream=stream)
        assert unpacked.result() is restored
        want = fzgm.compress(x, error_bound=1e-3)
        assert restored.get().tobytes() == fzgm.decompress(want).tobytes()
        container = packed.result()
        assert isinstance(container, fzgm.DeviceArray)
        assert (on_host(container) == want) == same
        assert fzgm.decompress(np.asarray(container)).tobytes() == restored.get().tobytes()
        assert packed.result().shape == container.shape
    assert array.streams == [stream.pointer.value] * 3


def test_asynchronous_calls_on_several_streams():
    """The workspace of one encoder is used by one stream after the other."""
    encoder = fzgm.Encoder((1000,), "f4", error_bound=1e-3, device=0)
    streams = [cuda.Stream() for _ in range(3)]
    fields = [field((1000,), seed=n) for n in range(9)]
    calls = [encoder.compress_async(Interface(x), stream=streams[n % 3].pointer.value) for n, x in enumerate(fields)]
    for x, call in zip(fields, calls):
        plain = fzgm.compress(x, error_bound=1e-3, checksum=False)
        assert on_host(call.result()) == plain
    assert on_host(encoder.compress(Interface(fields[0]))) == fzgm.compress(fields[0], error_bound=1e-3)


def test_failures_of_asynchronous_calls():
    x = field()
    encoder = fzgm.Encoder(x.shape, "f4", error_bound=1e-3, device="cuda:0")
    small = Interface(np.zeros(500, "u1"))
    with pytest.raises(fzgm.RoomError) as caught:
        encoder.compress_async(Interface(x), out=small).result()
    assert caught.value.status == 40
    decoder = encoder.decoder()
    garbage = Interface(np.arange(5000, dtype="u1"))
    call = decoder.decompress_async(garbage)
    for _ in range(2):
        with pytest.raises(fzgm.ContainerError):
            call.result()
    good = encoder.compress_async(Interface(x)).result()
    assert fzgm.compare(x, np.asarray(decoder.decompress(good)), error_bound=1e-3).kept


def test_objects_that_go_before_the_stream_has_passed():
    stream = cuda.Stream()
    for seed in range(5):
        encoder = fzgm.Encoder((4000,), "f4", error_bound=1e-3, device="cuda")
        array, room = Interface(field((4000,), seed=seed)), Interface(np.zeros(20_000, "u1"))
        call = encoder.compress_async(array, out=room, stream=stream)
        del encoder, call
        gc.collect()
        stream.wait()
        want = fzgm.compress(field((4000,), seed=seed), error_bound=1e-3, checksum=False)
        assert room.get(len(want)).tobytes() == want


def test_graphs():
    if not hasattr(cuda.lib, "cuGraphLaunch"):
        pytest.skip("the driver has no graphs")
    stream = cuda.Stream()
    x = field()
    encoder = fzgm.Encoder(x.shape, "f4", error_bound=1e-3, device="cuda")
    encoder.preload(stream)
    array, room = Interface(x), Interface(np.zeros(encoder.max_compressed_bytes, "u1"))
    graph, launch = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.ok(cuda.lib.cuStreamBeginCapture_v2(stream.pointer, 0))
    call = encoder.compress_async(array, out=room, stream=stream)
    cuda.ok(cuda.lib.cuStreamEndCapture(stream.pointer, ctypes.byref(graph)))
    cuda.ok(cuda.lib.cuGraphInstantiateWithFlags(ctypes.byref(launch), graph, ctypes.c_uint64(0)))
    with pytest.raises(fzgm.CallError, match="was not launched"):
        call.result()
    for seed in range(3):
        x = field(seed=seed)
        array.put(x)
        cuda.ok(cuda.lib.cuGraphLaunch(launch, stream.pointer))
        assert call.result().tobytes() == fzgm.compress(x, error_bound=1e-3, checksum=False)
    cuda.ok(cuda.lib.cuGraphExecDestroy(launch))
    cuda.ok(cuda.lib.cuGraphDestroy(graph))


def test_device_arrays():
    a = fzgm.DeviceArray((3, 4), "f4", device="cuda")
    assert (a.nbytes, a.size, a.ndim, len(a), a.device) == (48, 12, 2, 3, 0) and "cuda:0" in repr(a)
    part = a[1:3]
    assert part.shape == (2, 4) and part.__cuda_array_interface__["data"][0] == a.__cuda_array_interface__["data"][0] + 16
    address = part.__cuda_array_interface__["data"][0]
    del a
    x = np.arange(8, dtype="f4").reshape(2, 4)
    cuda.ok(cuda.lib.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(32)))
    assert np.array_equal(np.asarray(part), x) and np.asarray(part, dtype="f8").dtype == np.float64
    assert part.__dlpack_device__() == (2, 0)
    empty = fzgm.DeviceArray((0, 4), "f8")
    assert np.asarray(empty).shape == (0, 4) and empty.__cuda_array_interface__["data"][0] == 0
    for index in (0, slice(None, None, 2), "a"):
        with pytest.raises(fzgm.CallError, match="^index"):
            part[index]
    for wrong in (lambda: fzgm.DeviceArray((3,), "f2"), lambda: fzgm.DeviceArray((-1,), "f4"), lambda: fzgm.DeviceArray((3,), "f4", device="cpu")):
        with pytest.raises(fzgm.Error, match="expected"):
            wrong()
    with pytest.raises(BufferError):
        part.__dlpack__(copy=True)
    with pytest.raises(ValueError):
        part.__array__(copy=False)


@pytest.mark.parametrize("versioned", [False, True])
def test_capsules_that_are_lent(versioned):
    a = fzgm.DeviceArray((3, 4), "i2")
    arguments = {"max_version": (1, 0)} if versioned else {}
    capsule = a.__dlpack__(**arguments)
    name = cuda.api.PyCapsule_GetName(capsule)
    assert name == (b"dltensor_versioned" if versioned else b"dltensor")
    layout = cuda.Versioned if versioned else cuda.Plain
    tensor = layout.from_address(cuda.api.PyCapsule_GetPointer(capsule, name)).tensor
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes, tensor.device.kind) == (2, 0, 16, 1, 2)
    assert tensor.shape[:2] == [3, 4] and tensor.strides[:2] == [4, 1] and tensor.data + tensor.offset == a._address
    assert fzgm._fzgm.take_dlpack(capsule)[0] == a._address
    with pytest.raises(BufferError, match="no unused capsule"):
        fzgm._fzgm.take_dlpack(capsule)
    # Whoever has the capsule keeps the memory: freed memory of the emulator is filled with 0xdd.
    lent = fzgm._fzgm.take_dlpack(fzgm.compress(Interface(field()), error_bound=1e-3).__dlpack__(**arguments))
    gc.collect()
    host = np.empty(lent[1][0], "u1")
    fzgm._fzgm.copy_to_host((lent[0], host.size), host)
    assert fzgm.decompress(host).shape == field().shape
    a.__dlpack__(**arguments)


@pytest.mark.parametrize("versions", [False, True])
def test_capsules_that_are_taken_come_back(versions):
    array = Capsules(field())
    array.versions = versions
    fzgm.compress(array, error_bound=1e-3)
    gc.collect()
    assert array.returned and sorted(array.returned) == sorted(array.lent) and set(array.streams) == {1}
    assert array.names == (b"dltensor_versioned" if versions else b"dltensor")


def test_a_stream_of_the_producer_is_waited_for():
    stream = cuda.Stream()
    x = field((200_000,))
    array = Interface(np.zeros_like(x))
    array.stream = stream
    array.put(x, stream)
    assert on_host(fzgm.compress(array, error_bound=1e-3)) == fzgm.compress(x, error_bound=1e-3)
    array.put(2 * x, stream)
    array.stream = None
    assert on_host(fzgm.compress(array, error_bound=1e-3, stream=stream)) == fzgm.compress(2 * x, error_bound=1e-3)


def with_(array, **attributes):
    for name, value in attributes.items():
        setattr(array, name, value)
    return array


def wrong_sources():
    return {
        "gaps": with_(Interface(field((4, 4))), strides=(32, 4)),
        "gaps by dlpack": with_(Capsules(field((4, 4))), strides=(1, 4)),
        "another device": with_(Capsules(field()), kind=10),
        "bfloat16": with_(Capsules(field().astype("f2")), code=4),
        "half": Capsules(field().astype("f2")),
        "half by interface": Interface(field().astype("f2")),
        "complex": Interface(field().astype("c8")),
        "big-endian": Interface(field().astype(">f4")),
        "version 2": with_(Capsules(field()), major=2),
        "no keys": type("X", (), {"__cuda_array_interface__": {}})(),
        "no type": type("X", (), {"__cuda_array_interface__": {"data": (0, False), "shape": (1,), "typestr": "what"}})(),
    }


@pytest.mark.parametrize("name", [
    "gaps", "gaps by dlpack", "another device", "bfloat16", "half", "half by interface", "complex", "big-endian", "version 2", "no keys", "no type",
])
def test_wrong_sources(name):
    with pytest.raises(fzgm.Error, match=r"^(x|the element type of x) .*"):
        fzgm.compress(wrong_sources()[name], error_bound=1e-3)


def test_wrong_calls():
    x = field()
    array, encoder = Interface(x), fzgm.Encoder(x.shape, "f4", error_bound=1e-3, device="cuda")
    decoder, on_cpu = encoder.decoder(), fzgm.Encoder(x.shape, "f4", error_bound=1e-3)
    container = fzgm.compress(array, error_bound=1e-3)
    read_only, overlap = with_(Interface(np.zeros_like(x)), readonly=True), Interface(np.zeros(x.nbytes, "u1"))
    source = Interface(np.zeros_like(x))
    overlap.pointer, kept = source.pointer, overlap.pointer
    calls = [
        lambda: fzgm.compress(array, error_bound=1e-3, device="cpu"),
        lambda: fzgm.compress(array, error_bound=1e-3, device="cuda:1"),
        lambda: fzgm.compress(array, error_bound=1e-3, device="cuda:1000"),
        lambda: fzgm.compress(array, error_bound=1e-3, device=1.5),
        lambda: fzgm.compress(array, error_bound=1e-3, device="gpu"),
        lambda: fzgm.compress(array, error_bound=1e-3, stream="s"),
        lambda: fzgm.compress(array, error_bound=1e-3, stream=-1),
        lambda: fzgm.compress(array, error_bound=1e-3, stream=True),
        lambda: fzgm.compress(array, error_bound=1e-3, out=np.zeros(9999, "u1")),
        lambda: fzgm.compress(array, error_bound=1e-3, out=Interface(np.zeros(9999, "f4"))),
        lambda: fzgm.compress(array, error_bound=1e-3, out=Interface(np.zeros((99, 99), "u1"))),
        lambda: fzgm.compress(array, error_bound=1e-3, out=Interface(np.zeros(100, "u1"))),
        lambda: fzgm.compress(source, error_bound=1e-3, out=overlap),
        lambda: fzgm.compress(x, error_bound=1e-3, out=Interface(np.zeros(9999, "u1"))),
        lambda: fzgm.compress(x, error_bound=1e-3, stream=1),
        lambda: fzgm.compress(array, error_bound=1e-3, checksum="sometimes"),
        lambda: fzgm.decompress(container, out=read_only),
        lambda: fzgm.decompress(container, out=Interface(x.astype("f8"))),
        lambda: fzgm.decompress(container, out=Interface(x[:-1])),
        lambda: fzgm.decompress(container, out=array, shape=x.shape),
        lambda: fzgm.decompress(container, shape=(3,)),
        lambda: fzgm.decompress(Interface(x)),
        lambda: fzgm.decompress(Interface(np.zeros(0, "u1"))),
        lambda: fzgm.decompress(Interface(np.arange(100, dtype="u1"))),
        lambda: fzgm.decompress(container[:-1]),
        lambda: fzgm.decompress(container, device="tpu"),
        lambda: fzgm.decompress(fzgm.compress(x, error_bound=1e-3), stream=1),
        lambda: fzgm.info(container[:100]),
        lambda: encoder.compress(Interface(x[:-1])),
        lambda: encoder.compress_async(x),
        lambda: encoder.compress_async(Interface(x.astype("f8"))),
        lambda: encoder.compress_async(array, out=np.zeros(9999, "u1")),
        lambda: decoder.decompress_async(fzgm.compress(x, error_bound=1e-3)),
        lambda: decoder.decompress_async(container, out=x),
        lambda: decoder.decompress_async(container, out=Interface(x[:-1])),
        lambda: decoder.decompress(fzgm.compress(x, error_bound=1e-3, preset="high")),
        lambda: on_cpu.compress_async(array),
        lambda: on_cpu.preload(),
        lambda: on_cpu.compress(x, out=overlap),
        lambda: on_cpu.decoder().decompress_async(container),
        lambda: on_cpu.decoder().preload(),
    ]
    for k, call in enumerate(calls):
        with pytest.raises(fzgm.Error) as caught:
            call()
        assert len(str(caught.value)) > 20, k
    overlap.pointer = kept


def test_damage():
    """A container in device memory may come from anywhere."""
    x = field()
    good = np.frombuffer(fzgm.compress(x, error_bound=1e-3), "u1")
    source = np.random.default_rng(3)
    for _ in range(40):
        bad = good.copy()
        bad[source.integers(bad.size)] ^= 1 << source.integers(8)
        with pytest.raises(fzgm.Error):
            fzgm.decompress(Interface(bad))


def test_threads():
    encoder = fzgm.Encoder((3000,), "f4", error_bound=1e-3, device="cuda")
    fields = [field((3000,), seed=n) for n in range(4)]
    expected = [fzgm.compress(x, error_bound=1e-3) for x in fields]

    def work(n):
        cuda.start()
        array = Interface(fields[n])
        for _ in range(3):
            assert on_host(encoder.compress(array)) == expected[n]
            assert on_host(fzgm.decompress(encoder.compress_async(array).result())) == fzgm.decompress(expected[n]).tobytes()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_thread_without_a_context():
    x = field()
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(lambda: fzgm.decompress(fzgm.compress(x, error_bound=1e-3, device="cuda"), device="cuda"))
        assert on_host(got.result()) == fzgm.decompress(fzgm.compress(x, error_bound=1e-3)).tobytes()

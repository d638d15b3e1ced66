"""Threads of Python at once, and the release of the GIL."""

import threading
from concurrent.futures import ThreadPoolExecutor

import fzgm
import numpy as np
import pytest


def test_sixteen_threads():
    fields = [np.random.default_rng(n).normal(size=(20, 30, 40)).cumsum(2).astype("f4") for n in range(16)]
    encoder = fzgm.Encoder(fields[0].shape, "f4", error_bound=1e-3)
    decoder = encoder.decoder()
    expected = [fzgm.compress(x, error_bound=1e-3) for x in fields]
    start = threading.Barrier(16)

    def work(n):
        start.wait()
        for _ in range(10):
            assert fzgm.compress(fields[n], error_bound=1e-3, threads=1 + n % 2) == expected[n]
            assert encoder.compress(fields[n]) == expected[n]
            y = decoder.decompress(expected[n])
            assert np.array_equal(y, fzgm.decompress(expected[n]))
            assert fzgm.compare(fields[n], y, error_bound=1e-3).kept

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


def test_the_interpreter_is_released():
    """Another thread counts while one call runs, which would take its whole time if the GIL were held."""
    x = np.random.default_rng(0).normal(size=4_000_000).astype("f4")
    running, counted = threading.Event(), []

    def count():
        running.wait()
        n = 0
        while running.is_set():
            n += 1
        counted.append(n)

    counter = threading.Thread(target=count)
    counter.start()
    running.set()
    fzgm.compress(x, error_bound=1e-3, preset="high")
    running.clear()
    counter.join()
    # With the GIL held, the thread counts only for the switch interval before the call and after it.
    assert counted[0] > 200_000


def test_one_destination_for_two_threads():
    """The second thread receives an exception or a turn, never the memory of the first one."""
    x = np.random.default_rng(0).normal(size=500_000).astype("f4")
    container = fzgm.compress(x, error_bound=1e-3)
    out = np.empty_like(x)

    def work(_):
        try:
            fzgm.decompress(container, out=out)
        except fzgm.CallError as error:
            assert "another call" in str(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(20)))
    assert fzgm.compare(x, fzgm.decompress(container), error_bound=1e-3).kept


def test_a_container_in_its_own_destination():
    out = np.zeros(1000, "f4")
    container = fzgm.compress(out, error_bound=1e-3, mode="abs")
    out.view("u1")[: len(container)] = np.frombuffer(container, "u1")
    with pytest.raises(fzgm.CallError, match="overlaps"):
        fzgm.decompress(out.view("u1")[: len(container)], out=out)

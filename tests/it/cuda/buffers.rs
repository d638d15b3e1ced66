//! Memory of the library for callers that have no allocator of a GPU.

use crate::common::fixture::{lossy, options};
use crate::common::gpu::Block;
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::{DType, DeviceBuffer, DeviceSlice, Encoder, ResultBuffer, Stream, on_device};

/// The contents of device memory.
fn read(slice: DeviceSlice) -> Vec<u8> {
    let mut bytes = vec![0; slice.bytes as usize];
    unsafe { fzgm::copy_to_host(slice, &mut bytes) }.unwrap();
    bytes
}

#[test]
fn an_asynchronous_call_in_memory_of_the_library() {
    need_gpu!();
    let sample = samples::make(DType::F32, &[60, 50], Content::Walk, 3);
    let encoder = Encoder::new(&lossy("fast", DType::F32), &sample.array, &options()).unwrap();
    let block = Block::of(&sample.bytes);
    let container = DeviceBuffer::new(0, encoder.max_compressed_bytes()).unwrap();
    let mut place = ResultBuffer::new(0).unwrap();
    let mut ws = encoder.workspace().unwrap();
    for _ in 0..2 {
        assert!(place.get().is_none());
        let src = block.slice(0, sample.bytes.len());
        let done = on_device(0, || {
            let stream = Stream::from_raw(1);
            unsafe { encoder.compress_async(&mut ws, src, container.slice(), place.address(), stream)? };
            stream.wait()
        });
        done.unwrap();
        let bytes = encoder.outcome(place.get().unwrap(), container.slice().bytes).unwrap();
        let exact = DeviceBuffer::new(container.device(), bytes).unwrap();
        exact.copy_front(&container, bytes).unwrap();
        let plain = fzgm::Options { checksum: false, ..fzgm::Options::default() };
        let want = fzgm::compress(&lossy("fast", DType::F32), &sample.array, &plain, &sample.bytes).unwrap();
        assert!(read(exact.slice()) == want);
        place.clear();
    }
    let small = DeviceBuffer::new(0, 10).unwrap();
    assert!(small.copy_front(&container, 11).is_err() && container.copy_front(&small, 11).is_err());
    assert!(on_device(1000, || Ok(())).is_err() && DeviceBuffer::new(1000, 1).is_err());
}

#[test]
fn where_memory_is() {
    need_gpu!();
    let (mut host, block) = (vec![1u8, 2, 3], Block::of(&[4, 5, 6]));
    let at = DeviceSlice { address: host.as_mut_ptr() as u64, bytes: 3 };
    assert_eq!(fzgm::device_of(at.address).unwrap(), None);
    assert_eq!(fzgm::device_of(block.slice(0, 3).address).unwrap(), Some(0));
    assert_eq!((read(at), read(block.slice(0, 3))), (vec![1, 2, 3], vec![4, 5, 6]));
    assert!(unsafe { fzgm::copy_to_host(at, &mut [0; 2]) }.is_err());
}

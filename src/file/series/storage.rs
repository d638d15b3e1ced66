//! Where a series lies: in a file, or in memory.

use crate::file::container::read_exact_at;
use std::fs::File;
use std::io::{ErrorKind, Result};

/// Bytes that are read at offsets.
pub trait Storage {
    /// Number of bytes, which may grow while a writer appends.
    ///
    /// # Errors
    /// Those of the system.
    fn bytes(&self) -> Result<u64>;

    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if the storage ends before; otherwise those of the system.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()>;
}

/// Bytes that are also written. The crash safety of a series requires that after [`StorageMut::sync`], all earlier writes survive a
/// power failure.
pub trait StorageMut: Storage {
    /// Writes `bytes` from `at` on, which is at most the number of bytes.
    ///
    /// # Errors
    /// Those of the system.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()>;

    /// Removes the bytes from `bytes` on.
    ///
    /// # Errors
    /// Those of the system.
    fn truncate(&mut self, bytes: u64) -> Result<()>;

    /// Waits until the disk has all bytes.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&mut self) -> Result<()>;
}

impl Storage for File {
    fn bytes(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        read_exact_at(self, at, into)
    }
}

impl StorageMut for File {
    #[cfg(unix)]
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, at)
    }

    #[cfg(not(unix))]
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        self.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, bytes: u64) -> Result<()> {
        self.set_len(bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_data()
    }
}

impl Storage for &[u8] {
    fn bytes(&self) -> Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let part = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..into.len()));
        into.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Storage for Vec<u8> {
    fn bytes(&self) -> Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.as_slice().read_at(at, into)
    }
}

impl StorageMut for Vec<u8> {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let at = usize::try_from(at).ok().filter(|at| *at <= self.len()).ok_or(ErrorKind::InvalidInput)?;
        let more = (at + bytes.len()).saturating_sub(self.len());
        self.try_reserve(more).map_err(|_| ErrorKind::OutOfMemory)?;
        self.resize(self.len() + more, 0);
        self[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> Result<()> {
        Vec::truncate(self, usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

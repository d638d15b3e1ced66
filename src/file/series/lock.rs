//! The lock of a writer on its file.

use crate::base::error::Result;
use crate::file::FileOp;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;

/// Locks a file until it is closed. File systems without locks are accepted.
pub(super) fn lock(file: &File, op: &FileOp<'_>) -> Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            Err(op.refuse("another writer has opened the series; close it first, or write another file"))
        }
        _ => Ok(()),
    }
}

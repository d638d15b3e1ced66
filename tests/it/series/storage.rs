//! Memory that tests look into, with a record of its changes.

use fzgm::series::{Storage, StorageMut};
use std::cell::RefCell;
use std::io::{Error, ErrorKind, Result};
use std::rc::Rc;

/// A change of a storage.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write(u64, Vec<u8>),
    Truncate(u64),
    Sync,
}

/// A storage that several owners share.
#[derive(Clone, Default)]
pub(crate) struct Memory(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    changes: Vec<Change>,
    /// The changes that still succeed.
    left: Option<usize>,
    /// True if only one change fails.
    once: bool,
}

impl Memory {
    pub(crate) fn of(bytes: &[u8]) -> Memory {
        let memory = Memory::default();
        memory.0.borrow_mut().bytes = bytes.into();
        memory
    }

    pub(crate) fn replace(&self, bytes: &[u8]) {
        self.0.borrow_mut().bytes = bytes.into();
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().bytes)
    }

    pub(crate) fn copy(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }

    /// The changes since the last call.
    pub(crate) fn changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.0.borrow_mut().changes)
    }

    /// Lets changes fail after some; `None`: none fails.
    pub(crate) fn fail_after(&self, changes: Option<usize>) {
        let mut inner = self.0.borrow_mut();
        (inner.left, inner.once) = (changes, false);
    }

    /// Lets one change fail after some.
    pub(crate) fn fail_once_after(&self, changes: usize) {
        let mut inner = self.0.borrow_mut();
        (inner.left, inner.once) = (Some(changes), true);
    }

    fn change(&self, change: Change) -> Result<()> {
        let mut inner = self.0.borrow_mut();
        let once = inner.once;
        match &mut inner.left {
            Some(0) if once => {
                inner.left = None;
                return Err(Error::new(ErrorKind::StorageFull, "no space is left for one write"));
            }
            Some(0) => return Err(Error::new(ErrorKind::StorageFull, "no space is left")),
            Some(left) => *left -= 1,
            None => {}
        }
        apply(&mut inner.bytes, &change)?;
        inner.changes.push(change);
        Ok(())
    }
}

/// Makes a change; a file that a write extends beyond its end has zeros before it.
pub(crate) fn apply(bytes: &mut Vec<u8>, change: &Change) -> Result<()> {
    match change {
        Change::Write(at, part) => {
            let end = *at as usize + part.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*at as usize..end].copy_from_slice(part);
        }
        Change::Truncate(at) => bytes.truncate(*at as usize),
        Change::Sync => {}
    }
    Ok(())
}

impl Storage for Memory {
    fn bytes(&self) -> Result<u64> {
        Ok(self.0.borrow().bytes.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.0.borrow().bytes.read_at(at, into)
    }
}

impl StorageMut for Memory {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        assert!(at <= self.bytes()?, "a write leaves a hole");
        self.change(Change::Write(at, bytes.into()))
    }

    fn truncate(&mut self, bytes: u64) -> Result<()> {
        self.change(Change::Truncate(bytes))
    }

    fn sync(&mut self) -> Result<()> {
        self.change(Change::Sync)
    }
}

//! Files that exist complete or not at all.

use super::NOT_REGULAR;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{self, Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::{NamedTempFile, TempPath};

/// A file that is written under another name in the folder of its path, and renamed to the path by
/// [`AtomicFile::commit`]. Until then, and if it is dropped, the file at the path is unchanged.
///
/// ```no_run
/// use std::io::Write;
///
/// let mut file = fzgm::AtomicFile::create("field.fzm")?;
/// file.write_all(b"all of it")?;
/// file.commit()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AtomicFile {
    temporary: NamedTempFile<File>,
    target: PathBuf,
    /// True if an existing file at the target is an error.
    new: bool,
}

impl AtomicFile {
    /// A file that replaces the one that may be at `path` and keeps its permissions. Where `path` is a link, the file behind it is
    /// replaced and the link stays.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if `path` names a folder, a pipe or a device; otherwise those of the system.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile> {
        let target = behind_links(&path::absolute(path)?)?;
        let replaced = match fs::metadata(&target) {
            Ok(found) if !found.is_file() => return Err(Error::new(ErrorKind::InvalidInput, NOT_REGULAR)),
            Ok(found) => Some(found.permissions()),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let file = AtomicFile::beside(target, false)?;
        // Before the first byte, so that a file for its owner alone is never readable for others. A file
        // system without permissions refuses to set them, even to the present ones.
        if let Some(wanted) = replaced.filter(|wanted| file.permissions().ok().as_ref() != Some(wanted)) {
            file.temporary.as_file().set_permissions(wanted)?;
        }
        Ok(file)
    }

    /// A file that is refused at [`AtomicFile::commit`] if `path` names anything by then, a link to nothing included.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_new(path: impl AsRef<Path>) -> Result<AtomicFile> {
        AtomicFile::beside(path::absolute(path)?, true)
    }

    /// The temporary name does not contain the name of the target, because it could become longer than the
    /// file system accepts.
    fn beside(target: PathBuf, new: bool) -> Result<AtomicFile> {
        let folder = target.file_name().and(target.parent()).ok_or(ErrorKind::InvalidInput)?;
        // With a name and the permissions of our own. The random names of `tempfile` need memory that ends the process if it is refused,
        // and its permissions are for the owner alone.
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let (path, file) = loop {
            let number = NAMES.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".fzgm-{}-{number}.tmp", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                opened => break (path, opened?),
            }
        };
        let temporary = NamedTempFile::from_parts(file, TempPath::try_from_path(path)?);
        Ok(AtomicFile { temporary, target, new })
    }

    fn permissions(&self) -> Result<fs::Permissions> {
        Ok(self.temporary.as_file().metadata()?.permissions())
    }

    /// Waits until the disk has all bytes, then gives the file its path. A file of [`AtomicFile::create_new`]
    /// never replaces another file, except if the file system can neither rename without replacement nor
    /// link: a file that is made at the same moment may then be lost.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] for a file of [`AtomicFile::create_new`]; otherwise those of the system.
    /// The file at the path is then unchanged.
    pub fn commit(self) -> Result<()> {
        let AtomicFile { mut temporary, target, new } = self;
        temporary.as_file().sync_all()?;
        if new {
            temporary = match temporary.persist_noclobber(&target) {
                Ok(_) => return Ok(()),
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => return Err(refused.error),
                Err(refused) => refused.file,
            };
            if fs::symlink_metadata(&target).is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
        }
        temporary.persist(&target).map(drop).map_err(|refused| refused.error)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

/// The file that `path` names in the end, so that it is replaced and not a link to it. It need not exist, which
/// `fs::canonicalize` requires.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::canonicalize(&target) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let Ok(link) = fs::read_link(&target) else { return Ok(target) };
        // A relative link starts in its own folder.
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(Error::other("too many links"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: Result<fs::DirEntry>| entry.expect("an entry").file_name().into_string();
        fs::read_dir(folder).expect("a folder").map(|entry| name(entry).expect("a name")).collect()
    }

    #[test]
    fn a_file_is_there_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        // As long as names may be.
        let path = folder.path().join("n".repeat(255));
        for open in [AtomicFile::create_new, AtomicFile::create] {
            let mut dropped = open(&path).expect("a file");
            dropped.write_all(b"a part").expect("written");
            assert!(names(folder.path()).iter().all(|name| name.starts_with(".fzgm-")));
            drop(dropped);
            assert!(names(folder.path()).is_empty());
            let mut file = open(&path).expect("a file");
            file.write_all(b"all").expect("written");
            file.commit().expect("a name");
            assert_eq!(fs::read(&path).expect("a file"), b"all");
            assert_eq!(names(folder.path()).len(), 1);
            fs::remove_file(&path).expect("removed");
        }
    }

    /// Without a check in between: a file that another program made meanwhile must remain.
    #[test]
    fn a_new_file_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut file = AtomicFile::create_new(&path).expect("a file");
        file.write_all(b"mine").expect("written");
        fs::write(&path, b"theirs").expect("written");
        assert_eq!(file.commit().expect_err("refused").kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("a file"), b"theirs");
        assert_eq!(names(folder.path()), ["out"]);
    }
}

//! A result file that exists complete or not at all; or standard output, which cannot promise that.

use crate::failure::Failure;
use crate::input;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Stdout, Write, stdout};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct OutFile {
    /// The file to write; - for standard output, with the report on standard error
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    path: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

impl OutFile {
    /// Refuses an OUT that will not do, before anything has been computed for it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_stream() {
            return Ok(());
        }
        match fs::metadata(&self.path) {
            // Renaming over a device or a pipe would replace it.
            Ok(found) if !found.is_file() => Err(self.refused("is no regular file; name a file to write")),
            Ok(_) if !self.force => Err(self.exists()),
            Ok(_) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match fs::symlink_metadata(&self.path) {
                    Ok(_) if !self.force => Err(self
                        .refused("is a link to a file that does not exist; give --force to make that file")),
                    _ => Ok(()),
                }
            }
            Err(e) => Err(self.failed(&e)),
        }
    }

    fn refused(&self, what: &str) -> Failure {
        Failure::output(format!("{} {what}", self.path.display()))
    }

    fn exists(&self) -> Failure {
        self.refused("exists; give --force to replace it")
    }

    fn failed(&self, e: &std::io::Error) -> Failure {
        Failure::io("write", &self.path, e)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut sink = self.create()?;
        sink.write_all(bytes).map_err(|e| self.failed(&e))?;
        sink.commit()
    }

    /// A place beside OUT, which becomes OUT by [`Sink::commit`].
    pub(crate) fn create(&self) -> Result<Sink<'_>, Failure> {
        if self.is_stream() {
            return Ok(Sink { out: self, place: Place::Stream(stdout()) });
        }
        let failed = |e| self.failed(&e);
        // Without --force nothing is there that could be a link.
        let target = if self.force { behind_links(&self.path).map_err(failed)? } else { self.path.clone() };
        let (temporary, file) = Temporary::beside(&target).map_err(failed)?;
        if self.force {
            // Before the first byte: what only its owner may read is never there for others.
            keep_permissions(&target, &file).map_err(failed)?;
        }
        Ok(Sink { out: self, place: Place::File { target, temporary, file } })
    }

    /// For a file that is no container.
    pub(crate) fn at(path: PathBuf, force: bool) -> OutFile {
        OutFile { path, force }
    }

    /// A report goes where the result does not.
    pub(crate) fn is_stream(&self) -> bool {
        input::is_stream(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Where a result goes while it is made.
pub(crate) struct Sink<'a> {
    out: &'a OutFile,
    place: Place,
}

enum Place {
    Stream(Stdout),
    File { target: PathBuf, temporary: Temporary, file: File },
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.place {
            Place::Stream(stream) => stream.write(bytes),
            Place::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.place {
            Place::Stream(stream) => stream.flush(),
            Place::File { file, .. } => file.flush(),
        }
    }
}

impl Sink<'_> {
    /// What was written becomes OUT, once it is on the disk.
    pub(crate) fn commit(mut self) -> Result<(), Failure> {
        let out = self.out;
        let failed = |e| out.failed(&e);
        self.flush().map_err(failed)?;
        let Place::File { target, temporary, file } = self.place else { return Ok(()) };
        file.sync_all().map_err(failed)?;
        drop(file);
        if !out.force {
            match temporary.become_new_file(&target) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(out.exists()),
                // A file system without hard links; the check below is the best that it allows.
                Err(_) => {}
            }
        }
        // Another program may have made OUT in the meantime.
        out.check()?;
        temporary.become_file(&target).map_err(failed)
    }
}

/// The file that `path` names in the end, so that it is replaced and not a link to it. It need not exist, which
/// `fs::canonicalize` would ask for.
fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                // A relative link starts where it stands.
                let link = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(link);
            }
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => return Ok(path),
        }
    }
    Err(std::io::Error::other("too many links"))
}

/// Gives `file` the permissions of the file that it will replace, if there is one.
fn keep_permissions(target: &Path, file: &File) -> std::io::Result<()> {
    let wanted = match fs::metadata(target) {
        Ok(found) => found.permissions(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    // A file system without permissions refuses to set them, even to what they are.
    if file.metadata()?.permissions() == wanted { Ok(()) } else { file.set_permissions(wanted) }
}

/// Removed unless it became a file.
struct Temporary(Option<PathBuf>);

impl Temporary {
    /// Makes a new file. A run that was killed may have left one of the same name, and in a container
    /// process numbers repeat, so the next free name is taken. OUT's own name is no part of it: with more around
    /// it, a name that the file system takes could become too long.
    fn beside(target: &Path) -> std::io::Result<(Temporary, File)> {
        target.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut tries = 0..100;
        loop {
            let n = tries.next().unwrap_or(100);
            let path = target.with_file_name(format!(".fzgm-{}-{n}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && !tries.is_empty() => {}
                made => return made.map(|file| (Temporary(Some(path)), file)),
            }
        }
    }

    /// Replaces what is there.
    fn become_file(mut self, target: &Path) -> std::io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target)?;
            self.0 = None;
        }
        Ok(())
    }

    /// Replaces nothing: `AlreadyExists` if anything is there, be it a dangling link. A second name for the file,
    /// since renaming has no portable way to refuse; the first name goes when this is dropped.
    fn become_new_file(&self, target: &Path) -> std::io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |path| fs::hard_link(path, target))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OutFile, Temporary};
    use std::fs;
    use std::path::PathBuf;

    /// A directory of its own.
    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("fzgm-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let dir = dir("names");
        let target = dir.join("n".repeat(250));
        let (first, _) = Temporary::beside(&target).unwrap();
        let (second, _) = Temporary::beside(&target).unwrap();
        let paths = [first.0.clone().unwrap(), second.0.clone().unwrap()];
        assert_ne!(paths[0], paths[1]);
        drop(first);
        assert!(!paths[0].exists());
        second.become_file(&target).unwrap();
        assert!(target.exists() && !paths[1].exists());
        fs::remove_dir_all(dir).unwrap();
    }

    /// No check comes between: `write` itself does not replace what was made after the last one.
    #[test]
    fn a_file_made_meanwhile_stays() {
        let dir = dir("meanwhile");
        let out = OutFile { path: dir.join("out"), force: false };
        out.check().map_err(|f| f.message).unwrap();
        fs::write(&out.path, b"theirs").unwrap();
        let refusal = out.write(b"mine").unwrap_err();
        assert!(refusal.code == 3 && refusal.message.contains("--force"), "{}", refusal.message);
        assert_eq!(fs::read(&out.path).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        let (temporary, _) = Temporary::beside(&out.path).unwrap();
        let taken = temporary.become_new_file(&out.path).unwrap_err();
        assert_eq!(taken.kind(), std::io::ErrorKind::AlreadyExists);
        drop(temporary);
        fs::remove_dir_all(dir).unwrap();
    }
}

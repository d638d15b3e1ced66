//! A result file that exists complete or not at all; or standard output, which cannot promise that.

use crate::failure::Failure;
use crate::input;
use crate::temporary::{Temporary, behind_links};
use std::fs::{self, File};
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
            Temporary::keep_permissions(&target, &file).map_err(failed)?;
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
        let Place::File { target, mut temporary, file } = self.place else { return Ok(()) };
        file.sync_all().map_err(failed)?;
        drop(file);
        if !out.force {
            match temporary.become_file(&target, true) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(out.exists()),
                // A file system without hard links; the check below is the best that it allows.
                Err(_) => {}
            }
        }
        // Another program may have made OUT in the meantime.
        out.check()?;
        temporary.become_file(&target, false).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::OutFile;
    use std::fs;
    use std::path::PathBuf;

    /// A directory of its own.
    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("fzgm-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
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
        fs::remove_dir_all(dir).unwrap();
    }
}

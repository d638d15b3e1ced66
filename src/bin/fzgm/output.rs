//! A result file that exists complete or not at all.

use crate::failure::Failure;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct OutFile {
    /// The file to write
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    path: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

impl OutFile {
    /// Refuses an OUT that will not do, before anything has been computed for it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let refuse = |what: &str| Err(Failure::output(format!("{} {what}", self.path.display())));
        match fs::metadata(&self.path) {
            // Renaming over a device or a pipe would replace it.
            Ok(found) if !found.is_file() => refuse("is no regular file; name a file to write"),
            Ok(_) if !self.force => refuse("exists; give --force to replace it"),
            Ok(_) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Failure::io("write", &self.path, &e)),
        }
    }

    /// Writes beside OUT, and makes it OUT once it is on the disk.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |e: std::io::Error| Failure::io("write", &self.path, &e);
        // Behind a link, the file that it names is replaced and not the link.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let (temporary, mut file) = Temporary::beside(&target).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        drop(file);
        // Another program may have made OUT in the meantime.
        self.check()?;
        temporary.become_file(&target).map_err(failed)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removed unless it became a file.
struct Temporary(Option<PathBuf>);

impl Temporary {
    /// Makes a new file. A run that was killed may have left one of the same name, and in a container
    /// process numbers repeat, so the next free name is taken.
    fn beside(target: &Path) -> std::io::Result<(Temporary, File)> {
        let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut tries = 0..100;
        loop {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{}.tmp", std::process::id(), tries.next().unwrap_or(100)));
            let path = target.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && !tries.is_empty() => {}
                made => return made.map(|file| (Temporary(Some(path)), file)),
            }
        }
    }

    fn become_file(mut self, target: &Path) -> std::io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target)?;
            self.0 = None;
        }
        Ok(())
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
    use super::Temporary;
    use std::fs;

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let target = std::env::temp_dir().join(format!("fzgm-output-{}", std::process::id()));
        let (first, _) = Temporary::beside(&target).unwrap();
        let (second, _) = Temporary::beside(&target).unwrap();
        let paths = [first.0.clone().unwrap(), second.0.clone().unwrap()];
        assert_ne!(paths[0], paths[1]);
        drop(first);
        assert!(!paths[0].exists());
        second.become_file(&target).unwrap();
        assert!(target.exists() && !paths[1].exists());
        fs::remove_file(target).unwrap();
    }
}

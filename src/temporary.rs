//! Files that are written beside the place that they are for, and take it when they are complete. The command line has this file too.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The file that `path` names in the end, so that it is replaced and not a link to it. It need not exist, which
/// `fs::canonicalize` would ask for.
pub(crate) fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::canonicalize(&target) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let Ok(link) = fs::read_link(&target) else { return Ok(target) };
        // A relative link starts where it stands.
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(std::io::Error::other("too many links"))
}

/// Removed unless it became a file.
pub(crate) struct Temporary(Option<PathBuf>);

impl Temporary {
    /// A new file in the same folder, which is where it can be renamed. Another thread, or a run that was killed, may have one
    /// of the same name, and in a container process numbers repeat: the next free one is taken. The target's own name is no
    /// part of it: with more around it, a name that the file system takes could become too long.
    pub(crate) fn beside(target: &Path) -> Result<(Temporary, File)> {
        /// More than anybody writes at once into one folder.
        const TRIES: u32 = 10_000;
        target.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut tries = 0;
        loop {
            let path = target.with_file_name(format!(".fzgm-{}-{tries}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                made => return made.map(|file| (Temporary(Some(path)), file)),
            }
        }
    }

    /// Gives `file`, which is this one, the permissions of the file that it will replace, if there is one. Before the first
    /// byte: what only its owner may read is never there for others.
    pub(crate) fn keep_permissions(target: &Path, file: &File) -> Result<()> {
        let wanted = match fs::metadata(target) {
            Ok(found) => found.permissions(),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        // A file system without permissions refuses to set them, even to what they are.
        if file.metadata()?.permissions() == wanted { Ok(()) } else { file.set_permissions(wanted) }
    }

    /// Takes the place of the target: of whatever is there, or `anew`, which is refused with `AlreadyExists` if anything is,
    /// be it a dangling link. Anew it is a second name for the file, since renaming has no portable way to refuse; the first
    /// name goes when this is dropped.
    pub(crate) fn become_file(&mut self, target: &Path, anew: bool) -> Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        if anew {
            return fs::hard_link(path, target);
        }
        fs::rename(path, target)?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing more can be done about a file that stays.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let dir = std::env::temp_dir().join(format!(
            "fzgm-temporary-{}-{}",
            std::process::id(),
            env!("CARGO_CRATE_NAME")
        ));
        fs::create_dir_all(&dir).expect("a folder");
        let target = dir.join("n".repeat(250));
        let (first, _) = Temporary::beside(&target).expect("a file");
        let (mut second, _) = Temporary::beside(&target).expect("a file");
        let paths = [first.0.clone(), second.0.clone()].map(|p| p.expect("a name"));
        assert_ne!(paths[0], paths[1]);
        drop(first);
        assert!(!paths[0].exists());
        second.become_file(&target, false).expect("renamed");
        assert!(target.exists() && !paths[1].exists());
        let (mut third, _) = Temporary::beside(&target).expect("a file");
        let taken = third.become_file(&target, true).expect_err("there is one");
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        drop(third);
        fs::remove_dir_all(dir).expect("removed");
    }
}

//! Files that are read as a whole, and that exist complete or not at all.

use super::{AtomicFile, FileOp};
use crate::base::error::{Error, Result};
use std::io::{Read, Write};
use std::path::Path;

/// All bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let asked = FileOp { path, doing: "read" };
    let (file, bytes) = asked.open()?;
    let missing = || Error::OutOfMemory(bytes);
    let mut all = vec![];
    all.try_reserve_exact(usize::try_from(bytes).map_err(|_| missing())?).map_err(|_| missing())?;
    let read = asked.io(file.take(bytes).read_to_end(&mut all))?;
    if read as u64 == bytes { Ok(all) } else { Err(asked.shorter()) }
}

/// Writes a file of these bytes, which replaces an existing one. At any moment the path names the old file or
/// the complete new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let asked = FileOp { path, doing: "write" };
    let mut file = asked.io(AtomicFile::create(path))?;
    asked.io(file.write_all(bytes))?;
    asked.io(file.commit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::ContainerFile;
    use crate::format::Info;
    use std::fs::{self, File};
    use std::thread;
    use tempfile::tempdir;

    fn info(path: &Path) -> Result<Info> {
        ContainerFile::open(path)?.info()
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |e: std::io::Result<fs::DirEntry>| e.map(|e| e.file_name().into_string());
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|e| name(e).expect("an entry").expect("a name")).collect()
    }

    #[test]
    fn a_file_is_all_of_one_writer() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("a");
        let content = |k: u8| vec![k; 100_000 + usize::from(k)];
        replace(&path, &content(0)).expect("written");
        let whole = |bytes: &[u8]| bytes == content(bytes[0]);
        thread::scope(|scope| {
            for k in 1..9 {
                let (path, whole) = (&path, &whole);
                scope.spawn(move || {
                    for _ in 0..20 {
                        replace(path, &content(k)).expect("written");
                        assert!(whole(&read(path).expect("read")), "a file of two writers, or of a part");
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), ["a"], "what is written beside is gone");
    }

    /// Programs that have opened the old file continue to read that file.
    #[cfg(unix)]
    #[test]
    fn a_file_is_replaced_behind_its_links_with_its_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempdir().expect("a folder");
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        symlink("a", &link).expect("a link");
        let mut open = File::open(&path).expect("open");
        replace(&link, b"new").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        let mut old = String::new();
        open.read_to_string(&mut old).expect("read");
        assert_eq!((old.as_str(), read(&path).expect("read").as_slice()), ("old", &b"new"[..]));
        // A dangling link: its target is made.
        fs::remove_file(&path).expect("removed");
        replace(&link, b"made").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(read(&path).expect("read"), b"made");
    }

    /// A FIFO without a writer: opening it blocks.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_before_it_is_opened() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("run").success());
        let (say, hear) = std::sync::mpsc::channel();
        thread::spawn({
            let path = path.clone();
            let told = |e: Option<Error>| e.map_or(String::new(), |e| e.to_string());
            move || say.send([read(&path).err(), info(&path).err(), replace(&path, b"x").err()].map(told))
        });
        let patience = std::time::Duration::from_secs(60);
        for e in hear.recv_timeout(patience).expect("an answer") {
            assert!(e.contains("pipe: it is not a regular file"), "`{e}`");
        }
    }

    /// As their bytes are when they come from memory.
    #[test]
    fn files_shorter_than_any_header_are_no_containers() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("a");
        for bytes in [&b""[..], b"FZC", b"2ZMF\x00\x02 and more"] {
            fs::write(&path, bytes).expect("written");
            assert!(
                matches!(info(&path), Err(Error::NotAContainer(_))),
                "{bytes:?}: {:?}",
                info(&path).err()
            );
        }
        fs::write(&path, b"FZS1\x01\x00 and more").expect("written");
        let told = info(&path).expect_err("many containers").to_string();
        assert!(told.contains("slab file") && told.contains("fzgm decompress"), "{told}");
        for bytes in [&b"FZC1\x01\x00"[..], b"2ZMF\x01\x03 and more"] {
            fs::write(&path, bytes).expect("written");
            assert!(matches!(info(&path), Err(Error::Corrupt { .. })), "{bytes:?}: {:?}", info(&path).err());
        }
    }

    #[test]
    fn refusals_name_the_file_and_leave_nothing() {
        let folder = tempdir().expect("a folder");
        fs::create_dir(folder.path().join("folder")).expect("made");
        for (path, done) in [
            (folder.path().join("no/a"), replace(&folder.path().join("no/a"), b"x").err()),
            (folder.path().join("folder"), replace(&folder.path().join("folder"), b"x").err()),
            (folder.path().join("none"), read(&folder.path().join("none")).err()),
            (folder.path().join("none"), info(&folder.path().join("none")).err()),
            (folder.path().join("folder"), read(&folder.path().join("folder")).err()),
        ] {
            let e = done.expect("refused");
            assert!(
                matches!(e, Error::File { .. }) && e.to_string().contains(&*path.to_string_lossy()),
                "{e}"
            );
        }
        assert_eq!(names(folder.path()), ["folder"]);
    }
}

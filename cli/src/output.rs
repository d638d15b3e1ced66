//! Output files, which exist completely or not at all, and standard output, which has no such guarantee.

use crate::failure::Failure;
use crate::input;
use crate::source::npy;
use fzgm::{Array, AtomicFile};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Stdout, Write, stdout};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct OutArgs {
    /// Output file; a directory for several files; - for standard output, with the report on standard error [default: next to IN]
    ///
    /// Without -o, compress writes IN.fzm (IN.fzc with --container compact, IN.fzs with --slab) next to IN, and
    /// decompress writes IN without that extension.
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    path: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

impl OutArgs {
    /// The one OUT of all inputs, which may exist; `None` without -o.
    pub(crate) fn shared(&self) -> Option<OutFile> {
        self.path.clone().map(|path| OutFile { path, force: false })
    }

    /// OUT for each of `inputs`. The function `name` derives the default name of OUT from the name of IN.
    pub(crate) fn files(
        &self,
        inputs: &[PathBuf],
        name: impl Fn(&OsStr) -> Result<OsString, String>,
    ) -> Result<Vec<OutFile>, Failure> {
        let directory = self.path.as_deref().filter(|path| path.is_dir());
        if let (Some(path), None, [_, _, ..]) = (&self.path, directory, inputs) {
            let what =
                format!("-o {} is one file, but {} input files are given", path.display(), inputs.len());
            return Err(Failure::usage(format!("{what}; pass an existing directory, or remove -o")));
        }
        let mut files: Vec<OutFile> = vec![];
        for input in inputs {
            let path = match (&self.path, directory) {
                (Some(path), None) => path.clone(),
                _ => {
                    let own = input.file_name().filter(|_| !input::is_stream(input));
                    let own = own.ok_or("standard input has no name".to_string()).and_then(&name);
                    let own =
                        own.map_err(|why| Failure::usage(format!("OUT has no default name: {why}; add -o")))?;
                    directory.or(input.parent()).unwrap_or(Path::new("")).join(own)
                }
            };
            if files.iter().any(|other| other.path == path) {
                let what = format!("two input files have the output {}", path.display());
                return Err(Failure::usage(format!("{what}; process them one by one, each with -o")));
            }
            files.push(OutFile { path, force: self.force });
        }
        Ok(files)
    }
}

/// An output file, or standard output.
pub(crate) struct OutFile {
    path: PathBuf,
    force: bool,
}

impl OutFile {
    /// Rejects an OUT that cannot be written, before its contents are computed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_stream() {
            return Ok(());
        }
        match fs::metadata(&self.path) {
            // The final rename would replace a device or a pipe by a file.
            Ok(found) if !found.is_file() => {
                Err(self.refused("is not a regular file; pass the name of a regular or new file"))
            }
            Ok(_) if !self.force => Err(self.exists()),
            Ok(_) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match fs::symlink_metadata(&self.path) {
                    Ok(_) if !self.force => Err(self
                        .refused("is a link to a file that does not exist; add --force to create that file")),
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
        self.refused("exists; add --force to replace it")
    }

    fn failed(&self, e: &std::io::Error) -> Failure {
        Failure::io("write", &self.path, e)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(&[bytes])
    }

    /// Writes an array, as a NumPy file if the name of OUT ends with .npy.
    pub(crate) fn write_array(&self, array: &Array, bytes: &[u8]) -> Result<(), Failure> {
        match self.is_npy() {
            true => self.write_all(&[&npy::header(array), bytes]),
            false => self.write(bytes),
        }
    }

    /// True if OUT is a NumPy file.
    pub(crate) fn is_npy(&self) -> bool {
        self.path.extension().is_some_and(|e| e == "npy")
    }

    fn write_all(&self, parts: &[&[u8]]) -> Result<(), Failure> {
        let mut sink = self.create()?;
        for bytes in parts {
            sink.write_all(bytes).map_err(|e| self.failed(&e))?;
        }
        sink.commit()
    }

    /// Creates a temporary file next to OUT. [`Sink::commit`] renames it to OUT.
    pub(crate) fn create(&self) -> Result<Sink<'_>, Failure> {
        if self.is_stream() {
            return Ok(Sink { out: self, place: Place::Stream(stdout()) });
        }
        let open = if self.force { AtomicFile::create } else { AtomicFile::create_new };
        let file = open(&self.path).map_err(|e| self.failed(&e))?;
        Ok(Sink { out: self, place: Place::File(file) })
    }

    /// True for standard output. The report is then written to standard error.
    pub(crate) fn is_stream(&self) -> bool {
        input::is_stream(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A result that is being written.
pub(crate) struct Sink<'a> {
    out: &'a OutFile,
    place: Place,
}

enum Place {
    Stream(Stdout),
    File(AtomicFile),
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.place {
            Place::Stream(stream) => stream.write(bytes),
            Place::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.place {
            Place::Stream(stream) => stream.flush(),
            Place::File(file) => file.flush(),
        }
    }
}

impl Sink<'_> {
    /// Synchronizes the temporary file to disk and renames it to OUT.
    pub(crate) fn commit(mut self) -> Result<(), Failure> {
        let out = self.out;
        self.flush().map_err(|e| out.failed(&e))?;
        let Place::File(file) = self.place else { return Ok(()) };
        file.commit().map_err(|e| match e.kind() {
            // Another program has created OUT since `check`.
            ErrorKind::AlreadyExists => out.exists(),
            _ => out.failed(&e),
        })
    }
}

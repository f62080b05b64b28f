//! Helpers for the tests of all applications: running and killing the binary, temporary directories.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

/// The binary of an application.
pub(crate) struct App(pub(crate) &'static str);

impl App {
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        Command::new(self.0).args(args).output().unwrap()
    }

    /// Runs it and returns its standard output.
    #[track_caller]
    pub(crate) fn succeeds(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it with bad input. Checks that the exit code is 2 and the error is one line, which it returns.
    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        let lines: Vec<&str> = error.lines().collect();
        let [line] = lines[..] else { panic!("{args:?}: not one line: {error}") };
        line.strip_prefix("error: ").unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    /// Runs a training whose loss becomes NaN, and returns the error message from the step number on.
    #[track_caller]
    pub(crate) fn diverges(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        let line = error.lines().last().unwrap();
        let stopped = line.strip_prefix("error: training stopped at ").and_then(|line| line.split_once(' '));
        stopped.unwrap_or_else(|| panic!("{args:?}: {error}")).1.to_owned()
    }

    /// Checks that an output directory that another process holds is refused with one line.
    #[track_caller]
    pub(crate) fn is_refused_in_a_held_directory(&self, args: &[&str], out: &str) {
        let _held = cotangent_apps_common::output::hold(Path::new(out)).unwrap();
        let error = self.fails(&[args, &["--out", out]].concat());
        assert!(error.ends_with("another run writes there; choose another --out"), "{error}");
    }

    /// Runs it after the readers of both outputs have closed them, as in `app 2>&1 | head -0`.
    #[track_caller]
    pub(crate) fn succeeds_with_closed_outputs(&self, args: &[&str]) {
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let mut child = Command::new(self.0)
            .args(args)
            .stdout(closed())
            .stderr(closed())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }

    /// Runs it with an output directory, kills and resumes it three times, and lets it finish.
    pub(crate) fn survives_kills(&self, args: &[&str], out: &str) {
        let checkpoint = Path::new(out).join("checkpoint.bin");
        let start = |resume: bool| {
            let mut command = Command::new(self.0);
            command.args(args).args(["--out", out]).args(resume.then_some("--resume"));
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut interrupted = 0;
        for pause in [0, 7, 31] {
            let mut child = start(checkpoint.exists());
            let deadline = Instant::now() + Duration::from_secs(60);
            while !checkpoint.exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(pause));
            interrupted += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(checkpoint.exists());
        }
        assert!(interrupted > 0, "every run ended before it was killed");
        assert!(start(true).wait().unwrap().success());
    }

    /// Whether there is an OpenCL device. If not, prints the binary's reason.
    pub(crate) fn has_opencl(&self, command: &[&str]) -> bool {
        let list = self.run(&[command, &["--device", "list"]].concat());
        if !list.status.success() {
            let reason = String::from_utf8(list.stderr).unwrap();
            let built = cfg!(feature = "opencl");
            assert!(reason.contains(if built { "install" } else { "--features opencl" }), "{reason}");
            cotangent::engine::skipped(format_args!("{reason}"));
        }
        list.status.success()
    }
}

/// A directory that is deleted at the end of the test.
pub(crate) struct Dir(Rc<tempfile::TempDir>);

impl Dir {
    pub(crate) fn new() -> Self {
        Dir(Rc::new(tempfile::tempdir().unwrap()))
    }
    /// The same directory, which is there until both are dropped.
    pub(crate) fn share(&self) -> Self {
        Dir(Rc::clone(&self.0))
    }
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

/// A file of a directory.
pub(crate) fn bytes(dir: &str, name: &str) -> Vec<u8> {
    std::fs::read(Path::new(dir).join(name)).unwrap()
}

/// `metrics.json` of a directory.
pub(crate) fn metrics<M: DeserializeOwned>(dir: &str) -> M {
    cotangent_apps_common::metrics::read_json(&Path::new(dir).join("metrics.json")).unwrap()
}

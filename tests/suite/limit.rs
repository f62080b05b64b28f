//! A limit of time for each test on a device. A driver may hang, as PoCL 3.1 once did; without a limit the
//! whole suite waits, and nothing names the test.

use std::cell::RefCell;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Many times what the longest test takes.
const LIMIT: Duration = Duration::from_secs(15 * 60);

thread_local! {
    /// Dropped when the thread of a test ends, which ends its watch.
    static RUNNING: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

/// Ends the process and names the test unless the running test ends in time. The helpers with which tests on
/// a device begin call this. Further calls in the same test do nothing.
pub(crate) fn limit_time() {
    // With `--test-threads=1` the main thread runs all tests.
    let has_own_thread = thread::current().name().is_some_and(|name| name != "main");
    if !has_own_thread || RUNNING.with_borrow(Option::is_some) {
        return;
    }
    watch(LIMIT, |test| {
        // Not `eprintln!`: what a test prints is shown when it has ended.
        let message =
            format!("the test {test} on a device was stopped after {} minutes\n", LIMIT.as_secs() / 60);
        let _ = std::io::stderr().write_all(message.as_bytes());
        std::process::abort();
    });
}

/// [`limit_time`] if `COTANGENT_DEVICE` names a device for all tapes.
pub(crate) fn limit_time_on_device() {
    if std::env::var_os("COTANGENT_DEVICE").is_some() {
        limit_time();
    }
}

/// Calls `stop` with the name of the running test unless it ends within `limit`.
fn watch(limit: Duration, stop: impl FnOnce(&str) + Send + 'static) {
    let test = thread::current().name().unwrap_or("without a name").to_owned();
    let (running, ended) = channel();
    RUNNING.set(Some(running));
    thread::spawn(move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            stop(&test);
        }
    });
}

#[test]
fn a_test_that_does_not_end_is_named() {
    let (stopped, stop) = channel();
    watch(Duration::ZERO, move |test| stopped.send(test.to_owned()).expect("the test waits"));
    assert_eq!(stop.recv().as_deref(), Ok(thread::current().name().expect("a test has a name")));
    // The watch of a test that has ended ends with it, and so does what it would have sent.
    let (stopped, stop) = channel();
    thread::spawn(move || watch(LIMIT, move |test| stopped.send(test.to_owned()).expect("never")));
    assert!(stop.recv().is_err());
}

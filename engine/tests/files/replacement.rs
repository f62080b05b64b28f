//! What an atomic write replaces, and what it leaves as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use cotangent_engine::files::atomic;

fn write(path: &Path, text: &str) {
    atomic::write(path, |w| w.write_all(text.as_bytes())).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn links_stay_and_what_they_lead_to_is_written() {
    let d = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| d.path().join(name));
    [&one, &two].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
    // A link to a file, a link to that, and a link to nothing, all relative.
    fs::write(two.join("file"), "old").unwrap();
    symlink("../two/file", one.join("link")).unwrap();
    symlink("link", one.join("second")).unwrap();
    symlink("../two/new", one.join("third")).unwrap();
    for (link, file) in [("link", "file"), ("second", "file"), ("third", "new")] {
        write(&one.join(link), link);
        assert!(one.join(link).is_symlink(), "{link}");
        assert_eq!(fs::read_to_string(two.join(file)).unwrap(), link);
    }
    assert_eq!(
        (names(&one), names(&two)),
        (["link", "second", "third"].map(String::from).to_vec(), ["file", "new"].map(String::from).to_vec())
    );
    symlink("round", one.join("round")).unwrap();
    assert!(atomic::write(&one.join("round"), |_| Ok(())).is_err());
}

/// The test uses a pipe, because replacing one by mistake does no harm, unlike replacing a device.
#[test]
fn what_is_no_regular_file_is_written_to() {
    let d = tempfile::tempdir().unwrap();
    let pipe = d.path().join("pipe");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        cotangent_engine::skip!("no mkfifo");
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    write(&pipe, "through a pipe");
    // A reader of a pipe that was replaced would wait for ever.
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap(), "through a pipe");
    assert!(atomic::write(d.path(), |_| Ok(())).is_err());
}

#[test]
fn permissions_are_kept() {
    let d = tempfile::tempdir().unwrap();
    let path = d.path().join("file");
    for mode in [0o600, 0o640, 0o777, 0o444] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        atomic::write(&path, |w| {
            // Nobody may read the temporary file who may not read the file itself.
            let partial = names(d.path()).into_iter().find(|name| name != "file").unwrap();
            let while_written = fs::metadata(d.path().join(partial)).unwrap().permissions().mode();
            assert_eq!(while_written & !mode & 0o777, 0);
            w.write_all(b"new")
        })
        .unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_file(&path).unwrap();
    }
}

/// A file that a killed process left is removed; one that is being written is not.
#[test]
fn leftovers_are_removed() {
    let d = tempfile::tempdir().unwrap();
    let [left, written, other] =
        [".cotangent-partial-a", ".cotangent-partial-b", ".partial-c"].map(|name| d.path().join(name));
    [&left, &written, &other].into_iter().for_each(|path| fs::write(path, "half").unwrap());
    let writer = fs::File::open(&written).unwrap();
    writer.lock().unwrap();
    write(&d.path().join("file"), "text");
    assert_eq!(names(d.path()), [".cotangent-partial-b", ".partial-c", "file"]);
}

/// With several writers of one file, each write succeeds, and the content is that of one of them.
#[test]
fn writers_do_not_take_each_other_for_killed() {
    let d = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for i in 0..8 {
            let directory = d.path();
            scope.spawn(move || {
                for k in 0..20 {
                    write(&directory.join("file"), &format!("{i} {k}"));
                }
            });
        }
    });
    assert_eq!(names(d.path()), ["file"]);
    assert!(fs::read_to_string(d.path().join("file")).unwrap().ends_with(" 19"));
}

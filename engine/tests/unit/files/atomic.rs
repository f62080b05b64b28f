use std::io;

use cotangent_engine::files::atomic::write;

#[test]
fn a_failed_write_leaves_the_old_content() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write(&path, |w| w.write_all(b"old")).unwrap();
    let failed = write(&path, |w| {
        w.write_all(b"new")?;
        Err(io::Error::other("no"))
    });
    assert!(failed.is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

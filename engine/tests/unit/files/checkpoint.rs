use cotangent_engine::files::checkpoint::{load, save};

/// Bytes before the payload: magic, version, length, checksum.
const HEADER: usize = 8 + 4 + 8 + 4;

#[test]
fn roundtrip_and_every_damage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoint");
    let state = (7_u64, vec![1.5_f64, -0.0, f64::MIN_POSITIVE]);
    save(&path, 3, &state).unwrap();
    assert_eq!(load::<(u64, Vec<f64>)>(&path, 3).unwrap(), state);

    let message = |bytes: &[u8], version| {
        std::fs::write(&path, bytes).unwrap();
        load::<(u64, Vec<f64>)>(&path, version).unwrap_err().to_string()
    };
    let whole = std::fs::read(&path).unwrap();
    assert!(message(&whole, 4).contains("version 3, this program reads version 4"));
    for cut in 0..whole.len() {
        let error = message(&whole[..cut], 3);
        assert!(error.contains("damaged") || error.contains("not a Cotangent"), "{cut}: {error}");
    }
    for at in HEADER..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        assert!(message(&damaged, 3).contains("checksum"), "{at}");
    }
    assert!(message(b"name\t0.1\t0.2\n and more", 3).contains("not a Cotangent checkpoint"));
    save(&path, 3, &"a string").unwrap();
    assert!(load::<(u64, Vec<f64>)>(&path, 3).is_err());
    assert!(load::<u64>(&dir.path().join("none"), 3).unwrap_err().to_string().contains("No such file"));
}

/// An impossible length in an undamaged file is refused before memory is allocated.
#[test]
fn hostile_lengths_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoint");
    for length in [1_u64 << 14, 1 << 30, 1 << 40, 1 << 60, u64::MAX] {
        save(&path, 1, &(1_u8, length)).unwrap();
        let text = load::<(u8, String)>(&path, 1).unwrap_err().to_string();
        assert!(text.ends_with("LimitExceeded"), "{length}: {text}");
        assert!(load::<(u8, Vec<f64>)>(&path, 1).is_err());
    }
}

/// Numbers are stored in as few bytes as they need. The bound on memory allows for that.
#[test]
fn states_of_every_size_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoint");
    for n in [0, 1, 250, 256, 4095, 4096, 70_000] {
        let state = (vec![1_u128; n], "x".repeat(n));
        save(&path, 1, &state).unwrap();
        assert!(load::<(Vec<u128>, String)>(&path, 1).unwrap() == state, "{n}");
    }
}

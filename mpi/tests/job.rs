//! Jobs of several ranks under a real launcher. `COTANGENT_MPIRUN` names it, by default Open MPI's `mpirun`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cotangent-mpi");

/// The launcher with so many ranks on this machine, which ends them after two minutes.
fn mpirun(ranks: usize) -> Command {
    let launcher = std::env::var("COTANGENT_MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut command = Command::new(launcher);
    // Open MPI's: as root, more ranks than processors, and no processor for each rank alone.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("MPIEXEC_TIMEOUT", "120"),
    ]);
    command.args(["-n", &ranks.to_string(), PROGRAM]).stdin(Stdio::null());
    command
}

/// Sentences of numbers, which are to be reversed.
fn text(directory: &Path) -> PathBuf {
    for (name, count) in [("train", 60), ("val", 8), ("test", 4)] {
        let line = |i: usize| {
            let words: Vec<String> = (0..3 + i % 4).map(|k| ((7 * i + 3 * k) % 10).to_string()).collect();
            let reversed: Vec<&str> = words.iter().rev().map(String::as_str).collect();
            format!("{}\t{}\n", words.join(" "), reversed.join(" "))
        };
        let lines: String = (0..count).map(line).collect();
        std::fs::write(directory.join(format!("{name}.tsv")), lines).unwrap();
    }
    directory.to_path_buf()
}

fn train(ranks: usize, data: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = mpirun(ranks);
    command.args(["transformer", "train", "--path"]).arg(data).arg("--out").arg(out);
    command.args(["--size", "small", "--layers", "1", "--width", "16", "--heads", "2", "--hidden", "16"]);
    command.args(["--batch-tokens", "200", "--warm-up", "5", "--threads", "1", "--beam", "1"]).args(more);
    command
}

fn run(mut command: Command) -> Output {
    command.output().expect("a launcher of MPI")
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn model(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("model.safetensors")).expect("a trained model")
}

#[test]
fn ranks_train_the_model_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let data = text(directory.path());
    let out = |ranks: usize| directory.path().join(format!("out-{ranks}"));
    for ranks in [1, 2, 4] {
        let output = run(train(ranks, &data, &out(ranks), &["--epochs", "2"]));
        assert!(output.status.success(), "{}", text_of(&output));
        // Only rank 0 prints.
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.matches("sentences for training").count(), 1, "{printed}");
        assert!(out(ranks).join("metrics.json").exists());
        assert_eq!(model(&out(ranks)), model(&out(1)), "{ranks} ranks");
    }
}

/// A killed rank ends the job. It goes on with another number of ranks, to the same bits.
#[test]
fn a_killed_job_goes_on_with_other_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let data = text(directory.path());
    let [whole, out] = ["whole", "out"].map(|name| directory.path().join(name));
    let epochs = ["--epochs", "12"];
    let output = run(train(1, &data, &whole, &epochs));
    assert!(output.status.success(), "{}", text_of(&output));

    let mut job = train(2, &data, &out, &epochs);
    let mut job =
        job.args(["--checkpoint-every", "0"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let metrics = |out: &Path| out.join("metrics.json").exists();
    while !out.join("epoch-2.safetensors").exists() && !metrics(&out) {
        assert!(started.elapsed() < Duration::from_secs(100), "no epoch");
        std::thread::sleep(Duration::from_millis(5));
    }
    let rank = *ranks_of(&out).last().expect("ranks that run");
    let killed = Command::new("kill").args(["-9", &rank.to_string()]).status().unwrap();
    assert!(killed.success() && !job.wait().unwrap().success() && !metrics(&out));

    let output = run(train(3, &data, &out, &["--epochs", "12", "--resume"]));
    assert!(output.status.success(), "{}", text_of(&output));
    assert_eq!(model(&out), model(&whole));
}

/// An embedding in parts has the same bits with any number of ranks. A killed job goes on with another
/// number.
#[test]
fn ranks_train_an_embedding() {
    let directory = tempfile::tempdir().unwrap();
    let edges = directory.path().join("tree.tsv");
    let line = |child: usize| format!("n{child}\tn{}\n", child / 2);
    std::fs::write(&edges, (2..200).map(line).collect::<String>()).unwrap();
    let out = |name: &str| directory.path().join(name);
    let train = |ranks: usize, name: &str, more: &[&str]| {
        let mut job = mpirun(ranks);
        job.args(["poincare", "train", "--partitions", "6", "--dim", "2", "--threads", "1", "--tournament"]);
        job.args(["--write", "all", "--edges"]).arg(&edges).arg("--out").arg(out(name)).args(more);
        job
    };
    let points = |name: &str| std::fs::read(out(name).join("embedding.tsv")).expect("a trained embedding");
    let epochs = ["--epochs", "40"];
    for (ranks, name) in [(1, "one"), (2, "two"), (3, "three")] {
        let output = run(train(ranks, name, &epochs));
        assert!(output.status.success(), "{}", text_of(&output));
        assert_eq!(points(name), points("one"), "{ranks} ranks");
    }
    let work = out("work");
    let mut job = train(3, "killed", &["--epochs", "40", "--checkpoint-every", "0", "--work"]);
    let mut job = job.arg(&work).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let seen = |epoch: u32| {
        let names = std::fs::read_dir(&work).into_iter().flatten().flatten();
        let steps = names.filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("part-")?.get(5..)?.parse::<u32>().ok()
        });
        steps.max().is_some_and(|steps| steps > 21 * epoch)
    };
    while !seen(3) {
        assert!(started.elapsed() < Duration::from_secs(100), "no epoch");
        std::thread::sleep(Duration::from_millis(5));
    }
    let rank = *ranks_of(&out("killed")).last().expect("ranks that run");
    let killed = Command::new("kill").args(["-9", &rank.to_string()]).status().unwrap();
    assert!(killed.success() && !job.wait().unwrap().success());
    assert!(!out("killed").join("metrics.json").exists());
    let mut job = train(2, "killed", &["--epochs", "40", "--resume", "--work"]);
    job.arg(&work);
    let output = run(job);
    assert!(output.status.success(), "{}", text_of(&output));
    assert_eq!(points("killed"), points("one"));
    assert!(!work.join("rank-1").exists());

    for (ranks, more, message) in [
        (4, &[][..], "--partitions 6: 4 ranks need at least 8 parts"),
        (2, &["--epochs", "41", "--resume", "--lr", "0.2"], "the checkpoint does not fit"),
        (2, &["--epochs", "41", "--resume", "--seed", "9"], "the checkpoint does not fit"),
    ] {
        let output = run(train(ranks, "one", more));
        let text = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(!output.status.success() && errors.len() == 1 && errors[0].contains(message), "{text}");
    }
}

/// The processes of the ranks that write to this directory.
fn ranks_of(out: &Path) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|process: &u32| {
            let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            command.starts_with(PROGRAM) && command.contains(&*out.to_string_lossy())
        })
        .collect()
}

#[test]
fn an_error_is_one_line_and_ends_the_job() {
    let directory = tempfile::tempdir().unwrap();
    let data = text(directory.path());
    std::fs::write(data.join("val.tsv"), "1 2\t2 1\nno translation\n").unwrap();
    let refused = |command: Command, message: &str| {
        let output = run(command);
        let text = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(!output.status.success() && errors.len() == 1 && errors[0].contains(message), "{text}");
    };
    let out = directory.path().join("out");
    refused(train(2, &data, &out, &[]), "val.tsv:2: ");
    refused(train(2, &data, &out, &["--epochs", "no"]), "--epochs");
    let mut job = mpirun(2);
    job.args(["--ranks", "3", "transformer", "train"]);
    refused(job, "3 ranks were started, but this process sees 2");
    let mut job = mpirun(2);
    job.arg("poem");
    refused(job, "poem: no application");
}

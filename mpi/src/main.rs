//! The applications on several machines: `mpirun -n 4 cotangent-mpi transformer train --path DIR`.
//!
//! Each process is a rank that trains the same model with a share of every batch, or an embedding's parts in
//! turns with the others. An error or a panic of one rank ends all of them.

#![forbid(unsafe_code)]

mod world;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use cotangent::optim::exchange::Exchange;
use cotangent_apps_common::{print, ranks};
use cotangent_apps_text::{lm, transformer};
use cotangent_apps_vision::{dit, vit};

use world::World;

const USAGE: &str =
    "mpirun -n RANKS cotangent-mpi [--ranks RANKS] poincare|transformer|lm|vit|dit ARGUMENTS…";

fn main() -> ExitCode {
    let (mpi, world) = match World::start() {
        Ok(started) => started,
        Err(message) => {
            print::error(format_args!("error: MPI: {message}"));
            std::process::exit(2);
        }
    };
    let world: Arc<dyn Exchange> = Arc::new(world);
    end_all_after_a_panic(world.clone());
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let command = match command(&mut arguments, world.size()) {
        Ok(command) => command,
        Err(message) => refuse(&*world, &message),
    };
    ranks::start(world.clone(), arguments);
    let code = command();
    ranks::end();
    // Waits for the other ranks.
    drop(mpi);
    code
}

/// Ends all ranks after a panic of this one: otherwise they would wait for it.
fn end_all_after_a_panic(world: Arc<dyn Exchange>) {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print::error(format_args!("error: rank {} panicked", world.rank()));
        report(panic);
        world.abort(101);
    }));
}

/// Ends all ranks because of the command line, which is the same for all. Rank 0 says why.
fn refuse(world: &dyn Exchange, message: &str) -> ! {
    if world.rank() > 0 {
        // Rank 0 ends this one too.
        std::thread::sleep(std::time::Duration::from_secs(5));
    } else {
        print::error(format_args!("error: {message}; {USAGE}"));
    }
    world.abort(2)
}

type Command = fn() -> ExitCode;

/// The application that the arguments name. Afterwards they are those of the application.
fn command(arguments: &mut Vec<OsString>, size: usize) -> Result<Command, String> {
    // A program that is linked to another library than its launcher's sees itself alone.
    let launched = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| std::env::var(name).ok());
    let mut wanted = launched.and_then(|number| number.parse().ok());
    if arguments.get(1).is_some_and(|argument| argument == "--ranks") {
        let number = arguments.get(2).and_then(|number| number.to_str()?.parse().ok());
        wanted = Some(number.ok_or("--ranks: a number is needed")?);
        arguments.drain(1..3);
    }
    if let Some(wanted) = wanted.filter(|&wanted: &usize| wanted != size) {
        return Err(format!(
            "{wanted} ranks were started, but this process sees {size}: is it linked to the MPI of mpirun?"
        ));
    }
    let name = arguments.get(1).and_then(|name| name.to_str()).unwrap_or("");
    let command: Command = match name {
        "poincare" => cotangent_apps_embeddings::command::run,
        "transformer" => || transformer::run(&Default::default()),
        "lm" => || lm::run(&Default::default()),
        "vit" => || vit::run(&Default::default()),
        "dit" => || dit::run(&Default::default()),
        "" => return Err("no application is named".to_owned()),
        _ => return Err(format!("{name}: no application that trains on several machines")),
    };
    arguments.remove(0);
    Ok(command)
}

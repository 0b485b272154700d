//! Proves the promise for as long as one likes: `proof kill --kills 2000 --seed 1`.

#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::{error::Error, process::ExitCode};

use madang_proof::kill::{self, Orders};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "child" => {
            kill::live(Orders::read(rest).ok_or("these are no orders")?).await?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            println!("usage: proof kill");
            Ok(ExitCode::from(2))
        }
    }
}

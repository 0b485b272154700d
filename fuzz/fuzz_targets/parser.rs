#![no_main]

use libfuzzer_sys::fuzz_target;
use madang_proof::fuzz::Target;

fuzz_target!(|bytes: &[u8]| {
    let _way = Target::Parser.run(bytes);
});

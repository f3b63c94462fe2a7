//! One test per engine and case. See the library for what they are.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    polder_conformance::main()
}

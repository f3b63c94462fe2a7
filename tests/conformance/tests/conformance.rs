//! One test per engine and case. See the library for what they are.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    polder::become_shim_if_asked();
    polder_conformance::main()
}

# Recipes for `just`. Each is one command or little more, so `just` is optional.

# Run all checks of CI
default:
    .ci/run

# Format all sources, including modules that a macro declares
format:
    cargo fmt --all
    rustfmt --edition 2024 crates/algorithms/tests/paper/*.rs

# Run the lints, with warnings as errors
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Check the three laws of ARCHITECTURE.md and the rules of this repository
tidy:
    cargo xtask tidy

# Generate the pages that are derived from cards and measured runs
pages:
    cargo xtask docs

# Run the tests; `just test PATTERN` selects tests by name
test *pattern:
    cargo test --workspace {{pattern}}

# Run the tests that take minutes
long *pattern:
    cargo test --workspace --release -- --ignored {{pattern}}

# Run a cluster of real processes, inject faults, and verify the result
run *options:
    cargo run --release -- run {{options}}

# Run the benchmarks; `just bench step` runs one
bench *name:
    cargo bench --workspace {{ if name == "" { "" } else { "--bench " + name } }}

# Run a fuzz target (needs a nightly toolchain and cargo-fuzz)
fuzz target="frame" seconds="60":
    cd fuzz && cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}

# Build the reference documentation, with warnings as errors
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Run the commands of the book and update their output; `just book 03` selects a page
book *pages:
    cargo xtask book {{pages}}

# Build the book as a site in target/book (needs mdbook)
site:
    mdbook build docs/book

# Check licences, advisories and sources of dependencies (needs cargo-deny)
deny:
    cargo deny check

# Add a lock to a clone in five places, and check that all parts support it
add-lock:
    .ci/add-lock

# Add an option of simulate to a clone in five places, and check that it works
add-option:
    .ci/add-option

# Add a kind of event to a clone in four places, and check that all parts support it
add-event:
    .ci/add-event

# Recipes for `just`; each is one cargo command or little more, so none of them needs `just`.

# Everything that CI checks.
default:
    .ci/run

# Formats the sources, with those that cargo does not find since a macro declares them.
format:
    cargo fmt --all
    rustfmt --edition 2024 crates/algorithms/tests/paper/*.rs

# Lints, with warnings as errors.
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# The three laws and the house rules.
tidy:
    cargo xtask tidy

# Makes the pages that are made from cards and measured runs.
pages:
    cargo xtask docs

# The tests, nearest to farthest; `just test PATTERN` runs those whose name has it.
test *pattern:
    cargo test --workspace {{pattern}}

# The tests that take minutes rather than seconds.
long *pattern:
    cargo test --workspace --release -- --ignored {{pattern}}

# The main job: a cluster that elects, locks, is hurt and is judged.
run *options:
    cargo run --release -- run {{options}}

# Benchmarks; `just bench step` runs one.
bench *name:
    cargo bench --workspace {{ if name == "" { "" } else { "--bench " + name } }}

# Throws bytes at a fuzz target (needs a nightly toolchain and cargo-fuzz).
fuzz target="frame" seconds="60":
    cd fuzz && cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}

# The reference documentation, with warnings as errors.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Runs the commands of the book and writes down what they print; `just book 03` those of one page.
book *pages:
    cargo xtask book {{pages}}

# The book as a site, in target/book (needs mdbook).
site:
    mdbook build docs/book

# Licences, advisories and sources of dependencies (needs cargo-deny).
deny:
    cargo deny check

# Adds a lock to a clone, in five places, and sees that everything knows it.
add-lock:
    .ci/add-lock

# Adds an option of simulate to a clone, in five places, and sees that it works.
add-option:
    .ci/add-option

# Adds a kind of event to a clone, in four places, and sees that everything knows it.
add-event:
    .ci/add-event

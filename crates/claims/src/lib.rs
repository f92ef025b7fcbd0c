//! An attribute by which a test says which lines of the checklist it shows.
//!
//! `#[claims("W-05", "A-CEN")]` changes nothing about the test below it. `cargo xtask tidy` reads
//! the claims of all tests and compares them with `docs/checklist.md`.
//!
//! ```
//! use tenure_claims::claims;
//!
//! #[claims("W-05", "A-CEN")]
//! fn three_messages() -> u32 {
//!     3
//! }
//! assert_eq!(three_messages(), 3);
//! ```
//!
//! Anything but names in quotes does not compile:
//!
//! ```compile_fail
//! #[tenure_claims::claims(W05)]
//! fn three_messages() {}
//! ```
//!
//! Nor does a claim of nothing:
//!
//! ```compile_fail
//! #[tenure_claims::claims()]
//! fn three_messages() {}
//! ```

use proc_macro::{TokenStream, TokenTree};

/// Says that the test below shows these lines of the checklist, and passes it through unchanged.
///
/// # Panics
///
/// While compiling, when the arguments are not names in quotes with commas between.
#[proc_macro_attribute]
pub fn claims(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut names = 0;
    for (place, argument) in arguments.into_iter().enumerate() {
        match argument {
            TokenTree::Literal(name) if place % 2 == 0 && name.to_string().starts_with('"') => {
                names += 1;
            }
            TokenTree::Punct(comma) if place % 2 == 1 && comma.as_char() == ',' => {}
            other => panic!("`{other}` is no name of the checklist: write claims(\"W-05\")"),
        }
    }
    assert!(names > 0, "a claim names what it claims: write claims(\"W-05\")");
    item
}

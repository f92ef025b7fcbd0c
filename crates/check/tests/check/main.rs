//! The checker, checked: known figures, known verdicts, and mistakes that it must find.

mod mistakes;
mod reference;
mod textbook;

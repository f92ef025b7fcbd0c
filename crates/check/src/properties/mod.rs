//! Properties that only a checker judges, or judges in its own way.

mod bypass;
mod fencing;
mod name;
mod validity;

pub(crate) use bypass::Bypassed;
pub(crate) use fencing::ShiftingFences;
pub(crate) use name::name_of;
pub use validity::Validity;

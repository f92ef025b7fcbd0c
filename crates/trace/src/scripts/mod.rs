//! Stories that shall happen: what they say, and who performs them.

mod agreements;
mod course;
mod dice;
mod diff;
mod golden;
mod lapse;
mod parse;
mod perform;
mod script;
mod spoken;
mod stage;
mod theatre;
mod users;

pub use course::{Course, CourseError};
pub use dice::Dice;
pub use golden::golden;
pub use lapse::{Lapse, Since};
pub use parse::ParseError;
pub use perform::{PerformError, perform};
pub use script::{Action, Asking, Block, Line, Pick, Script};
pub use spoken::{Heard, Recorded, Spoken};
pub use stage::{Link, Seen, Stage};
pub use theatre::{FollowError, Impossible, Theatre, timer_named};

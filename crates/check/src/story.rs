//! A run as people read it.

use std::fmt;

use tenure_core::ProcessId;

/// A run: what happened, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// How many processes take part.
    pub size: u32,
    /// What happened, in order.
    pub scenes: Vec<Scene>,
    /// From which scene on the rest repeats for ever, in a story of starvation.
    pub repeats_from: Option<usize>,
}

/// One step of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The step in words: "P1 → P2 request delivered".
    pub step: String,
    /// What was told at once: "P2 enters".
    pub told: Vec<String>,
    /// Where it shows in a diagram.
    pub mark: Mark,
}

/// How a step is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Something at one process.
    At(ProcessId, String),
    /// A message from one to another that arrives.
    Arrow(ProcessId, ProcessId, String),
    /// A message that is lost or duplicated on its way.
    Broken(ProcessId, ProcessId, String),
    /// A unit of time passes: not a step.
    Time,
}

impl Story {
    /// How many steps it takes; time that passes is not counted.
    pub fn length(&self) -> usize {
        self.scenes.iter().filter(|scene| scene.mark != Mark::Time).count()
    }

    /// The steps in words.
    pub fn steps(&self) -> Vec<String> {
        let steps = self.scenes.iter().filter(|scene| scene.mark != Mark::Time);
        steps.map(|scene| scene.step.clone()).collect()
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (place, scene) in self.scenes.iter().enumerate() {
            if self.repeats_from == Some(place) {
                writeln!(f, "     and from here on, again and again:")?;
            }
            if scene.mark == Mark::Time {
                writeln!(f, "     ({})", scene.step)?;
                continue;
            }
            number += 1;
            write!(f, "{number:>4} {}", scene.step)?;
            for told in &scene.told {
                write!(f, "; {told}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

//! A run as people read it: what its trace says, a line for each step.

use std::fmt;

use tenure_core::service::mutex;
use tenure_trace::{Kind, Record, Trace};

use crate::tell::replay::TIME_PASSES;

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
    /// The step in words: "P2 receives request from P1".
    pub step: String,
    /// What was told at once: "P2 enters".
    pub told: Vec<String>,
    /// Whether only time passes, which is no step.
    pub is_time: bool,
}

impl Story {
    /// The story of a trace of the checker, in which everything of one time is one step.
    pub(crate) fn of(trace: &Trace) -> Self {
        let steps = trace.records.chunk_by(|one, other| one.time == other.time);
        Story {
            size: trace.header.n,
            scenes: steps.filter_map(Scene::of).collect(),
            repeats_from: None,
        }
    }

    /// How many steps it takes; time that passes is not counted.
    pub fn length(&self) -> usize {
        self.scenes.iter().filter(|scene| !scene.is_time).count()
    }

    /// How many of its last steps repeat for ever.
    pub(crate) fn repeating(&self) -> u32 {
        let circle = self.repeats_from.map_or(&[][..], |from| &self.scenes[from..]);
        let steps = circle.iter().filter(|scene| !scene.is_time).count();
        u32::try_from(steps).expect("a story is short")
    }

    /// The steps in words.
    pub fn steps(&self) -> Vec<String> {
        let steps = self.scenes.iter().filter(|scene| !scene.is_time);
        steps.map(|scene| scene.step.clone()).collect()
    }
}

impl Scene {
    /// A step begins with what brings it about. Booting is none, nor is the end.
    fn of(records: &[Record]) -> Option<Self> {
        let asked = |command| match &records[0].kind {
            Kind::Command(asked) => asked.mutex() == Some(&command),
            _ => false,
        };
        let told = records.iter().filter(|record| match &record.kind {
            // Whoever asked to exit has done so.
            Kind::Event(told) => {
                told.mutex() != Some(&mutex::Event::Exited) || !asked(mutex::Command::Exit)
            }
            _ => false,
        });
        let told = told.map(Record::in_words).collect();
        let (step, is_time) = match &records[0].kind {
            Kind::Boot | Kind::End => return None,
            Kind::Note(note) if note == TIME_PASSES => (note.clone(), true),
            _ => (records[0].in_words(), false),
        };
        Some(Scene { step, told, is_time })
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (place, scene) in self.scenes.iter().enumerate() {
            if self.repeats_from == Some(place) {
                writeln!(f, "     and from here on, again and again:")?;
            }
            if scene.is_time {
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

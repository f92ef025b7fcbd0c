//! Runs of any protocol behind one interface, so that the server does not depend on the protocol.

use serde_json::Value;
use tenure_core::{Card, Protocol};
use tenure_sim::{InteractiveRun, InteractiveStepError, Intervention, RunReport, Simulation};
use tenure_trace::{RecordableProtocol, Schedule, ScriptAction, Trace, TraceBuffer};

use crate::deadline::Deadline;
use crate::layout::NodeLayout;
use crate::run_state::RunState;

/// Transition that leads from one moment of a run to the next one. A moment is the state of the run
/// after a number of transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Next step of the simulator.
    Step,
    /// Action of the user.
    Act(ScriptAction),
}

/// Continuation of a run after its earlier transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunContinuation {
    /// Takes at most this many steps.
    Steps(u64),
    /// Takes steps until a user receives an event, but at most this many.
    UntilEvent(u64),
    /// Performs an action of the user.
    Act(ScriptAction),
}

/// Description of a state that a run has reached, with the transition that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedMoment {
    /// Transition that led to this state.
    pub cause: Transition,
    /// Description of the transition, for a person.
    pub description: String,
    /// Simulated time of this state, in ticks.
    pub time: u64,
    /// Number of records in the trace from the start of the run to this state.
    pub records: u64,
}

/// Creates runs for the lab. The lab itself does not know the algorithms and their options.
pub trait RunSource: Send + Sync + 'static {
    /// Returns the descriptions of the algorithms, as JSON for the page.
    fn algorithms(&self) -> Value;

    /// Returns the specification of a run from the arguments of `tenure simulate`.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem if the arguments are not valid.
    fn spec_from_args(&self, words: &[String]) -> Result<RunSpec, String>;

    /// Returns the specification of a run that begins with the steps of a recorded run.
    ///
    /// # Errors
    ///
    /// Returns the reason if the trace cannot be reproduced.
    fn spec_from_trace(&self, trace: &Trace) -> Result<RunSpec, String>;
}

/// A repeatable run, and the data that the page shows about it.
pub struct RunSpec {
    /// Arguments of `tenure simulate`. For a run from a trace, a description of the origin of the
    /// run.
    pub origin: String,
    /// [`Card`] of the algorithm: its assumptions, costs and promises.
    pub card: Card,
    /// Number of processes.
    pub size: u32,
    /// Layout of the processes in the picture.
    pub layout: NodeLayout,
    /// Command that reproduces the run. `None` if there is no such command.
    pub replay: Option<String>,
    /// Actions that the lab performs before it first shows the run, in the order in which they
    /// occur in the run.
    pub interventions: Vec<Intervention>,
    /// Total number of steps that the lab takes before it first shows the run.
    pub steps: u64,
    /// Engine that executes the run.
    pub engine: Box<dyn Engine>,
}

/// Executes one run repeatedly, each time as far as the caller requests.
pub trait Engine: Send + Sync {
    /// Replays `path` from the beginning of the run, and then continues as `advance` says. Appends
    /// the description of each new state to `reached` immediately. If a handler panics later,
    /// `reached` then contains the states before the panic.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem if a step or an action is not possible, if the trace
    /// cannot be written, or if the client disconnects. Also returns an error if the time limit
    /// passes before the first new step. If it passes later, returns the view of the last state
    /// that was reached.
    fn replay_and_advance(
        &self,
        path: &[Transition],
        advance: &RunContinuation,
        reached: &mut Vec<ReachedMoment>,
        deadline: &Deadline,
    ) -> Result<MomentView, String>;
}

/// State, report and trace of a run at one moment.
pub struct MomentView {
    pub(crate) state: RunState,
    pub(crate) report: RunReport,
    /// Trace of the run up to this moment, as bytes of the trace format.
    pub(crate) trace: Vec<u8>,
}

/// Runs one simulation as often as the caller requests, each time from its start. The simulation
/// may begin with the steps of a schedule.
pub struct SimulationEngine<P: Protocol> {
    simulation: Simulation<P>,
    schedule: Option<Schedule>,
}

impl<P: Protocol> SimulationEngine<P> {
    /// Creates an engine that runs the simulation from its start.
    pub fn new(simulation: Simulation<P>) -> Self {
        SimulationEngine { simulation, schedule: None }
    }

    /// Creates an engine whose run begins with the steps of a schedule.
    pub fn from_schedule(simulation: Simulation<P>, schedule: Schedule) -> Self {
        SimulationEngine { simulation, schedule: Some(schedule) }
    }
}

impl<P: RecordableProtocol> SimulationEngine<P> {
    /// Starts a run from its beginning, and pauses the run before its first step. Its trace is
    /// written to `trace`.
    fn session(&self, trace: TraceBuffer) -> Result<InteractiveRun<'_, P>, String> {
        match &self.schedule {
            None => self.simulation.interactive_run(trace).map_err(|error| error.to_string()),
            Some(schedule) => {
                let session = self.simulation.interactive_run_of_schedule(schedule, trace);
                session.map_err(|error| error.to_string())
            }
        }
    }
}

impl<P: RecordableProtocol> Engine for SimulationEngine<P> {
    fn replay_and_advance(
        &self,
        path: &[Transition],
        advance: &RunContinuation,
        reached: &mut Vec<ReachedMoment>,
        deadline: &Deadline,
    ) -> Result<MomentView, String> {
        deadline.ensure_may_continue()?;
        let trace = TraceBuffer::default();
        let mut session = self.session(trace.clone())?;
        for cause in path {
            deadline.ensure_may_continue()?;
            match cause {
                Transition::Step => check_step(session.step())?,
                Transition::Act(action) => {
                    session.intervene(action).map_err(|no| no.to_string())?
                }
            }
        }
        match advance {
            RunContinuation::Act(action) => {
                session.intervene(action).map_err(|no| no.to_string())?;
                let description = action.to_string();
                reached.push(reached_moment(
                    &session,
                    Transition::Act(action.clone()),
                    description,
                ));
            }
            RunContinuation::Steps(most) => steps(&mut session, *most, false, reached, deadline)?,
            RunContinuation::UntilEvent(most) => {
                steps(&mut session, *most, true, reached, deadline)?
            }
        }
        // No step is left. This call ends the run, so that the monitors decide on all properties.
        if session.describe_next_step().is_none() {
            check_step(session.step())?;
        }
        let state = RunState::from_run(&session);
        let report = session.stop().map_err(|error| error.to_string())?;
        Ok(MomentView { state, report, trace: trace.take_bytes() })
    }
}

/// Takes at most `most` steps, and appends each new state to `reached`. If `until_event` is true,
/// stops after the first step in which a user receives an event. Also stops at the end of the run,
/// and when the time limit passes after at least one step.
fn steps<P: RecordableProtocol>(
    session: &mut InteractiveRun<'_, P>,
    most: u64,
    until_event: bool,
    reached: &mut Vec<ReachedMoment>,
    deadline: &Deadline,
) -> Result<(), String> {
    let events_before = session.emitted_event_count();
    for taken_so_far in 0..most {
        if taken_so_far > 0 && deadline.is_past() {
            break;
        }
        deadline.ensure_may_continue()?;
        let Some(next) = session.describe_next_step() else { break };
        match session.step() {
            Ok(()) => reached.push(reached_moment(session, Transition::Step, next.description)),
            Err(InteractiveStepError::Ended(_)) => break,
            Err(halt) => return check_step(Err(halt)),
        }
        if until_event && session.emitted_event_count() > events_before {
            break;
        }
    }
    Ok(())
}

fn reached_moment<P: RecordableProtocol>(
    session: &InteractiveRun<'_, P>,
    cause: Transition,
    description: String,
) -> ReachedMoment {
    ReachedMoment { cause, description, time: session.now(), records: session.record_count() }
}

/// Returns an error if a step of the schedule was not possible. The end of the run is not an error.
fn check_step(step: Result<(), InteractiveStepError>) -> Result<(), String> {
    match step {
        Ok(()) | Err(InteractiveStepError::Ended(_)) => Ok(()),
        Err(InteractiveStepError::Impossible(why)) => {
            Err(format!("the recorded run cannot continue: {why}"))
        }
    }
}

use std::io::Write;

use tenure_core::service::{election, mutex, office};
use tenure_core::{Algorithm, Card, Monitor, Need, Price, ProcessId, Protocol, Service, Stamped};
use tenure_trace::{Header, Kind, Recorded, Source, Spoken, WriteError};

use crate::engine::chats::Stamping;
use crate::engine::controls::Controls;
use crate::engine::core::{Core, Offers};
use crate::engine::world::World;
use crate::figures::report::{Ended, Report};
use crate::jury::watcher::Watcher;
use crate::settings::configs::Configs;
use crate::settings::refusal::SettingsError;
use crate::settings::{Settings, Watch};
use crate::steer::recorder::Recorder;

/// A protocol, its configuration, and everything that decides a run.
///
/// Running it does not use it up: the same simulation runs again, with the same or another
/// seed.
pub struct Simulation<P: Protocol> {
    name: String,
    service: Service,
    pub(crate) configs: Configs<P::Config>,
    settings: Settings,
    script: Vec<(u64, ProcessId, P::Command)>,
    watchers: Vec<Watcher<P>>,
    replay: Option<String>,
    options: Vec<String>,
    pub(crate) states: bool,
    stamping: Option<Stamping<P>>,
    /// What a run may cost, where that is judged.
    price: Option<Price>,
}

/// A run could not be made, or not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing was run.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trace is incomplete; the run was finished all the same, and its report is lost.
    #[error(transparent)]
    Trace(#[from] WriteError),
}

impl<P: Recorded> Simulation<P> {
    /// A simulation of any protocol. What it assumes is not checked: it has no card.
    pub fn new(configs: impl Into<Configs<P::Config>>, settings: Settings) -> Self {
        let offered = |command: office::Command| P::Command::asking(command).is_some();
        let locks = offered(mutex::Command::Enter.into());
        let service = match (locks, offered(election::Command::Elect.into())) {
            (true, true) => Service::Office,
            (true, false) => Service::Mutex,
            (false, true) => Service::Election,
            (false, false) if P::Command::SERVICE.is_agreement() => P::Command::SERVICE,
            (false, false) => Service::Other,
        };
        let name = std::any::type_name::<P>().rsplit("::").next().unwrap_or("protocol");
        Simulation {
            name: name.to_owned(),
            service,
            configs: configs.into(),
            settings,
            script: Vec::new(),
            watchers: Vec::new(),
            replay: None,
            options: Vec::new(),
            states: false,
            stamping: None,
            price: None,
        }
    }

    /// The same under another name, for reports and traces.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same as this service, where all those of agreement have one type.
    #[must_use]
    pub fn serving(self, service: Service) -> Self {
        Simulation { service, ..self }
    }

    /// The same with the command that makes the run again, for the head of its trace.
    #[must_use]
    pub fn replayed_by(mut self, command: impl Into<String>) -> Self {
        self.replay = Some(command.into());
        self
    }

    /// The same with the options that configure the algorithm and its group, for the head of its
    /// trace: what makes the same processes again.
    #[must_use]
    pub fn configured_by(mut self, options: Vec<String>) -> Self {
        self.options = options;
        self
    }

    /// The same with what a process holds after each step that changed it, in the trace.
    #[must_use]
    pub fn with_states(mut self) -> Self {
        self.states = true;
        self
    }

    /// The user of a process gives a command at a tick, whether or not it makes sense then.
    /// Dropped when the process is down.
    #[must_use]
    pub fn command(mut self, at: u64, process: ProcessId, command: P::Command) -> Self {
        self.script.push((at, process, command));
        self
    }

    /// Judges every run by one more monitor, which starts afresh each time.
    #[must_use]
    pub fn watch<M>(mut self, property: &'static str, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        self.watchers.push(Watcher::new(property, monitor));
        self
    }

    /// The same run, measured and judged in another way.
    #[must_use]
    pub fn watching(&self, watch: Watch) -> Self {
        Simulation {
            name: self.name.clone(),
            service: self.service,
            configs: self.configs.clone(),
            settings: Settings { watch, ..self.settings.clone() },
            script: self.script.clone(),
            watchers: self.watchers.clone(),
            replay: self.replay.clone(),
            options: self.options.clone(),
            states: self.states,
            stamping: self.stamping,
            price: self.price.clone(),
        }
    }

    /// What decides the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs once.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] when the settings make no sense; nothing was run.
    pub fn run(&self) -> Result<Report, SettingsError> {
        self.run_with(Controls::new())
    }

    /// Runs once, watched and stoppable.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`].
    pub fn run_with(&self, controls: Controls<'_>) -> Result<Report, SettingsError> {
        self.run_settings(self.settings.clone(), None, controls).map(|(report, ..)| report)
    }

    /// Runs once and hands out the processes as they were in the end.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`].
    pub fn run_and_inspect(&self) -> Result<(Report, Vec<P>), SettingsError> {
        let ran = self.run_settings(self.settings.clone(), None, Controls::new());
        ran.map(|(report, processes, _)| (report, processes))
    }

    /// Runs once and writes everything that happens to `to` as a trace.
    ///
    /// # Errors
    ///
    /// [`RunError::Settings`] when nothing was run, [`RunError::Trace`] when the trace could
    /// not be written.
    pub fn run_traced(
        &self,
        to: impl Write + Send + 'static,
        controls: Controls<'_>,
    ) -> Result<Report, RunError> {
        self.check()?;
        let recorder = Recorder::new(Box::new(to), &self.header(), self.states)?;
        let settings = self.settings.clone();
        let (report, _, recorder) = self.run_settings(settings, Some(recorder), controls)?;
        recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(report)
    }

    /// The world of a run before anything has happened, which will write a trace.
    pub(crate) fn recorded_world(
        &self,
        to: impl Write + Send + 'static,
    ) -> Result<World<'_, P>, RunError> {
        self.check()?;
        let recorder = Recorder::new(Box::new(to), &self.header(), self.states)?;
        let core = Core::new(self.settings.clone(), self.offers(), Some(recorder));
        let watchers = self.watchers.clone();
        Ok(World::new(core, &self.configs, &self.script, watchers, self.stamping))
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        self.settings.check()?;
        let size = self.settings.size;
        // Nothing else is as large from the beginning, and what is not to be had ends the program.
        let room = Vec::<P>::new().try_reserve_exact(size as usize);
        room.map_err(|_| SettingsError::Large { size })?;
        self.configs.check(size)
    }

    fn run_settings(
        &self,
        settings: Settings,
        recorder: Option<Recorder>,
        mut controls: Controls<'_>,
    ) -> Result<(Report, Vec<P>, Option<Recorder>), SettingsError> {
        self.check()?;
        let core = Core::new(settings, self.offers(), recorder);
        let watchers = self.watchers.clone();
        let mut world = World::new(core, &self.configs, &self.script, watchers, self.stamping);
        let ended = world.run(&mut controls);
        let (mut report, processes, recorder) = self.reported(world, ended);
        self.judge_cost(&mut report);
        Ok((report, processes, recorder))
    }

    /// Judges what a run cost in which nobody meddled.
    pub(crate) fn judge_cost(&self, report: &mut Report) {
        // What somebody does by hand costs what it costs.
        let counted = self.script.is_empty() && self.settings.watch.metrics;
        let price = self.price.as_ref().filter(|_| counted);
        report.findings.extend(price.map(|price| report.cost(price)));
    }

    /// Ends a run and tells of it.
    pub(crate) fn reported(
        &self,
        mut world: World<'_, P>,
        ended: crate::figures::report::Ended,
    ) -> (Report, Vec<P>, Option<Recorder>) {
        world.settle();
        let (mut core, processes, watchers) = world.into_parts();
        // A run that was cut short is not over, and its trace does not say so.
        if !matches!(ended, Ended::Stopped | Ended::Events | Ended::Flooded) {
            core.trace_group(Kind::End);
        }
        let recorder = core.recorder.take();
        let mut report = Report::of(self.name.clone(), core, ended);
        for watcher in watchers {
            let finding = watcher.finding(report.finished_at, report.ended.is_end());
            report.findings.push(finding);
        }
        (report, processes, recorder)
    }

    pub(crate) fn offers(&self) -> Offers {
        Offers {
            agreement: Some(self.service).filter(|service| service.is_agreement()),
            mutex: P::Command::asking(mutex::Command::Enter.into()).is_some(),
            election: P::Command::asking(election::Command::Elect.into()).is_some(),
        }
    }

    pub(crate) fn header(&self) -> Header {
        let (size, watch) = (self.settings.size, &self.settings.watch);
        let most_bypass = self.settings.bypass_bounds().into_iter().min();
        let promises = watch.properties.iter().flatten();
        // A trace is judged by what users are told; what a run cost is judged where it is made.
        let promises = promises.filter(|promise| promise.needs() != Need::Messages);
        let promises = promises.map(|promise| promise.name().to_owned());
        Header {
            fenced: watch.fenced,
            most_inside: watch.most_inside,
            ranks: Some(self.settings.ranks.to_vec()),
            promises: promises.collect(),
            most_bypass,
            options: self.options.clone(),
            seed: Some(self.settings.seed),
            replay: self.replay.clone(),
            ..Header::new(self.name.clone(), self.service, size, Source::Simulator)
        }
    }
}

impl<P: Stamped> Simulation<P>
where
    P: Recorded,
{
    /// The same with users whose messages ([`Chatter`](crate::Chatter)) carry the protocol's
    /// logical clock, so that a request that somebody was told of gets the smaller stamp.
    #[must_use]
    pub fn with_stamped_chatter(mut self) -> Self {
        self.stamping = Some(Stamping::new());
        self
    }
}

impl<P: Algorithm> Simulation<P>
where
    P: Recorded,
{
    /// A simulation of an algorithm that has a card: what the settings leave open is filled in
    /// from the card, and an environment weaker than the card demands is refused.
    ///
    /// # Errors
    ///
    /// [`SettingsError`]: what is wrong, or what the algorithm needs and does not get.
    pub fn of(
        configs: impl Into<Configs<P::Config>>,
        settings: Settings,
    ) -> Result<Self, SettingsError> {
        let configs = configs.into();
        settings.check()?;
        configs.check(settings.size)?;
        let card: Card = P::card(configs.of(ProcessId(0)), settings.size);
        settings.check_against(&card)?;
        let settings = settings.resolved(&card);
        let price = settings.unpriced(&card).is_none().then(|| {
            let scene = settings.scene(card.service, false);
            let of_scene = |scene| P::expected(configs.of(ProcessId(0)), settings.size, scene);
            Price { cost: card.messages.clone(), expected: scene.and_then(of_scene) }
        });
        let simulation = Simulation::new(configs, settings);
        Ok(Simulation { service: card.service, price, ..simulation.named(card.name) })
    }
}

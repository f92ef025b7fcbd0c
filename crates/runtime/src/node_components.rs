//! The components of a node.

use tenure_core::{ProcessSet, Protocol};
use tokio::sync::mpsc;

use crate::application::Application;
use crate::injection::FaultInjection;
use crate::store::StableStorage;
use crate::trace_sink::TraceSink;
use crate::transport::MeshSettings;

/// All components from which [`start_node`](crate::start_node) builds a node.
#[derive(Debug)]
pub struct NodeComponents<P: Protocol, App: Application<P>> {
    /// Configuration of the protocol.
    pub config: P::Config,
    /// Settings of the transport: the identity of the process, the addresses of all processes, and
    /// limits.
    pub transport: MeshSettings,
    /// Store with the saved state of the process. The session of the store must equal the session
    /// in `transport`.
    pub store: StableStorage,
    /// Application, which connects the protocol with its users.
    pub application: App,
    /// Requests of the users. The node shuts down when all senders are dropped.
    pub requests: mpsc::UnboundedReceiver<App::Request>,
    /// Destination of the trace.
    pub trace_sink: TraceSink,
    /// Faults to inject between the node and its transport.
    pub injection: FaultInjection,
    /// Function that returns the peers that the process suspects. The node records changes of this
    /// set in the trace, and derives the live peers from it. `None` if the process has no failure
    /// detector of its own.
    pub suspected_peers_fn: Option<SuspectedPeersFn<P>>,
}

/// Function that returns the peers that the failure detector of a process suspects.
pub type SuspectedPeersFn<P> = fn(&P) -> &ProcessSet;

impl<P: Protocol, App: Application<P>> NodeComponents<P, App> {
    /// Creates the components of a node that records no trace and injects no faults.
    pub fn new(
        config: P::Config,
        transport: MeshSettings,
        store: StableStorage,
        application: App,
        requests: mpsc::UnboundedReceiver<App::Request>,
    ) -> Self {
        let (trace_sink, injection) = (TraceSink::none(), FaultInjection::none());
        let suspected = None;
        NodeComponents {
            config,
            transport,
            store,
            application,
            requests,
            trace_sink,
            injection,
            suspected_peers_fn: suspected,
        }
    }
}

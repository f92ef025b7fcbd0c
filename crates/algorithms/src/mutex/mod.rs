//! Mutual exclusion.

mod candidate;
pub mod carvalho_roucairol;
pub mod central;
mod desk;
pub mod dijkstra_ring;
pub mod k_mutex;
pub mod lamport;
pub mod maekawa;
pub mod majority;
pub mod misra_ring;
pub mod naimi_trehel;
pub mod raymond;
pub mod repaired_ring;
pub mod ricart_agrawala;
pub mod suzuki_kasami;
pub mod token_ring;
pub mod tolerant_ricart_agrawala;
mod voter;

pub use carvalho_roucairol::CarvalhoRoucairol;
pub use central::Central;
pub(crate) use desk::{Claim, Desk, Ticket};
pub use dijkstra_ring::DijkstraRing;
pub use k_mutex::KMutex;
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use majority::Majority;
pub use misra_ring::MisraRing;
pub use naimi_trehel::NaimiTrehel;
pub use raymond::Raymond;
pub use repaired_ring::RepairedRing;
pub use ricart_agrawala::RicartAgrawala;
pub use suzuki_kasami::SuzukiKasami;
pub use token_ring::TokenRing;
pub use tolerant_ricart_agrawala::TolerantRicartAgrawala;
pub use voter::Ballot;

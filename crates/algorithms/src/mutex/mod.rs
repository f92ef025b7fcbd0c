//! Mutual exclusion algorithms, one module each, and the list that maps names to types.

pub mod carvalho_roucairol;
pub mod central;
pub mod dijkstra_ring;
pub mod dining_philosophers;
pub mod edge_chasing;
mod generations;
mod grant_queue;
pub mod k_mutex;
pub mod lamport;
pub mod lease;
pub mod leased;
pub mod maekawa;
pub mod majority;
pub mod misra_ring;
pub mod naimi_trehel;
pub mod nishio_li_manning;
mod quorum_request;
pub mod raymond;
mod renewal_requests;
pub mod repaired_ring;
pub mod ricart_agrawala;
pub mod suzuki_kasami;
pub mod token_ring;
pub mod tolerant_ricart_agrawala;
mod voter;

pub(crate) use generations::TokenGenerations;
pub(crate) use grant_queue::{Claim, GrantQueue, RequestId};
pub(crate) use renewal_requests::RenewalRequests;
pub use renewal_requests::{DeadlineSlot, LeaseDurations};
pub use voter::NumberedRequest;

crate::catalogue::members! {
    mutex, each_lock:
    "central" => central::Central;
    "token-ring" => token_ring::TokenRing;
    "lamport" => lamport::Lamport;
    "ricart-agrawala" => ricart_agrawala::RicartAgrawala;
    "carvalho-roucairol" => carvalho_roucairol::CarvalhoRoucairol;
    "maekawa" => maekawa::Maekawa;
    "suzuki-kasami" => suzuki_kasami::SuzukiKasami;
    "raymond" => raymond::Raymond;
    "naimi-trehel" => naimi_trehel::NaimiTrehel;
    "k-mutex" => k_mutex::KMutex;
    "dining-philosophers" => dining_philosophers::DiningPhilosophers;
    "misra-ring" => misra_ring::MisraRing;
    "repaired-ring" => repaired_ring::FaultTolerantTokenRing;
    "majority" => majority::FaultTolerantMaekawa;
    "nishio-li-manning" => nishio_li_manning::NishioLiManning;
    "tolerant-ricart-agrawala" => tolerant_ricart_agrawala::FaultTolerantRicartAgrawala;
    "dijkstra-ring" => dijkstra_ring::KStateTokenRing;
    "edge-chasing" => edge_chasing::EdgeChasing;
    "lease" => lease::LeaseMutex;
    "leased" => leased::SessionMutex;
}

//! What each paper claims, one claim a test; and the stories under `tests/golden`.
//!
//! The names W-05, 7-R6 and the like are those of `docs/checklist.md`.

mod bully;
mod carvalho_roucairol;
mod central;
mod chang_roberts;
mod coordinated;
mod dijkstra_ring;
mod dolev_klawe_rodeh;
mod edge_chasing;
mod election_from_mutex;
mod fifo;
mod franklin;
mod golden;
mod heartbeat;
mod hirschberg_sinclair;
mod in_turn;
mod itai_rodeh;
mod k_mutex;
mod keyed;
mod lamport;
mod lelann;
mod maekawa;
mod majority;
mod misra_ring;
mod mutex_from_election;
mod naimi_trehel;
mod nishio_li_manning;
mod phi_accrual;
mod raft;
mod raymond;
mod repaired_chang_roberts;
mod repaired_ring;
mod ricart_agrawala;
#[path = "../support/mod.rs"]
mod support;
mod suzuki_kasami;
mod token_ring;
mod tolerant_ricart_agrawala;
mod worked_examples;

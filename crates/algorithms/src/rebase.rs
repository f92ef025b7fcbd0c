//! What a checker may do about numbers that grow without end, where there is little to say.
//!
//! Protocols whose stamps can be shifted say so in their own files.

use tenure_core::{Election, Mutex, Office, Rebase};

use crate::channel::Fifo;
use crate::compose::{Coordinated, InTurn, MutexOnly};
use crate::election::{
    Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann, Raft,
    RepairedChangRoberts,
};
use crate::mutex::{
    Central, DijkstraRing, EdgeChasing, KMutex, Maekawa, Majority, MisraRing, NaimiTrehel,
    NishioLiManning, Raymond, RepairedRing, SuzukiKasami, TokenRing, TolerantRicartAgrawala,
};
use crate::reduction::{ElectionFromMutex, MutexFromElection, Ranked};

impl Rebase for Central {}
impl Rebase for DijkstraRing {}
impl Rebase for EdgeChasing {}
impl Rebase for KMutex {}
impl Rebase for Maekawa {}
impl Rebase for MisraRing {}
impl Rebase for NaimiTrehel {}
impl Rebase for Raymond {}
impl Rebase for SuzukiKasami {}
impl Rebase for TokenRing {}
impl Rebase for TolerantRicartAgrawala {}
impl Rebase for ChangRoberts {}
impl Rebase for HirschbergSinclair {}
impl Rebase for LeLann {}
impl Rebase for DolevKlaweRodeh {}
impl Rebase for Franklin {}

impl Rebase for Majority {
    fn term(&self) -> u64 {
        self.generation()
    }
}

impl Rebase for RepairedRing {
    fn term(&self) -> u64 {
        self.number()
    }
}

impl Rebase for NishioLiManning {
    fn term(&self) -> u64 {
        self.number()
    }
}

impl Rebase for Bully {
    fn term(&self) -> u64 {
        self.number()
    }
}

impl Rebase for RepairedChangRoberts {
    fn term(&self) -> u64 {
        self.number()
    }
}

impl Rebase for Raft {
    fn term(&self) -> u64 {
        self.term()
    }
}

impl<E: Election + Rebase> Rebase for Coordinated<E> {
    fn term(&self) -> u64 {
        self.election.term()
    }
}

impl<P: Office + Rebase> Rebase for MutexOnly<P> {
    fn term(&self) -> u64 {
        self.office().term()
    }
}

impl<P: Rebase> Rebase for Fifo<P> {
    fn term(&self) -> u64 {
        self.inner().term()
    }
}

impl<M: Mutex> Rebase for InTurn<M> {}

impl<M: Mutex + Rebase> Rebase for ElectionFromMutex<M> {}

impl<E: Ranked + Rebase> Rebase for MutexFromElection<E> {}

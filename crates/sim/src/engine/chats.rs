use tenure_core::{ProcessId, Stamped};

/// One message from user to user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chat {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    /// Its ticket of the trace, or its vector clock.
    pub(crate) tag: u32,
    /// The protocol's clock at the sender, where messages carry it.
    pub(crate) clock: Option<u64>,
}

/// The messages from user to user that are under way.
#[derive(Debug, Default)]
pub(crate) struct Chats {
    chats: Vec<Chat>,
    free: Vec<u32>,
}

impl Chats {
    /// Sends one off, and says under which number it will arrive.
    pub(crate) fn send(&mut self, chat: Chat) -> u32 {
        if let Some(place) = self.free.pop() {
            self.chats[place as usize] = chat;
            return place;
        }
        self.chats.push(chat);
        u32::try_from(self.chats.len() - 1).expect("fewer than 2^32 messages are under way")
    }

    /// One that is under way.
    pub(crate) fn look(&self, place: u32) -> Chat {
        self.chats[place as usize]
    }

    /// One has arrived.
    pub(crate) fn receive(&mut self, place: u32) -> Chat {
        self.free.push(place);
        self.chats[place as usize]
    }
}

/// How messages from user to user carry the protocol's clock.
#[derive(Debug)]
pub(crate) struct Stamping<P> {
    pub(crate) clock: fn(&P) -> u64,
    pub(crate) observe: fn(&mut P, u64),
}

impl<P: Stamped> Stamping<P> {
    pub(crate) const fn new() -> Self {
        Stamping { clock: P::clock, observe: P::observe }
    }
}

// Function pointers are copied whatever the protocol is.
impl<P> Clone for Stamping<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Stamping<P> {}

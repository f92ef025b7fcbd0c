//! Work that can wait.

/// How much less than the rest of a process a thread counts that was set back, in the units of
/// `nice`: it has a tenth of what another has that wants the same processor.
#[cfg(target_os = "linux")]
const BACK: i32 = 10;

/// Sets the calling thread back, for good: whoever wants the processor while it works on something
/// long has it at once. Where threads have no priority of their own, so but on Linux, nothing
/// happens, and so it does where the system refuses.
pub fn set_back() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(BACK);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn a_thread_is_set_back_and_no_other_is() {
        let priority = || getpriority_process(None).expect("a thread has a priority");
        let before = priority();
        let set_back = thread::spawn(move || {
            set_back();
            priority()
        });
        let set_back = set_back.join().expect("it ends");
        assert_eq!((set_back, priority()), ((before + BACK).min(19), before));
    }
}

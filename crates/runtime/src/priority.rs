//! Priority of background threads.

/// Amount that is added to the nice value of a background thread. Such a thread receives about a
/// tenth of the processor time of a normal thread.
#[cfg(target_os = "linux")]
const NICE_INCREMENT: i32 = 10;

/// Lowers the priority of the calling thread permanently. Call it in threads that compute for a
/// long time in the background.
///
/// Does nothing if the operating system refuses the change, or if the operating system is not
/// Linux. Only Linux has a priority for each thread.
pub fn lower_thread_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE_INCREMENT);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn lowers_priority_of_calling_thread_only() {
        let priority = || getpriority_process(None).expect("a thread has a priority");
        let before = priority();
        let lowered = thread::spawn(move || {
            lower_thread_priority();
            priority()
        });
        let lowered = lowered.join().expect("the thread ends");
        assert_eq!((lowered, priority()), ((before + NICE_INCREMENT).min(19), before));
    }
}

//! Scenarios of philosophers and of groups: locks in which only some processes exclude each other.

use crate::scenarios::observed;

#[test]
fn dining_philosophers() {
    let observed = observed("dining-philosophers");
    assert_eq!(observed["never_two_inside"], "violated");
    assert_eq!(observed["all_wait"], "violated");
}

#[test]
fn drinking_philosophers() {
    let observed = observed("drinking-philosophers");
    assert_eq!(observed["begin_at_once"], 2);
    assert_eq!(observed["all_wait"], "violated");
}

#[test]
fn congenial_philosophers() {
    assert_eq!(observed("congenial-philosophers")["most"], 12);
}

#[test]
fn leased_shares() {
    let observed = observed("leased-shares");
    assert_eq!(observed["opposite_orders"], "violated");
    assert_eq!(observed["two_upgrades"], "violated");
}

//! Scenarios of locks with permissions and of token-based locks.

use crate::scenarios::observed;
use serde_json::json;

#[test]
fn maekawa() {
    let observed = observed("maekawa");
    assert_eq!(observed["1985_p2_p3_and_p4_request_all_are_served"], "violated");
    assert_eq!(observed["corrected_all_are_served"], "holds");
}

#[test]
fn carvalho_roucairol() {
    assert_eq!(observed("carvalho-roucairol")["messages_of_a_process_that_has_all"], 0);
}

#[test]
fn k_mutex() {
    assert_eq!(observed("k-mutex")["never_two_inside"], "violated");
}

#[test]
fn tolerant_ricart_agrawala() {
    let observed = observed("tolerant-ricart-agrawala");
    assert_eq!(observed["one_inside"], "holds");
    assert_eq!(observed["p2_s_places"], json!(["(1, P2)", "(4, P2)"]));
}

#[test]
fn majority() {
    assert_eq!(observed("majority")["entries_with_two_of_five_down"], 3);
}

#[test]
fn suzuki_kasami() {
    assert_eq!(observed("suzuki-kasami -n 4")["requests"], 3);
}

#[test]
fn raymond() {
    assert_eq!(observed("raymond")["moves_of_the_token_on_the_path"], 4);
}

#[test]
fn naimi_trehel() {
    assert_eq!(observed("naimi-trehel")["requests"], 1);
}

#[test]
fn nishio_li_manning() {
    let observed = observed("nishio-li-manning");
    assert_eq!(observed["the_token_is_regenerated_all_are_served"], "holds");
    assert_eq!(observed["a_token_that_was_kept_one_inside"], "holds");
}

#[test]
fn misra_ring() {
    assert_eq!(observed("misra-ring")["all_are_served_when_both_are_lost"], "violated");
}

#[test]
fn repaired_ring() {
    let observed = observed("repaired-ring");
    assert_eq!(observed["all_survivors_are_served"], "holds");
    assert_eq!(observed["p3_s_numbers"], json!(["1", "3"]));
}

#[test]
fn dijkstra_ring() {
    assert_eq!(observed("dijkstra-ring")["all_are_served"], "holds");
}

#[test]
fn self_stabilization() {
    let observed = observed("self-stabilization");
    let moves = ["3_machines", "4_machines", "5_machines"].map(|name| observed[name].as_u64());
    assert_eq!(moves, [2, 13, 24].map(Some));
}

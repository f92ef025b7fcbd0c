//! The worked examples of locks by permissions and by a token.

use crate::scenarios::seen;
use serde_json::json;
use tenure_claims::claims;

#[claims("7-M3")]
#[test]
fn maekawa() {
    let seen = seen("maekawa");
    assert_eq!(seen["1985_p2_p3_and_p4_ask_all_are_served"], "violated");
    assert_eq!(seen["corrected_all_are_served"], "holds");
}

#[test]
fn carvalho_roucairol() {
    assert_eq!(seen("carvalho-roucairol")["messages_of_whoever_has_all"], 0);
}

#[test]
fn k_mutex() {
    assert_eq!(seen("k-mutex")["never_two_inside"], "violated");
}

#[test]
fn tolerant_ricart_agrawala() {
    let seen = seen("tolerant-ricart-agrawala");
    assert_eq!(seen["one_inside"], "holds");
    assert_eq!(seen["p2_s_places"], json!(["(1, P2)", "(4, P2)"]));
}

#[test]
fn majority() {
    assert_eq!(seen("majority")["entries_with_two_of_five_down"], 3);
}

#[test]
fn suzuki_kasami() {
    assert_eq!(seen("suzuki-kasami -n 4")["requests"], 3);
}

#[test]
fn raymond() {
    assert_eq!(seen("raymond")["moves_of_the_token_on_the_path"], 4);
}

#[test]
fn naimi_trehel() {
    assert_eq!(seen("naimi-trehel")["requests"], 1);
}

#[test]
fn nishio_li_manning() {
    let seen = seen("nishio-li-manning");
    assert_eq!(seen["the_token_is_made_anew_all_are_served"], "holds");
    assert_eq!(seen["a_token_that_was_kept_one_inside"], "holds");
}

#[test]
fn misra_ring() {
    assert_eq!(seen("misra-ring")["all_are_served_when_both_are_lost"], "violated");
}

#[test]
fn repaired_ring() {
    let seen = seen("repaired-ring");
    assert_eq!(seen["all_who_are_left_are_served"], "holds");
    assert_eq!(seen["p3_s_numbers"], json!(["1", "3"]));
}

#[test]
fn dijkstra_ring() {
    assert_eq!(seen("dijkstra-ring")["all_are_served"], "holds");
}

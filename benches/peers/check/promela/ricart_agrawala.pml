/* Ricart and Agrawala's lock, as crates/check/tests/check/textbook.rs has it: N processes enter E
 * times each. A step is one transition, so the states are those of the other tools. */

#ifndef N
#define N 3
#endif
#ifndef E
#define E 2
#endif
#define ALL ((1 << N) - 1)
#define TO(other) link[_pid * N + other]
#define FROM(other) link[other * N + _pid]

/* The control breaks no ties: two processes with the same clock reply to each other. */
#ifdef MISTAKE
#define TIE(other) false
#else
#define TIE(other) (_pid < other)
#endif

mtype:label = { request, reply };
mtype:position = { idle, waiting, entered };

/* A process has at most one request and one reply on a link. */
chan link[N * N] = [2] of { mtype:label, byte };
byte inside;

/* Variables of one step. They are no part of the state. */
hidden byte i;
hidden byte stamp;
hidden mtype:label kind;

/* Runs the statements between the two macros for each process i of a set. */
#define FOR_EACH(set) i = 0; do :: i < N -> if :: set & (1 << i) ->
#define END_EACH :: else fi; i++ :: else -> break od; i = 0

#define RECEIVE(other)                                                                      \
    :: d_step { FROM(other)?kind(stamp) ->                                                   \
        if                                                                                  \
        :: kind == request ->                                                               \
            if :: stamp > clock -> clock = stamp :: else fi;                                \
            if                                                                              \
            :: phase == entered || (phase == waiting                                        \
                && (own < stamp || (own == stamp && TIE(other)))) ->                        \
                deferred = deferred | (1 << other)                                          \
            :: else -> TO(other)!reply(0)                                                    \
            fi                                                                              \
        :: kind == reply && phase == waiting ->                                             \
            awaited = awaited & ~(1 << other);                                              \
            if                                                                              \
            :: awaited == 0 -> phase = entered; inside++; assert(inside == 1)               \
            :: else                                                                         \
            fi                                                                              \
        :: else                                                                             \
        fi;                                                                                 \
        kind = request; stamp = 0 }

active [N] proctype process() {
    mtype:position phase = idle;
    byte clock, own, awaited, deferred, left = E;
end:
    do
    :: d_step { phase == idle && left > 0 ->
        left--; clock++; own = clock; awaited = ALL & ~(1 << _pid); phase = waiting;
        FOR_EACH(awaited) TO(i)!request(own) END_EACH }
    :: d_step { phase == entered ->
        inside--; phase = idle; own = 0;
        FOR_EACH(deferred) TO(i)!reply(0) END_EACH;
        deferred = 0 }
    RECEIVE(0)
    RECEIVE(1)
#if N > 2
    RECEIVE(2)
#endif
#if N > 3
    RECEIVE(3)
#endif
    od
}

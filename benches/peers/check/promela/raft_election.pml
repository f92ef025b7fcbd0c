/* Raft's election of N processes without heartbeats, as src/protocols/raft_election.rs has it. The
 * election timeout of each process fires once, at any moment. */

#ifndef N
#define N 3
#endif
#define NONE 255
#define TO(other) link[_pid * N + other]
#define FROM(other) link[other * N + _pid]
#define COUNT(set) ((set & 1) + ((set >> 1) & 1) + ((set >> 2) & 1) + ((set >> 3) & 1) + ((set >> 4) & 1))

mtype:label = { request_vote, vote };
mtype:state = { follower, candidate, leader };

/* Knowledge of the user of a process about the election. */
mtype:knowledge = { nothing, awaited, informed };

/* A process sends one request, and one vote for the request of the other. */
chan link[N * N] = [2] of { mtype:label, byte, byte };

/* Term that each process leads; 0 if it does not lead. */
byte led[N];

/* Variables of one step. They are no part of the state. */
hidden byte i;
hidden byte number;
hidden byte granted;
hidden mtype:label kind;

#define UPDATE_TERM                                                                         \
    if                                                                                      \
    :: number > term ->                                                                     \
        if :: role == leader -> known = awaited; led[_pid] = 0 :: else fi;                  \
        term = number; voted_for = NONE; votes = 0; role = follower                         \
    :: else                                                                                 \
    fi

#define RECEIVE(other)                                                                      \
    :: d_step { FROM(other)?kind(number,granted) ->                                         \
        UPDATE_TERM;                                                                        \
        if                                                                                  \
        :: kind == request_vote ->                                                          \
            granted = (number == term && (voted_for == NONE || voted_for == other));        \
            if :: granted -> voted_for = other :: else fi;                                  \
            TO(other)!vote(term,granted)                                                    \
        :: kind == vote && role == candidate && granted && number == term ->                \
            votes = votes | (1 << other);                                                   \
            if                                                                              \
            :: 2 * COUNT(votes) > N ->                                                      \
                role = leader; votes = 0; known = informed; led[_pid] = term;               \
                i = 0;                                                                      \
                do                                                                          \
                :: i < N -> assert(i == _pid || led[i] != term); i++                        \
                :: else -> break                                                            \
                od                                                                          \
            :: else                                                                         \
            fi                                                                              \
        :: else                                                                             \
        fi;                                                                                 \
        i = 0; number = 0; granted = 0; kind = request_vote }

active [N] proctype process() {
    bool can_start = true;
    byte term, voted_for = NONE, votes;
    mtype:state role = follower;
    mtype:knowledge known = nothing;
end:
    do
    :: d_step { can_start ->
        can_start = false; known = awaited;
        if
        :: role != leader ->
            term++; voted_for = _pid; role = candidate; votes = (1 << _pid);
            i = 0;
            do
            :: i < N -> if :: i != _pid -> TO(i)!request_vote(term,0) :: else fi; i++
            :: else -> break
            od;
            i = 0
        :: else
        fi }
    RECEIVE(0)
    RECEIVE(1)
#if N > 2
    RECEIVE(2)
#endif
#if N > 3
    RECEIVE(3)
#endif
#if N > 4
    RECEIVE(4)
#endif
    od
}

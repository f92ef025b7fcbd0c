/* Chang and Roberts' election on a ring of N processes, as src/protocols/chang_roberts.rs has it. The
 * user of each process starts the election once, at any moment. */

#ifndef N
#define N 4
#endif
#define NONE 255
#define NEXT link[(_pid + 1) % N]
#define OWN link[_pid]

mtype:label = { election, elected };

/* Knowledge of the user of a process about the election. */
mtype:knowledge = { nothing, awaited, informed };

/* A process sends each of at most N numbers once or twice, and an announcement for each start. */
chan link[N] = [2 * N] of { mtype:label, byte };
byte leaders;

/* Variables of one step. They are no part of the state. */
hidden byte value;
hidden mtype:label kind;

#define ACCEPT(process)                                                                     \
    participant = false; known = informed;                                                  \
    if                                                                                      \
    :: process == _pid && leader != _pid -> leaders++; assert(leaders == 1)                 \
    :: process != _pid && leader == _pid -> leaders--                                       \
    :: else                                                                                 \
    fi;                                                                                     \
    leader = process

active [N] proctype process() {
    bool can_start = true, participant;
    byte leader = NONE;
    mtype:knowledge known = nothing;
end:
    do
    :: d_step { can_start ->
        can_start = false; known = awaited;
        if :: !participant -> participant = true; NEXT!election(_pid) :: else fi }
    :: d_step { OWN?kind(value) ->
        if
        :: kind == election && value > _pid -> participant = true; NEXT!election(value)
        :: kind == election && value == _pid -> ACCEPT(_pid); NEXT!elected(_pid)
        :: kind == election && value < _pid ->
            if :: !participant -> participant = true; NEXT!election(_pid) :: else fi
        :: kind == elected && value == _pid -> participant = false
        :: else -> ACCEPT(value); NEXT!elected(value)
        fi;
        kind = election; value = 0 }
    od
}

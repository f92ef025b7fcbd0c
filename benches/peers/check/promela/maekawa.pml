/* Maekawa's lock with the correction of Sanders, as src/protocols/maekawa.rs has it: N processes enter
 * E times each. A message of a process to itself is handled in the same step. */

#ifndef N
#define N 3
#endif
#ifndef E
#define E 1
#endif
#define NONE 255
#if N == 4
#define QUORUM ((1 << _pid) | (1 << (_pid ^ 1)) | (1 << (_pid ^ 2)))
#else
#define QUORUM ((1 << _pid) | (1 << ((_pid + 1) % N)))
#endif
#define FROM(other) link[other * N + _pid]

mtype:label = { request, locked, failing, inquire, relinquish, release };
mtype:position = { idle, waiting, entered };

chan link[N * N] = [4] of { mtype:label, byte };
byte inside;

/* Messages of a process to itself, in one step. */
hidden mtype:label local_kind[8];
hidden byte local_value[8];
hidden byte head;
hidden byte tail;

/* Variables of one step. They are no part of the state. */
hidden byte i;
hidden byte first;
hidden byte set;
hidden byte from;
hidden byte value;
hidden mtype:label kind;

#define SEND(to, label, number)                                                             \
    if                                                                                      \
    :: to == _pid -> local_kind[tail] = label; local_value[tail] = number; tail++           \
    :: else -> link[_pid * N + to]!label(number)                                            \
    fi

#define SEND_QUORUM(label, number)                                                          \
    i = 0;                                                                                  \
    do                                                                                      \
    :: i < N -> if :: QUORUM & (1 << i) -> SEND(i, label, number) :: else fi; i++           \
    :: else -> break                                                                        \
    od

/* Finds the first waiting request. */
#define FIND_FIRST                                                                          \
    first = NONE; i = 0;                                                                    \
    do                                                                                      \
    :: i < N ->                                                                             \
        if                                                                                  \
        :: queue[i] != 0 && first == NONE -> first = i                                      \
        :: queue[i] != 0 && first != NONE && queue[i] < queue[first] -> first = i           \
        :: else                                                                             \
        fi;                                                                                 \
        i++                                                                                 \
    :: else -> break                                                                        \
    od

/* Gives the vote to the first waiting request, after it was returned. */
#define VOTE                                                                                \
    has_inquired = false;                                                                   \
    FIND_FIRST;                                                                             \
    if                                                                                      \
    :: first == NONE -> holder = NONE; holder_clock = 0                                     \
    :: else ->                                                                              \
        holder = first; holder_clock = queue[first]; queue[first] = 0;                      \
        SEND(first, locked, 0)                                                              \
    fi

#define ON_REQUEST                                                                          \
    if :: value > clock -> clock = value :: else fi;                                        \
    if                                                                                      \
    :: holder == NONE -> queue[from] = value; VOTE                                          \
    :: else ->                                                                              \
        FIND_FIRST;                                                                         \
        queue[from] = value;                                                                \
        if                                                                                  \
        :: value > holder_clock || (value == holder_clock && from > holder) ->              \
            SEND(from, failing, 0)                                                          \
        :: else ->                                                                          \
            if                                                                              \
            :: first != NONE && (queue[first] < value                                       \
                || (queue[first] == value && first < from)) ->                              \
                SEND(from, failing, 0)                                                      \
            :: else ->                                                                      \
                if                                                                          \
                :: first != NONE && (queue[first] < holder_clock                            \
                    || (queue[first] == holder_clock && first < holder)) ->                 \
                    SEND(first, failing, 0)                                                 \
                :: else                                                                     \
                fi;                                                                         \
                if                                                                          \
                :: !has_inquired ->                                                         \
                    has_inquired = true;                                                    \
                    SEND(holder, inquire, holder_clock)                                     \
                :: else                                                                     \
                fi                                                                          \
            fi                                                                              \
        fi                                                                                  \
    fi

/* Returns the votes that were asked back, once another voter has failed this process. */
#define RELINQUISH                                                                          \
    if                                                                                      \
    :: failed != 0 ->                                                                       \
        set = inquired; inquired = 0;                                                       \
        votes = votes & ~set; failed = failed | set;                                        \
        i = 0;                                                                              \
        do                                                                                  \
        :: i < N -> if :: set & (1 << i) -> SEND(i, relinquish, 0) :: else fi; i++          \
        :: else -> break                                                                    \
        od                                                                                  \
    :: else                                                                                 \
    fi

#define HANDLE                                                                              \
    if                                                                                      \
    :: kind == request -> ON_REQUEST                                                        \
    :: kind == relinquish -> queue[holder] = holder_clock; VOTE                             \
    :: kind == release -> VOTE                                                              \
    :: kind == locked && phase == waiting ->                                                \
        votes = votes | (1 << from); failed = failed & ~(1 << from);                        \
        if                                                                                  \
        :: votes == QUORUM ->                                                               \
            phase = entered; own = 0; votes = 0; failed = 0; inquired = 0;                  \
            inside++; assert(inside == 1)                                                   \
        :: else                                                                             \
        fi                                                                                  \
    :: kind == failing && phase == waiting -> failed = failed | (1 << from); RELINQUISH     \
    :: kind == inquire && phase == waiting && own == value ->                               \
        inquired = inquired | (1 << from); RELINQUISH                                       \
    :: else                                                                                 \
    fi

/* Handles the messages of the process to itself. */
#define HANDLE_LOCAL                                                                        \
    do                                                                                      \
    :: head < tail ->                                                                       \
        kind = local_kind[head]; value = local_value[head]; from = _pid; head++;            \
        HANDLE                                                                              \
    :: else -> break                                                                        \
    od;                                                                                     \
    head = 0; tail = 0; i = 0; first = 0; set = 0; from = 0; value = 0; kind = request

#define RECEIVE(other)                                                                      \
    :: d_step { FROM(other)?kind(value) -> from = other; HANDLE; HANDLE_LOCAL }

active [N] proctype process() {
    byte clock, own, votes, failed, inquired, left = E;
    byte holder = NONE, holder_clock;
    byte queue[N];
    bool has_inquired;
    mtype:position phase = idle;
end:
    do
    :: d_step { phase == idle && left > 0 ->
        left--; clock++; own = clock; phase = waiting;
        SEND_QUORUM(request, own); HANDLE_LOCAL }
    :: d_step { phase == entered ->
        inside--; phase = idle;
        SEND_QUORUM(release, 0); HANDLE_LOCAL }
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

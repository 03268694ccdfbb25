/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beats.pml: commands at heartbeats, their answers, and the effects of a restart of the conductor or of a
 * node (docs/nettick.md). test_beats.py has spin try every order of every step. docs/models.md says what is
 * checked, what is left out, and how to run spin by hand. The names are those of the code:
 *
 *      in the model                in the code
 *      struct frame                struct beat, with the numbers of its commands (kernel/beat/beat_frame.h)
 *      welcome                     for each node the start that the beat welcomes (kernel/beat/welcome.h)
 *      struct reply                struct answer (kernel/beat/answer_frame.h)
 *      beat_order_take, order_*    the same, struct beat_order (kernel/beat/beat_frame.c)
 *      beat_hear                   nettick_frame: CPU 0, interrupts off (kernel/beat/nettick.c)
 *      process cpu                 nettick_interrupt of another CPU, after arch_beat_send; of each CPU if
 *                                  beats are polled (arch_beat_send(true)): CPU 0 then does nothing at once
 *      accepted, head, ring_*      commands that CPU 0 has passed on, and the ring, which has room for ROOM
 *      tail, done_epoch, done      of each CPU: how many commands it has taken, and the last it has done
 *      conductor, operator         beat_send (service/conductor/beats.c), and the user of conductorctl
 *      registry_take               what the conductor does with an answer
 *      tells, epoch_raise          beat_order_passes_over (kernel/beat/beat_frame.c); service/conductor/epochs.c
 *
 * The adversary is the wire: it holds two beats and two answers, any of those that were sent, and delivers
 * them late, in any order, any number of times, or never. It cannot make frames, because frames have tags.
 *
 * Commands of an epoch: 1 stops the node, the last one continues it; both are acknowledged. If there are
 * three, the second is one-way: it is dropped after any number of beats. -DSET_BACK: the conductor restarts once,
 * with its clock set back, in epoch 1 after 2; a node that follows 2 says so. -DPROGRESS checks that what must
 * happen does: the wire loses at most LOSSES frames in a row, there are as many beats as necessary, and the
 * conductor is started EPOCHS times. One more -D, such as TAKE_LATE, puts one fault into the protocol: spin
 * must find it. test_beats.py lists them.
 */

/* ---- Sizes ---- */

#ifndef NODES
#define NODES 1
#endif
#ifndef COMMANDS
#define COMMANDS 2
#endif
#ifndef EPOCHS
#define EPOCHS 2 /* starts of the conductor */
#endif
#ifndef STARTS
#define STARTS 1 /* starts of a node */
#endif
#ifndef BEATS
#define BEATS 4 /* in each epoch */
#endif
#ifndef ROOM
#define ROOM 1
#endif
#define LOSSES 1
#define CPUS   2
#if defined(PROGRESS) && !defined(WELCOMED_ONCE)
#define WELCOME_BEATS (LOSSES + 1)
#else
#define WELCOME_BEATS 1 /* enough: the safety properties do not depend on more */
#endif

#define STOP          1
#define CONTINUE      COMMANDS
#define IS_ONE_WAY(k) ((k) != STOP && (k) != CONTINUE)
#define BIT(number)   (1 << (number))
/* Sets of commands: of one epoch, then of all epochs. */
#define ONE_WAY            (COMMANDS == 3 -> BIT(2) : 0)
#define COMMAND(epoch, k)  BIT(((epoch) - 1) * COMMANDS + (k) - 1)
#define LATER(e, k, e2, k2) ((e) > (e2) || ((e) == (e2) && (k) > (k2)))

/* ---- The wire ---- */

typedef frame {
    byte epoch; /* 0: no frame */
    byte sequence;
    byte commands;
    byte welcome[NODES]
}

typedef reply {
    byte from, start;
    byte epoch; /* 0: no reply */
    byte sequence;
    byte done;
    bit welcomed;
    byte follows /* SET_BACK: the newer epoch that its node follows; 0: it follows that of the beat */
}

#ifdef PROGRESS
frame beats[NODES]; /* for each node the newest one that was not lost */
reply answers[NODES];
byte lost_beats[NODES], lost_answers[NODES];
#else
#define KEPT  0
#define FRESH 1
frame beats[2];
reply answers[2];
#endif

/* ---- The conductor ---- */

#ifdef SET_BACK
byte epoch = 2, sequence;
#else
byte epoch = 1, sequence;
#endif
#ifdef SAME_EPOCH
#define EPOCH_SENT 1
#else
#define EPOCH_SENT epoch
#endif
byte number;      /* of the last command */
byte waiting;     /* the command that waits for acknowledgement; 0: none */
byte outstanding; /* the set of commands that each beat carries */
byte completed;   /* only in the model: the last command that counts as acknowledged */

typedef registration {
    byte start; /* 0: it has not answered */
    byte sequence, done;
    byte since;       /* known_since */
    byte due;         /* beats that are to welcome it (service/conductor/welcomes.h) */
    byte newest_start /* only in the model: the newest start that an answer has named */
}
registration registry[NODES];

/* ---- Nodes ---- */

typedef compute_node {
    byte start = 1;
    byte order_epoch, order_sequence;
    byte accepted;
    bit welcomed;
    byte head;
    byte ring_epoch[ROOM], ring_number[ROOM];
    byte tail[CPUS], done_epoch[CPUS], done[CPUS];
    bit stopped[CPUS];
    /* Only in the model: the last beat heard, each CPU's last command, all commands done by each CPU in each
     * start, and the last beat sent before this start. */
    byte heard_epoch, heard_sequence;
    byte last_epoch[CPUS], last_number[CPUS];
    byte executed[STARTS * CPUS];
    byte born_epoch, born_sequence
}
compute_node nodes[NODES];

#define NODE        nodes[n]
#define HISTORY(s, c) NODE.executed[((s) - 1) * CPUS + (c)]

/* ---- What a CPU does with commands ---- */

inline execute(c)
{
    k_epoch = NODE.ring_epoch[NODE.tail[c] % ROOM];
    k = NODE.ring_number[NODE.tail[c] % ROOM];
    /* Once. */
    assert(!(HISTORY(NODE.start, c) & COMMAND(k_epoch, k)));
    /* In order. */
    assert(LATER(k_epoch, k, NODE.last_epoch[c], NODE.last_number[c]));
    /* Once the user was told that all have continued, no CPU stops. */
    assert(k != STOP || completed < CONTINUE);
    NODE.last_epoch[c] = k_epoch;
    NODE.last_number[c] = k;
    HISTORY(NODE.start, c) = HISTORY(NODE.start, c) | COMMAND(k_epoch, k);
    if
    :: k == STOP -> NODE.stopped[c] = 1
    :: k == CONTINUE -> NODE.stopped[c] = 0
    :: else
    fi;
    k_epoch = 0;
    k = 0
}

/* Publishes the command for answers; its entry may be overwritten from then on. */
inline publish(c)
{
    NODE.done_epoch[c] = NODE.ring_epoch[NODE.tail[c] % ROOM];
    NODE.done[c] = NODE.ring_number[NODE.tail[c] % ROOM];
    NODE.tail[c]++
}

proctype cpu(byte n)
{
    byte k, k_epoch, start;

end_cpu:
    do
    :: atomic {
#ifdef DONE_EARLY
        NODE.tail[1] < NODE.head ->
        start = NODE.start;
        NODE.done_epoch[1] = NODE.ring_epoch[NODE.tail[1] % ROOM];
        NODE.done[1] = NODE.ring_number[NODE.tail[1] % ROOM]
#else
        NODE.tail[1] < NODE.head ->
        start = NODE.start;
        execute(1)
#endif
    };
    atomic {
        if
        :: start == NODE.start ->
#ifdef DONE_EARLY
            execute(1);
#endif
            publish(1)
        :: else /* the node has restarted meanwhile */
        fi;
        start = 0
    }
    od
}

/* ---- What CPU 0 does with a beat ---- */

#ifdef FORGET_EPOCH
#define IS_NEWER(f) (f.epoch != NODE.order_epoch || f.sequence > NODE.order_sequence)
#elif defined(TAKE_LATE)
#define IS_NEWER(f) (f.epoch >= NODE.order_epoch)
#elif defined(TAKE_DUPLICATES)
#define IS_NEWER(f) (!LATER(NODE.order_epoch, NODE.order_sequence, f.epoch, f.sequence))
#elif defined(PROGRESS) && defined(SET_BACK)
#define IS_NEWER(f) (f.epoch >= NODE.order_epoch)
#elif defined(PROGRESS)
#define IS_NEWER(f) true /* here the wire delivers only newer ones */
#else
#define IS_NEWER(f) LATER(f.epoch, f.sequence, NODE.order_epoch, NODE.order_sequence)
#endif

inline beat_order_take(f)
{
    if
    :: IS_NEWER(f) ->
#ifndef NUMBER_KEPT
        if :: f.epoch != NODE.order_epoch -> NODE.accepted = 0 :: else fi;
#endif
        if :: f.epoch != NODE.order_epoch -> NODE.welcomed = 0 :: else fi;
        if :: f.welcome[n] == NODE.start -> NODE.welcomed = 1 :: else fi;
        NODE.order_epoch = f.epoch;
        NODE.order_sequence = f.sequence;
        commands = f.commands
    :: else ->
#ifndef NOT_TOLD
        if :: f.epoch < NODE.order_epoch -> tells = f.epoch :: else fi
#else
        skip
#endif
    fi
}

#ifdef UNWELCOMED_OBEYS
#define OBEYS true
#else
#define OBEYS NODE.welcomed
#endif

inline beat_hear(slot)
{
    beat_order_take(beats[slot]);
#ifdef PROGRESS
    beats[slot].epoch = 0;
    beats[slot].sequence = 0;
    beats[slot].commands = 0
#else
    is_newest = LATER(beats[slot].epoch, beats[slot].sequence, NODE.heard_epoch, NODE.heard_sequence);
    if
    :: is_newest -> NODE.heard_epoch = beats[slot].epoch; NODE.heard_sequence = beats[slot].sequence
    :: else
    fi
#endif
}

#ifdef WITHOUT_ROOM
#define HAS_ROOM true
#else
#define HAS_ROOM (NODE.head - NODE.tail[0] < ROOM && NODE.head - NODE.tail[1] < ROOM)
#endif

#ifdef AT_REPEAT
#define IS_NEW(k) true
#else
#define IS_NEW(k) ((k) > NODE.accepted)
#endif

/* Accepts one command of a beat. If there is no room for it, those after it wait, too. */
inline command_accept()
{
    if
    :: (commands & BIT(k)) && IS_NEW(k) && HAS_ROOM ->
        assert(is_newest); /* late and duplicate beats execute nothing */
        /* Nor do beats that were recorded before the node's start. */
        assert(LATER(NODE.order_epoch, NODE.order_sequence, NODE.born_epoch, NODE.born_sequence));
        NODE.ring_epoch[NODE.head % ROOM] = NODE.order_epoch;
        NODE.ring_number[NODE.head % ROOM] = k;
        NODE.head++;
        NODE.accepted = k;
#ifdef ANSWER_ONCE
        answers_this = true;
#endif
        k++
    :: (commands & BIT(k)) && IS_NEW(k) && !HAS_ROOM ->
#ifdef REFUSED_ACCEPTED
        NODE.accepted = k;
#endif
#ifdef SKIP_REFUSED
        k++
#else
        k = COMMANDS + 1
#endif
    :: else -> k++
    fi
}

#ifdef DONE_WITHOUT_EPOCH
#define DONE_BY(c) NODE.done[c]
#else
#define DONE_BY(c) (NODE.done_epoch[c] == NODE.order_epoch -> NODE.done[c] : 0)
#endif

#ifdef ACK_EARLY
#define DONE DONE_BY(0)
#else
#define DONE (DONE_BY(0) < DONE_BY(1) -> DONE_BY(0) : DONE_BY(1))
#endif

inline answer_put(slot)
{
    answers[slot].from = n;
    answers[slot].start = NODE.start;
    answers[slot].epoch = (tells -> tells : NODE.order_epoch);
    answers[slot].sequence = NODE.order_sequence;
    answers[slot].done = (tells -> 0 : DONE);
    answers[slot].welcomed = (tells -> 0 : NODE.welcomed);
    answers[slot].follows = (tells -> NODE.order_epoch : 0)
}

inline answer_send()
{
#ifdef PROGRESS
    if
    :: lost_answers[n] < LOSSES -> lost_answers[n]++
    :: lost_answers[n] = 0; answer_put(n)
    fi
#else
    if
    ::  answers[KEPT].from = answers[FRESH].from;
        answers[KEPT].start = answers[FRESH].start;
        answers[KEPT].epoch = answers[FRESH].epoch;
        answers[KEPT].sequence = answers[FRESH].sequence;
        answers[KEPT].done = answers[FRESH].done;
        answers[KEPT].welcomed = answers[FRESH].welcomed;
        answers[KEPT].follows = answers[FRESH].follows;
        answer_put(FRESH)
    :: answer_put(FRESH)
    :: skip /* lost */
    fi
#endif
}

inline node_restart()
{
    NODE.start++;
    NODE.order_epoch = 0;
    NODE.order_sequence = 0;
    NODE.accepted = 0;
    NODE.welcomed = 0;
    NODE.head = 0;
    for (k : 0 .. ROOM - 1) {
        NODE.ring_epoch[k] = 0;
        NODE.ring_number[k] = 0
    }
    for (k : 0 .. CPUS - 1) {
        NODE.tail[k] = 0;
        NODE.done_epoch[k] = 0;
        NODE.done[k] = 0;
        NODE.stopped[k] = 0;
        NODE.last_epoch[k] = 0;
        NODE.last_number[k] = 0
    }
    k = 0;
    NODE.heard_epoch = 0;
    NODE.heard_sequence = 0;
    NODE.born_epoch = epoch;
    NODE.born_sequence = sequence
}

proctype node(byte n)
{
    byte k, k_epoch, commands, tells;
    bool is_newest = true, answers_this;

end_node:
    do
    ::  atomic {
#ifdef PROGRESS
            beats[n].epoch != 0;
            beat_hear(n);
#else
            if
            :: beats[KEPT].epoch != 0 -> beat_hear(KEPT)
            :: beats[FRESH].epoch != 0 -> beat_hear(FRESH)
            fi;
#endif
            k = 1
        };
        do
        :: k <= COMMANDS && OBEYS -> atomic { command_accept() }
        :: else -> break
        od;
        do
        :: atomic { NODE.tail[0] < NODE.head -> execute(0); publish(0) }
        :: NODE.tail[0] == NODE.head -> break
        od;
        atomic {
            if
#ifdef ANSWER_ONCE
            :: answers_this -> answer_send()
#else
            :: (commands & ~ONE_WAY) || tells -> answer_send()
#endif
            :: else
            fi;
            k = 0;
            commands = 0;
            tells = 0;
            is_newest = true;
            answers_this = false
        }
    ::  atomic { n == 0 && NODE.start < STARTS -> node_restart() } /* the nodes are alike: one is enough */
    od
}

/* ---- What the conductor does ---- */

#ifdef WELCOME_ANY_START
#define WELCOME(n) (registry[n].due -> STARTS : 0)
#else
#define WELCOME(n) (registry[n].due -> registry[n].start : 0)
#endif

inline beat_put(slot)
{
    beats[slot].epoch = EPOCH_SENT;
    beats[slot].sequence = sequence;
    beats[slot].commands = outstanding;
    beats[slot].welcome[0] = WELCOME(0)
#if NODES == 2
    ;
    beats[slot].welcome[1] = WELCOME(1)
#endif
}

inline beat_send()
{
#ifdef PROGRESS
    for (i : 0 .. NODES - 1) {
        if
        :: lost_beats[i] < LOSSES -> lost_beats[i]++
        :: lost_beats[i] = 0; beat_put(i)
        fi
    }
    i = 0;
#else
    sequence++;
    if
    ::  beats[KEPT].epoch = beats[FRESH].epoch;
        beats[KEPT].sequence = beats[FRESH].sequence;
        beats[KEPT].commands = beats[FRESH].commands;
        beats[KEPT].welcome[0] = beats[FRESH].welcome[0];
#if NODES == 2
        beats[KEPT].welcome[1] = beats[FRESH].welcome[1];
#endif
        beat_put(FRESH)
    :: beat_put(FRESH)
    :: skip /* lost */
    fi;
#endif
    registry[0].due = (registry[0].due -> registry[0].due - 1 : 0);
#if NODES == 2
    registry[1].due = (registry[1].due -> registry[1].due - 1 : 0);
#endif
#ifdef SENT_ONCE
    outstanding = 0
#endif
}

/* For the conductor, a node that has not answered has done nothing. */
#ifdef REGISTRY_EMPTY
#define HAS_DONE(n) (registry[n].start == 0 || registry[n].done >= waiting)
#else
#define HAS_DONE(n) (registry[n].done >= waiting)
#endif
#if NODES == 1
#define ALL_HAVE_DONE HAS_DONE(0)
#elif defined(COMPLETE_BY_ONE)
#define ALL_HAVE_DONE (HAS_DONE(0) || HAS_DONE(1))
#else
#define ALL_HAVE_DONE (HAS_DONE(0) && HAS_DONE(1))
#endif

/* Counts a command as acknowledged. Each CPU of each node must have done it, in the newest start known. */
inline command_complete()
{
    for (n : 0 .. NODES - 1) {
        assert(registry[n].start != 0 && registry[n].start == registry[n].newest_start);
        assert(HISTORY(registry[n].start, 0) & HISTORY(registry[n].start, 1) & COMMAND(epoch, waiting));
        assert(waiting != CONTINUE || (!NODE.stopped[0] && !NODE.stopped[1]))
    }
    n = 0;
    completed = waiting;
    outstanding = outstanding & ~BIT(waiting);
    waiting = 0
}

#ifdef OLD_ANSWERS_COUNT
#define IS_OF_EPOCH(a) true
#else
#define IS_OF_EPOCH(a) (a.epoch == EPOCH_SENT)
#endif

/* Only answers that are newer than all before them count. */
#ifdef PROGRESS
#define IS_LAST(a) true
#else
#define IS_LAST(a) (a.sequence > registry[a.from].sequence)
#endif

/* An answer of another start than the node's last one counts only if it is to a beat that was sent after the
 * first answer of the last start came. */
#if defined(STARTS_UNORDERED) || STARTS == 1
#define IS_OF_START(a) true
#else
#define IS_OF_START(a) \
    (a.start == registry[a.from].start || registry[a.from].start == 0 || a.sequence > registry[a.from].since)
#endif

inline epoch_begin(next)
{
    epoch = next;
    sequence = 0;
    number = 0;
    waiting = 0;
    outstanding = 0;
    completed = 0;
    for (n : 0 .. NODES - 1) {
        registry[n].start = 0;
        registry[n].sequence = 0;
        registry[n].done = 0;
        registry[n].since = 0;
        registry[n].due = 0;
        registry[n].newest_start = 0
    }
    n = 0
}

#ifdef SET_BACK
#define MAY_RESTART (epoch == 2)
#define conductor_restart() epoch_begin(1)
#ifdef TOLD_BY_RECORDING
#define IS_TOLD(a) true
#else
#define IS_TOLD(a) (a.epoch == epoch)
#endif
#ifdef RAISED_TO_THE_SAME
#define ABOVE(follows) (follows)
#else
#define ABOVE(follows) ((follows) + 1)
#endif

inline epoch_raise(a)
{
    if
    :: IS_TOLD(a) ->
        assert(epoch < EPOCHS); /* once: no recording raises it again */
        epoch_begin(ABOVE(a.follows))
    :: else
    fi
}

#else
#define MAY_RESTART (epoch < EPOCHS)
#define conductor_restart() epoch_begin(epoch + 1)
#endif

inline registry_take(a)
{
    if
#ifdef SET_BACK
    :: a.follows -> epoch_raise(a)
#endif
    :: !a.follows && IS_OF_EPOCH(a) && IS_LAST(a) && IS_OF_START(a) ->
#if STARTS > 1
        if
        :: a.start != registry[a.from].start -> registry[a.from].since = sequence
        :: else
        fi;
#endif
        registry[a.from].sequence = a.sequence;
#ifdef ANY_START
        registry[a.from].done = (a.done > registry[a.from].done -> a.done : registry[a.from].done);
#else
        registry[a.from].done = a.done;
#endif
        registry[a.from].start = a.start;
        registry[a.from].due = (a.welcomed -> 0 : WELCOME_BEATS);
        if
        :: a.start > registry[a.from].newest_start -> registry[a.from].newest_start = a.start
        :: else
        fi
    :: else
    fi;
    if
    :: waiting && ALL_HAVE_DONE -> command_complete()
    :: else
    fi
}

#ifdef PROGRESS

/* Each part is a process: a process that can always go on does so in the end (weak fairness). */
proctype conductor_beats()
{
    byte i;

end_beats:
    do
    :: atomic { beats[0].epoch == 0 -> beat_send() } /* one not lost is heard before the next */
    od
}

proctype conductor_answers(byte source)
{
    byte n;

end_answers:
    do
    :: atomic {
        answers[source].epoch != 0 ->
        registry_take(answers[source]);
        answers[source].epoch = 0;
        answers[source].start = 0;
        answers[source].done = 0;
        answers[source].welcomed = 0;
        answers[source].follows = 0
    }
    od
}

proctype conductor_restarts()
{
    byte n;

    do
    :: atomic { MAY_RESTART -> conductor_restart() }
    :: !MAY_RESTART -> break
    od
}

ltl all_commands_complete { <>(!MAY_RESTART && completed == COMMANDS) }

#else

proctype conductor()
{
    byte n;

end_conductor:
    do
    :: atomic { sequence < BEATS -> beat_send() }
    :: atomic { answers[KEPT].epoch != 0 -> registry_take(answers[KEPT]) }
    :: atomic { answers[FRESH].epoch != 0 -> registry_take(answers[FRESH]) }
    :: atomic { MAY_RESTART -> conductor_restart() }
    od
}

#endif

proctype operator()
{
end_operator:
    do
    :: atomic {
        number < COMMANDS && !IS_ONE_WAY(number + 1) && waiting == 0 ->
        number++;
        waiting = number;
        outstanding = outstanding | BIT(number)
    }
#if COMMANDS == 3
    :: atomic { number == 1 -> number = 2; outstanding = outstanding | BIT(2) }
    :: atomic { outstanding & BIT(2) -> outstanding = outstanding & ~BIT(2) }
#endif
    od
}

init
{
    byte i;

    atomic {
        for (i : 0 .. NODES - 1) {
#ifdef KNOWN /* nodes are welcomed before the first command */
            nodes[i].order_epoch = 1;
            nodes[i].welcomed = 1;
#endif
            run node(i);
            run cpu(i);
#ifdef PROGRESS
            run conductor_answers(i)
#endif
        }
        i = 0;
        run operator();
#ifdef PROGRESS
        run conductor_beats();
        run conductor_restarts()
#else
        run conductor()
#endif
    }
}

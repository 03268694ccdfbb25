/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frame.c: the frame on the program's stack while a signal's handler runs, and the return from it.
 *
 * The layout is Linux's, because handlers read it, change it, and unwind through it. From the handler's stack
 * pointer upwards: the least frame that a function has, for the handler to store in; the user context; room
 * for instructions that old kernels put there; the siginfo; and what a function may use below its own frame.
 * The handler begins and returns in the vDSO (vdso/entries.S), whatever sa_restorer says.
 *
 * The vector registers pass through a buffer, the thread's struct arch_context, on their way to and from the
 * stack. Of the machine state register nothing is taken from the program: it keeps what it has.
 *
 * Runs on the thread's own CPU, interrupts off. Sources: Linux's arch/powerpc/include/uapi/asm/{sigcontext,
 * ucontext,ptrace}.h (facts of the interface); ELF V2 ABI §2.2.2.
 */
#include "arch/setup.h"
#include "arch/trap.h"
#include "arch/vdso.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/thread.h"

#define RED_ZONE_BYTES    512
#define CALLER_BYTES      128
#define ONLY_SUMMARY_BITS 0xffffffffULL

/* Places in machine_context.general, after the 32 general registers. */
enum {
    AT_INSTRUCTION = 32,
    AT_MACHINE_STATE,
    AT_ARGUMENT,
    AT_COUNTER,
    AT_LINK,
    AT_XER,
    AT_CONDITION,
    AT_INTERRUPTS, /* Linux's own: 1, interrupts are on */
    AT_VECTOR,
    AT_ADDRESS,
    AT_STATUS,
    AT_RESULT,
};

struct machine_context {
    uint64_t unused[4];
    int32_t signal, padding;
    uint64_t handler, old_mask;
    uint64_t registers; /* the address of: */
    uint64_t general[48];
    uint64_t floating[32], floating_status;
    uint64_t vectors; /* the address of, 16-byte aligned: */
    uint64_t padding_of_vectors;
    uint64_t vector[32][2];
    uint64_t vector_status[2];
    uint64_t vector_mask[2]; /* VRSAVE */
    uint64_t lower_halves[32];
};

struct user_context {
    uint64_t flags, link;
    struct signal_stack stack;
    uint64_t mask, mask_unused[15];
    struct machine_context machine;
};

struct handler_frame {
    struct user_context context;
    uint64_t unused[2];
    uint32_t instructions[7];
    uint64_t info_address, context_address;
    struct linux_siginfo info;
    uint8_t red_zone[RED_ZONE_BYTES];
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct machine_context) == 1528, "Linux's struct sigcontext");
_Static_assert(sizeof(struct user_context) == 1696, "Linux's struct ucontext");
_Static_assert((offsetof(struct handler_frame, context.machine.vector) & 15) == 0, "v_regs is aligned");
_Static_assert(CALLER_BYTES + sizeof(struct handler_frame) == SIGNAL_FRAME_BYTES, "AT_MINSIGSTKSZ");

/* Returns the buffer that vector_state_save fills. */
static struct vector_state *bounce(void)
{
    return &arch_thread()->context.vectors;
}

/* ---- Into the handler ---- */

/* Stores the vector registers. A handler shares them with what it interrupts, except the status of floating
 * point, which is 0. */
static void vectors_store(struct machine_context *m)
{
    struct vector_state *state = bounce();

    vector_state_save(state);
    for (unsigned i = 0; i < 32; i++) {
        m->floating[i] = state->scalar[i][1];
        m->lower_halves[i] = state->scalar[i][0];
    }
    memcpy(m->vector, state->vector, sizeof(m->vector));
    memcpy(m->vector_status, state->vector_status, sizeof(m->vector_status));
    m->floating_status = state->floating_status;
    m->vector_mask[0] = state->vector_mask;
    state->floating_status = 0;
    vector_state_restore(state);
}

static void general_store(struct machine_context *m, const struct trap_frame *f)
{
    memcpy(m->general, f->gpr, sizeof(f->gpr));
    m->general[AT_INSTRUCTION] = f->instruction;
    m->general[AT_MACHINE_STATE] = f->msr;
    m->general[AT_ARGUMENT] = f->argument;
    m->general[AT_COUNTER] = f->counter;
    m->general[AT_LINK] = f->link;
    m->general[AT_XER] = f->xer;
    m->general[AT_CONDITION] = f->condition;
    m->general[AT_INTERRUPTS] = 1;
    m->general[AT_VECTOR] = f->vector;
    m->general[AT_ADDRESS] = f->address;
    m->general[AT_STATUS] = f->status;
}

/* Returns the frame's address, or 0 if it does not fit on the alternate stack. */
static uint64_t place_find(const struct trap_frame *f, const struct arch_signal *signal)
{
    const struct signal_stack *alternate = signal->stack;
    uint64_t top = f->gpr[1];
    bool on_alternate = signal_stack_holds(alternate, top) && !(alternate->flags & SS_AUTODISARM);

    if (signal->on_alternate && alternate->bytes && !on_alternate) {
        top = alternate->base + alternate->bytes;
        on_alternate = true;
    }
    const uint64_t place = (top - sizeof(struct handler_frame)) & -16ULL;
    return on_alternate && !signal_stack_holds(alternate, place - CALLER_BYTES) ? 0 : place;
}

int arch_signal_enter(void *frame, const struct arch_signal *signal, uint64_t *place)
{
    struct trap_frame *f = frame;
    const uint64_t at = *place = place_find(f, signal);
    const uint64_t context = at + offsetof(struct handler_frame, context);
    const uint64_t info = at + offsetof(struct handler_frame, info);
    const uint64_t registers = context + offsetof(struct user_context, machine);
    struct handler_frame on_stack;
    struct machine_context *m = &on_stack.context.machine;

    /* Zeroed by cache lines, which an initialiser would not do. */
    arch_zero(&on_stack, offsetof(struct handler_frame, info));
    on_stack.context.stack = *signal->stack;
    on_stack.context.mask = signal->blocked;
    on_stack.info_address = info;
    on_stack.context_address = context;
    on_stack.info = *signal->info;
    m->signal = signal->info->info.signal;
    m->handler = signal->handler;
    m->old_mask = signal->blocked;
    m->registers = registers + offsetof(struct machine_context, general);
    m->vectors = registers + offsetof(struct machine_context, vector);
    general_store(m, f);
    vectors_store(m);
    if (!at || user_write(at, &on_stack, offsetof(struct handler_frame, red_zone)) ||
        user_write(at - CALLER_BYTES, &f->gpr[1], sizeof(f->gpr[1]))) {
        bounce()->floating_status = m->floating_status;
        vector_state_restore(bounce());
        return -EFAULT;
    }
    f->gpr[1] = at - CALLER_BYTES;
    f->gpr[3] = (uint64_t)signal->info->info.signal;
    f->gpr[4] = signal->takes_info ? info : registers;
    f->gpr[5] = context;
    f->gpr[6] = at;
    f->gpr[12] = signal->handler;
    f->counter = signal->handler;
    f->instruction = signal->vdso + vdso_trampoline();
    f->vector = 0; /* no longer a system call's, which could be restarted */
    return 0;
}

/* ---- Return from the handler ---- */

/* Loads the vector registers: 0 without an address of vectors, or if the saved machine state does not have
 * them. */
static int vectors_load(const struct machine_context *m)
{
    const uint64_t machine_state = m->general[AT_MACHINE_STATE];
    struct vector_state *state = bounce();

    vector_state_save(state); /* for what no frame has: TAR, DSCR */
    arch_zero(state->vector, sizeof(state->vector) + sizeof(state->vector_status));
    state->vector_mask = 0;
    for (unsigned i = 0; i < 32; i++) {
        state->scalar[i][1] = m->floating[i];
        state->scalar[i][0] = 0;
    }
    state->floating_status = m->floating_status;
    if (m->vectors) {
        const uint64_t lower = m->vectors + offsetof(struct machine_context, lower_halves) -
                               offsetof(struct machine_context, vector);
        const uint64_t mask = m->vectors + offsetof(struct machine_context, vector_mask) -
                              offsetof(struct machine_context, vector);
        uint64_t lower_halves[32];

        if (user_read(&state->vector_mask, mask, sizeof(state->vector_mask)))
            return -EFAULT;
        state->vector_mask = (uint32_t)state->vector_mask;
        if ((machine_state & MSR_VMX) && (user_read(state->vector, m->vectors, sizeof(state->vector)) ||
                                          user_read(state->vector_status, m->vectors + sizeof(state->vector),
                                                    sizeof(state->vector_status))))
            return -EFAULT;
        if ((machine_state & MSR_VSX) && user_read(lower_halves, lower, sizeof(lower_halves)))
            return -EFAULT;
        for (unsigned i = 0; i < 32 && (machine_state & MSR_VSX); i++)
            state->scalar[i][0] = lower_halves[i];
    }
    vector_state_restore(state);
    return 0;
}

int arch_signal_return(void *frame, uint64_t *blocked, struct signal_stack *stack)
{
    struct trap_frame *f = frame;
    struct user_context context;
    const struct machine_context *m = &context.machine;

    /* The trampoline has taken the handler's frame away. Vectors are where the frame says that they are. */
    if (user_read(&context, f->gpr[1], offsetof(struct user_context, machine.vector)) || vectors_load(m))
        return -EFAULT;
    memcpy(f->gpr, m->general, sizeof(f->gpr));
    f->instruction = m->general[AT_INSTRUCTION];
    f->argument = m->general[AT_ARGUMENT];
    f->counter = m->general[AT_COUNTER];
    f->link = m->general[AT_LINK];
    f->xer = m->general[AT_XER];
    f->condition = m->general[AT_CONDITION] & ONLY_SUMMARY_BITS;
    f->vector = 0;
    *blocked = context.mask;
    *stack = context.stack;
    return 0;
}

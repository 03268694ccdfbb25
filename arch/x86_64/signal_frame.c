/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frame.c: the frame on the program's stack while a signal's handler runs, and the return from it.
 *
 * The layout is Linux's, because handlers read it, change it, and unwind through it. From the handler's stack
 * pointer upwards: the restorer's address, to which the handler returns; the user context; the siginfo; and,
 * 64-byte aligned, the vector registers as XSAVE lays them out, between two magic numbers.
 *
 * The vector registers pass through a buffer, the thread's struct arch_context, on their way to and from the
 * stack: XSAVE and XRSTOR never access the program's memory, and what is read from there is checked before it
 * is loaded, because XRSTOR of an invalid image would fault in the kernel.
 *
 * Runs on the thread's own CPU, interrupts off. Sources: Linux's arch/x86/include/uapi/asm/{sigcontext,
 * ucontext}.h (facts of the interface); Intel SDM 1 §10.5.1.2 (MXCSR_MASK), §13.4 (XSAVE area), §13.8
 * (XRSTOR's checks).
 */
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/thread.h"

#define RED_ZONE_BYTES  128          /* below the stack pointer: the program may use them */
#define LEGACY_BYTES    FXSAVE_BYTES /* the part of XSAVE's layout that FXSAVE has, too */
#define STATE_ALIGNMENT 64

/* Flags of the user context: the vector state is XSAVE's; SS is valid, and is to be restored. */
#define CONTEXT_FLAGS_XSAVE 1ULL
#define CONTEXT_FLAGS_STACK 6ULL

#define STATE_MAGIC     0x46505853U
#define STATE_MAGIC_END 0x46505845U

/* Flags that are the program's own: carry, parity, adjust, zero, sign, trap, direction, overflow, resume,
 * alignment check. */
#define FLAGS_USER      0x50dd5ULL
#define FLAGS_TRAP      0x100ULL
#define FLAGS_DIRECTION 0x400ULL
#define FLAGS_RESUME    0x10000ULL

#define MXCSR_MASK_AT      28
#define MXCSR_MASK_DEFAULT 0xffbfU

struct machine_context {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, fault_address, state, reserved[8];
};

/* Designated initialisers for those that struct trap_frame and struct machine_context name alike. */
#define GENERAL_REGISTERS(from)                                                                         \
    .r8 = (from)->r8, .r9 = (from)->r9, .r10 = (from)->r10, .r11 = (from)->r11, .r12 = (from)->r12,     \
    .r13 = (from)->r13, .r14 = (from)->r14, .r15 = (from)->r15, .rdi = (from)->rdi, .rsi = (from)->rsi, \
    .rbp = (from)->rbp, .rbx = (from)->rbx, .rdx = (from)->rdx, .rax = (from)->rax, .rcx = (from)->rcx

struct user_context {
    uint64_t flags, link;
    struct signal_stack stack;
    struct machine_context machine;
    uint64_t mask;
};

struct handler_frame {
    uint64_t restorer;
    struct user_context context;
    struct linux_siginfo info;
};

/* In the legacy part of the vector state, where XSAVE leaves room for software. */
struct state_note {
    uint32_t magic, extended_bytes;
    uint64_t features;
    uint32_t state_bytes, padding[7];
};

#define NOTE_AT (LEGACY_BYTES - sizeof(struct state_note))

_Static_assert(sizeof(struct machine_context) == 256, "Linux's struct sigcontext");
_Static_assert(sizeof(struct handler_frame) == 440, "Linux's struct rt_sigframe");
_Static_assert(sizeof(struct state_note) == 48, "Linux's struct _fpx_sw_bytes");

/* The bits of MXCSR that the CPUs have, noted with each frame; the same on all CPUs. 0: there was no frame
 * yet.
 */
static uint32_t mxcsr_mask;

/* Returns the buffer for the vector registers. */
static uint8_t *bounce(void)
{
    return arch_thread()->context.vector_state;
}

/* ---- Into the handler ---- */

static uint64_t state_stack_bytes(void)
{
    return cpu_features.vector_bytes + (cpu_features.xsave ? sizeof(uint32_t) : 0);
}

static int state_write(uint64_t address)
{
    const uint32_t end = STATE_MAGIC_END, bytes = cpu_features.vector_bytes;
    const struct state_note note = { .magic = STATE_MAGIC,
                                     .extended_bytes = (uint32_t)(bytes + sizeof(end)),
                                     .features = cpu_features.xcr0,
                                     .state_bytes = bytes };

    vector_state_save(bounce());
    memcpy(&mxcsr_mask, bounce() + MXCSR_MASK_AT, sizeof(mxcsr_mask));
    arch_zero(bounce() + NOTE_AT, sizeof(note));
    if (!cpu_features.xsave)
        return user_write(address, bounce(), bytes);
    memcpy(bounce() + NOTE_AT, &note, sizeof(note));
    return user_write(address, bounce(), bytes) || user_write(address + bytes, &end, sizeof(end)) ? -EFAULT
                                                                                                  : 0;
}

static struct machine_context machine_context(const struct trap_frame *f, uint64_t state, uint64_t blocked)
{
    return (struct machine_context){
        GENERAL_REGISTERS(f),
        .rsp = f->stack,
        .rip = f->instruction,
        .flags = f->flags,
        .cs = (uint16_t)f->code_selector,
        .ss = (uint16_t)f->stack_selector,
        .trap = f->vector < VECTOR_FIRST_INTERRUPT ? f->vector : 0,
        .error = f->vector < VECTOR_FIRST_INTERRUPT ? f->error : 0,
        .fault_address = f->vector == TRAP_PAGE_FAULT ? cpu_this()->fault_address : 0,
        .old_mask = blocked,
        .state = state,
    };
}

/* Returns the frame's address, or 0 if it does not fit on the alternate stack. */
static uint64_t place_find(const struct trap_frame *f, const struct arch_signal *signal, uint64_t *state)
{
    const struct signal_stack *alternate = signal->stack;
    uint64_t top = f->stack - RED_ZONE_BYTES;
    bool on_alternate = signal_stack_holds(alternate, f->stack) && !(alternate->flags & SS_AUTODISARM);

    if (signal->on_alternate && alternate->bytes && !on_alternate) {
        top = alternate->base + alternate->bytes;
        on_alternate = true;
    }
    *state = (top - state_stack_bytes()) & -(uint64_t)STATE_ALIGNMENT;
    /* As if a call had pushed the restorer's address. */
    uint64_t place = ((*state - sizeof(struct handler_frame)) & -16ULL) - 8;
    return on_alternate && !signal_stack_holds(alternate, place) ? 0 : place;
}

int arch_signal_enter(void *frame, const struct arch_signal *signal, uint64_t *place)
{
    struct trap_frame *f = frame;
    uint64_t state;
    uint64_t at = *place = place_find(f, signal, &state);
    struct handler_frame on_stack = {
        .restorer = signal->restorer,
        .context = { .flags = CONTEXT_FLAGS_STACK | (cpu_features.xsave ? CONTEXT_FLAGS_XSAVE : 0),
                     .stack = *signal->stack,
                     .machine = machine_context(f, state, signal->blocked),
                     .mask = signal->blocked },
        .info = *signal->info,
    };

    if (!at || state_write(state) || user_write(at, &on_stack, sizeof(on_stack)))
        return -EFAULT;
    f->rdi = (uint64_t)signal->info->info.signal;
    f->rsi = at + offsetof(struct handler_frame, info);
    f->rdx = at + offsetof(struct handler_frame, context);
    f->rax = 0;
    f->stack = at;
    f->instruction = signal->handler;
    f->flags &= ~(FLAGS_TRAP | FLAGS_DIRECTION | FLAGS_RESUME);
    vector_state_restore(vector_state_initial);
    return 0;
}

/* Announces the frame's size. The frame may begin anywhere between two places where it is aligned. */
unsigned arch_auxiliary(uint64_t platform, uint64_t (*entries)[2])
{
    (void)platform;
    entries[0][0] = AT_MINSIGSTKSZ;
    entries[0][1] = sizeof(struct handler_frame) + 16 + 8 + state_stack_bytes() + STATE_ALIGNMENT;
    return 1;
}

/* ---- Return from the handler ---- */

/* Returns how many bytes of XSAVE's layout are on the stack: as noted when the frame was made, if the note is
 * intact; else the part that FXSAVE has. */
static uint32_t state_bytes_read(uint64_t address)
{
    struct state_note note;
    uint32_t end;

    memcpy(&note, bounce() + NOTE_AT, sizeof(note));
    if (!cpu_features.xsave || note.magic != STATE_MAGIC ||
        note.state_bytes < LEGACY_BYTES + XSAVE_HEADER_BYTES ||
        note.state_bytes > cpu_features.vector_bytes || note.state_bytes > note.extended_bytes)
        return LEGACY_BYTES;
    if (user_read(&end, address + note.state_bytes, sizeof(end)) || end != STATE_MAGIC_END)
        return LEGACY_BYTES;
    return note.state_bytes;
}

/* Checks what XRSTOR requires of its image [Intel SDM 1 §13.8.1]. */
static bool state_is_valid(void)
{
    uint64_t header[XSAVE_HEADER_BYTES / 8], unused = 0;
    uint32_t mxcsr;

    memcpy(&mxcsr, bounce() + MXCSR_AT, sizeof(mxcsr));
    memcpy(header, bounce() + XSAVE_HEADER, sizeof(header));
    for (unsigned i = 1; i < XSAVE_HEADER_BYTES / 8; i++)
        unused |= header[i]; /* the compacted form, and reserved */
    if (mxcsr & ~(mxcsr_mask ? mxcsr_mask : MXCSR_MASK_DEFAULT))
        return false;
    return !cpu_features.xsave || (!unused && !(header[0] & ~cpu_features.xcr0));
}

/* Loads the vector registers. A null pointer means initial registers. */
static int state_read(uint64_t address)
{
    const uint64_t legacy_features = 3; /* x87, SSE */

    if (!address) {
        vector_state_restore(vector_state_initial);
        return 0;
    }
    if (user_read(bounce(), address, LEGACY_BYTES))
        return -EFAULT;

    uint32_t bytes = state_bytes_read(address);
    arch_zero(bounce() + bytes, VECTOR_STATE_BYTES - bytes);
    if (bytes == LEGACY_BYTES)
        memcpy(bounce() + XSAVE_HEADER, &legacy_features, sizeof(legacy_features));
    else if (user_read(bounce() + LEGACY_BYTES, address + LEGACY_BYTES, bytes - LEGACY_BYTES))
        return -EFAULT;
    if (!state_is_valid())
        return -EFAULT;
    vector_state_restore(bounce());
    return 0;
}

int arch_signal_return(void *frame, uint64_t *blocked, struct signal_stack *stack)
{
    struct trap_frame *f = frame;
    struct user_context context;
    const struct machine_context *m = &context.machine;

    /* The handler's return has popped the restorer's address. */
    if (user_read(&context, f->stack, sizeof(context)) || state_read(m->state))
        return -EFAULT;
    *f = (struct trap_frame){
        GENERAL_REGISTERS(m),
        .stack = m->rsp,
        .instruction = m->rip, /* checked by program_return */
        .flags = (f->flags & ~FLAGS_USER) | (m->flags & FLAGS_USER),
        .code_selector = SELECTOR_USER_CODE,
        .stack_selector = SELECTOR_USER_DATA,
        .vector = VECTOR_SIGNAL_RETURN,
    };
    *blocked = context.mask;
    *stack = context.stack;
    return 0;
}

/* ---- Interrupted system calls ---- */

bool arch_call_interrupted(const void *frame)
{
    const struct trap_frame *f = frame;

    return f->vector == VECTOR_SYSTEM_CALL && f->rax == (uint64_t)-EINTR;
}

void arch_call_restart(void *frame, unsigned number)
{
    struct trap_frame *f = frame;
    const uint64_t syscall_bytes = 2;

    f->rax = number;
    f->instruction -= syscall_bytes;
}

uint64_t arch_frame_instruction(const void *frame)
{
    return ((const struct trap_frame *)frame)->instruction;
}

uint64_t arch_frame_stack(const void *frame)
{
    return ((const struct trap_frame *)frame)->stack;
}

uint64_t arch_call_stack(void)
{
    return cpu_this()->user_stack;
}

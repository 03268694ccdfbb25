/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.c: signals of one thread: what a handler learns of each fault, what it finds on its stack, what it
 * changes; queues and masks. Interrupted calls are in interrupted.c; registers and instructions in
 * signals_<machine>.h. The same program passes on Linux.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NS_PER_MS      1000000L
#define FUTEX_WAIT     0
#define CODE_BY_KERNEL 0x80

static volatile sig_atomic_t runs;
static siginfo_t seen;
static uint64_t handler_stack; /* where note() has run */
static sigjmp_buf back;

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, NULL))
        abort();
}

/* Fills seen and handler_stack, and counts; of the machine: */
static void note(int signal, siginfo_t *info, void *context);

static void note_and_jump_out(int signal, siginfo_t *info, void *context)
{
    note(signal, info, context);
    siglongjmp(back, 1);
}

#define FAULT(...)                                \
    (runs = 0, memset(&seen, 0xee, sizeof(seen)), \
     sigsetjmp(back, 1) == 0 ? (void)({ __VA_ARGS__; }) : (void)0, runs)

#if defined(__x86_64__)
#include "signals_x86_64.h"
#else
#include "signals_ppc64.h"
#endif

/* ---- Flags of sigaction, masks, nesting ---- */

static volatile int depth, deepest;

static void nest(int signal, siginfo_t *info, void *context)
{
    note(signal, info, context);
    if (++depth > deepest)
        deepest = depth;
    if (runs < 20)
        raise(signal);
    depth--;
}

static void flags_of_sigaction_hold(void)
{
    struct sigaction old;
    sigset_t pending, mask;

    deepest = 0, runs = 0;
    install(SIGUSR1, nest, SA_NODEFER);
    raise(SIGUSR1);
    PROMISE(deepest == 20, "%d", deepest);

    deepest = depth = 0, runs = 0;
    install(SIGUSR1, nest, 0);
    raise(SIGUSR1); /* raises itself once more, which waits until it has returned; and so on */
    PROMISE(deepest == 1 && runs == 20, "deepest %d runs %d", deepest, (int)runs);

    runs = 0;
    install(SIGUSR2, note, SA_RESETHAND);
    raise(SIGUSR2);
    sigaction(SIGUSR2, NULL, &old);
    PROMISE(runs == 1 && old.sa_handler == SIG_DFL, "runs %d", (int)runs);

    install(SIGUSR2, note, SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART);
    sigaction(SIGUSR2, NULL, &old);
    PROMISE((old.sa_flags & (SA_SIGINFO | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART)) ==
                (SA_SIGINFO | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART),
            "%x", old.sa_flags);
    PROMISE(sigaction(SIGKILL, &old, NULL) < 0 && errno == EINVAL, "SIGKILL was caught");
    PROMISE(sigaction(SIGSTOP, &old, NULL) < 0 && errno == EINVAL, "SIGSTOP was caught");

    sigfillset(&mask);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    PROMISE(!sigismember(&mask, SIGKILL) && !sigismember(&mask, SIGSTOP), "they cannot be blocked");
    runs = 0;
    raise(SIGUSR2), raise(SIGUSR2), raise(SIGUSR2);
    kill(getpid(), SIGUSR2);
    sigpending(&pending);
    PROMISE(runs == 0 && sigismember(&pending, SIGUSR2) == 1, "runs %d", (int)runs);
    sigemptyset(&mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    PROMISE(runs == 2, "one to the thread and one to the process are left of four: %d", (int)runs);

    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    raise(SIGUSR2);
    signal(SIGUSR2, SIG_IGN);
    sigpending(&pending);
    PROMISE(!sigismember(&pending, SIGUSR2), "a signal that is ignored waits");
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    raise(SIGCHLD), raise(SIGURG), raise(SIGWINCH), raise(SIGCONT);
}

/* ---- Alternate stacks ---- */

static char *alternate;
#define ALTERNATE_BYTES 32768

static int on_alternate(uint64_t address)
{
    return address - (uint64_t)alternate < ALTERNATE_BYTES;
}

static stack_t inside;
static int set_inside;

static void note_stack(int signal, siginfo_t *info, void *context)
{
    stack_t other = { .ss_sp = alternate, .ss_size = 8192, .ss_flags = 0 };

    note(signal, info, context);
    sigaltstack(NULL, &inside);
    set_inside = sigaltstack(&other, NULL) ? errno : 0;
}

static void overflow(int signal, siginfo_t *info, void *context)
{
    volatile char much[64];

    (void)info, (void)context;
    much[0] = (char)signal;
    if (depth++ < 100000)
        raise(signal); /* SA_NODEFER: another frame each time */
    much[1] = much[0];
}

static void alternate_stacks_hold(void)
{
    stack_t stack, old;

    alternate = mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(NULL, &old);
    PROMISE(old.ss_flags == SS_DISABLE, "%x", old.ss_flags);
    stack = (stack_t){ .ss_sp = alternate, .ss_size = 2047 };
    PROMISE(sigaltstack(&stack, NULL) < 0 && errno == ENOMEM, "too small a stack was taken");
    stack = (stack_t){ .ss_sp = alternate, .ss_size = ALTERNATE_BYTES, .ss_flags = 0x40 };
    PROMISE(sigaltstack(&stack, NULL) < 0 && errno == EINVAL, "flags that are none were taken");
    stack.ss_flags = 0;
    PROMISE(sigaltstack(&stack, NULL) == 0, "%d", errno);

    install(SIGUSR1, note_stack, 0);
    raise(SIGUSR1);
    PROMISE(!on_alternate(handler_stack), "without SA_ONSTACK it is not used");
    sigaltstack(&stack, NULL); /* what the handler has set instead */
    install(SIGUSR1, note_stack, SA_ONSTACK);
    raise(SIGUSR1);
    PROMISE(on_alternate(handler_stack) && inside.ss_flags == SS_ONSTACK && set_inside == EPERM,
            "%lx flags %x error %d", handler_stack, inside.ss_flags, set_inside);
    sigaltstack(NULL, &old);
    PROMISE(old.ss_flags == 0 && old.ss_sp == alternate && old.ss_size == ALTERNATE_BYTES, "%x",
            old.ss_flags);

    stack.ss_flags = (int)(1U << 31); /* SS_AUTODISARM */
    PROMISE(sigaltstack(&stack, NULL) == 0, "%d", errno);
    raise(SIGUSR1);
    PROMISE(on_alternate(handler_stack) && (inside.ss_flags & SS_DISABLE) && set_inside == 0, "%x %d",
            inside.ss_flags, set_inside);
    sigaltstack(NULL, &old);
    PROMISE((unsigned)old.ss_flags == 1U << 31 && old.ss_size == ALTERNATE_BYTES,
            "%x: comes back with the frame", old.ss_flags);

    stack.ss_flags = SS_DISABLE;
    PROMISE(sigaltstack(&stack, NULL) == 0, "%d", errno);
    munmap(alternate, ALTERNATE_BYTES);
}

/* Nests frames until the alternate stack is full: SIGSEGV, whose handler finds no room either. */
static void overflow_alternate_stack(void)
{
    stack_t stack = { .ss_size = ALTERNATE_BYTES };

    stack.ss_sp = mmap(NULL, 3 * ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_sp = (char *)stack.ss_sp + ALTERNATE_BYTES; /* what lies below could be written */
    sigaltstack(&stack, NULL);
    install(SIGUSR1, overflow, SA_ONSTACK | SA_NODEFER);
    install(SIGSEGV, note_and_jump_out, SA_ONSTACK);
    raise(SIGUSR1);
}

/* ---- Queues ---- */

static int order[64];
static long values[64];
static unsigned arrived;

static void collect(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (arrived < 64) {
        order[arrived] = signal;
        values[arrived] = (long)info->si_value.sival_ptr;
    }
    arrived++;
    PROMISE(info->si_code == SI_QUEUE && info->si_pid == getpid(), "%d %d", info->si_code, info->si_pid);
}

static void real_time_signals_queue_in_order(void)
{
    const struct timespec none = { 0, 0 }, short_time = { 0, 20 * NS_PER_MS };
    struct rlimit limit;
    siginfo_t info;
    sigset_t mask;
    unsigned sent = 0;
    long result = 0;

    install(SIGRTMIN, collect, 0);
    install(SIGRTMIN + 1, collect, 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN), sigaddset(&mask, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    for (long i = 0; i < 10; i++) {
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_ptr = (void *)(100 + i) });
        sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_ptr = (void *)i });
    }
    PROMISE(arrived == 0, "%u", arrived);
    PROMISE(sigtimedwait(&mask, &info, &none) == SIGRTMIN && info.si_value.sival_ptr == (void *)0 &&
                info.si_code == SI_QUEUE,
            "%p", info.si_value.sival_ptr);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    PROMISE(arrived == 19, "%u", arrived);
    unsigned low = 0, high = 0;
    for (unsigned i = 0; i < arrived; i++) {
        /* Frames are built lowest number first; so the last built runs first. */
        if (order[i] == SIGRTMIN)
            PROMISE(values[i] == (long)++low, "%ld", values[i]);
        else
            PROMISE(values[i] == 100 + (long)high++, "%ld", values[i]);
    }

    /* The queue has an end, which RLIMIT_SIGPENDING sets; on Linux the user's others count, too. */
    getrlimit(RLIMIT_SIGPENDING, &limit);
    PROMISE(limit.rlim_cur >= 32, "%lu", (unsigned long)limit.rlim_cur);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    while (sent < 100000 && (result = sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 1 })) == 0)
        sent++;
    PROMISE((result == -1 && errno == EAGAIN && sent <= limit.rlim_cur && sent >= limit.rlim_cur / 2) ||
                limit.rlim_cur > 100000 || sent > 1000,
            "%u of %lu", sent, (unsigned long)limit.rlim_cur);
    while (sigtimedwait(&mask, NULL, &none) > 0)
        sent--;
    PROMISE(sent == 0, "%u are missing", sent);
    PROMISE(sigtimedwait(&mask, NULL, &short_time) < 0 && errno == EAGAIN, "%d", errno);

    info = (siginfo_t){ .si_code = SI_TKILL };
    PROMISE(syscall(SYS_rt_sigqueueinfo, 1 << 21, SIGUSR1, &info) < 0, "nobody has that pid");
    info.si_code = SI_QUEUE, info.si_value.sival_int = 5;
    PROMISE(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGRTMIN, &info) == 0, "%d", errno);
    memset(&info, 0, sizeof(info));
    PROMISE(sigwaitinfo(&mask, &info) == SIGRTMIN && info.si_value.sival_int == 5, "%d",
            info.si_value.sival_int);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);

    PROMISE(syscall(SYS_kill, getpid(), 65) < 0 && errno == EINVAL, "%d", errno);
    PROMISE(syscall(SYS_tgkill, getpid(), getpid(), 0) == 0, "%d", errno);
    PROMISE(syscall(SYS_tgkill, -1, getpid(), SIGUSR1) < 0 && errno == EINVAL, "%d", errno);
    PROMISE(syscall(SYS_rt_sigaction, 0, NULL, NULL, 8) < 0 && errno == EINVAL, "%d", errno);
    PROMISE(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 16) < 0 && errno == EINVAL, "%d", errno);
    PROMISE(syscall(SYS_restart_syscall) < 0 && errno == EINTR, "%d", errno);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "overflow") == 0) {
        overflow_alternate_stack();
        return 0;
    }
    faults_report_what_happened();
    handlers_leave_every_register_as_it_was();
    general_registers_stay();
    handlers_may_change_what_they_return_to();
    frames_are_linux_s();
    vector_state_stands_where_linux_puts_it();
    flags_of_sigaction_hold();
    alternate_stacks_hold();
    real_time_signals_queue_in_order();
    return promises_kept();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_deliver.c: what signals do to the thread that takes them; see signal.h.
 *
 * Runs on the thread's own CPU, interrupts off, on its way back to the program (thread_slow_return), where a
 * frame holds all the program's registers.
 *
 * Takes no lock but signals.lock, for a few instructions.
 *
 * A system call that a signal has interrupted goes on in one of three ways. If no handler runs, it starts
 * again. If one runs that has SA_RESTART, and the call is RESTART_ALWAYS, it starts again after the handler.
 * Else it returns -EINTR. A call with a relative time limit does not start again, but goes on as
 * restart_syscall with the words of thread_interrupted_wait (syscall/syscall.c): else each interruption would
 * make the wait longer.
 */
#include "arch.h"
#include "debug/console.h"
#include "arch/linux_abi.h"
#include "lib/errno.h"
#include "debug/klog.h"
#include "process/process.h"

/* ---- Alternate stacks ---- */

bool signal_stack_holds(const struct signal_stack *stack, uint64_t address)
{
    return address > stack->base && address - stack->base <= stack->bytes;
}

int signal_stack_set(const struct signal_stack *requested, uint64_t at)
{
    struct signal_stack *stack = &arch_thread()->signals.stack;
    uint32_t mode = requested->flags & ~SS_AUTODISARM;

    if (signal_stack_holds(stack, at) && !(stack->flags & SS_AUTODISARM))
        return -EPERM;
    if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
        return -EINVAL;
    if (mode == SS_DISABLE) {
        *stack = (struct signal_stack){ .flags = requested->flags };
        return 0;
    }
    if (requested->bytes < MINSIGSTKSZ)
        return -ENOMEM;
    *stack = *requested;
    stack->padding = 0;
    return 0;
}

/* ---- Faults ---- */

/* Forces the signal of a fault, which cannot be deferred, as on Linux: if the thread blocks or ignores it,
 * the default action is taken. */
bool signal_fault(const struct fault *fault)
{
    struct thread_signals *signals = &arch_thread()->signals;
    uint64_t handler = arch_process()->signals.actions[fault->signal - 1].handler;
    struct vm_area area;
    int code = fault->code;

    if (handler == SIG_DFL || handler == SIG_IGN || (signals->blocked & signal_bit(fault->signal)))
        return false;
    if (!code)
        code = vm_find(&arch_process()->vm, fault->address, &area) ? SEGV_NO_RIGHT : SEGV_NOT_MAPPED;
    signals->forced =
        (struct signal_info){ .signal = fault->signal, .code = code, .fault.address = fault->address };
    signals->is_forced = true;
    return true;
}

/* Raises SIGSEGV, because the frame for a handler of `signal` cannot be written, or the frame that a handler
 * returns with (signal 0) is invalid. If the handler of SIGSEGV itself could not run, the default action is
 * taken. */
static void frame_fault(const void *frame, int signal, const char *cause)
{
    struct process *process = arch_process();
    const struct fault fault = {
        .signal = SIGNAL_SEGV,
        .code = SIGNAL_BY_KERNEL,
        .cause = cause,
        .frame = frame,
    };

    if (signal == SIGNAL_SEGV) {
        SPIN_GUARD(&process->signals.lock);
        process->signals.actions[SIGNAL_SEGV - 1].handler = SIG_DFL;
    }
    trap_user_fault(&fault);
}

/* ---- Handlers ---- */

/* Starts the interrupted call again, or lets it return -EINTR. */
static void call_go_on(struct thread *thread, void *frame, bool handled, uint64_t flags)
{
    enum restart restart = thread->restart;

    thread->restart = RESTART_NONE;
    if (restart == RESTART_NONE || !arch_call_interrupted(frame))
        return;
    if (!handled || restart == RESTART_ANYHOW || (restart == RESTART_ALWAYS && (flags & SA_RESTART)))
        arch_call_restart(frame, thread->restart_number);
}

static void handler_begin(struct thread *thread, void *frame, const struct signal_info *info,
                          const struct linux_sigaction *action)
{
    struct thread_signals *signals = &thread->signals;
    const struct linux_siginfo linux_info = { .info = *info };
    struct arch_signal signal = {
        .info = &linux_info,
        .handler = action->handler,
        .restorer = action->restorer,
        .blocked = signals->mask_swapped ? signals->mask_before : signals->blocked,
        .stack = &signals->stack,
        .vdso = thread->process->image.vdso,
        .on_alternate = action->flags & SA_ONSTACK,
        .takes_info = action->flags & SA_SIGINFO,
    };
    uint64_t own = action->flags & SA_NODEFER ? 0 : signal_bit(info->signal), place = 0;

    if (SIGNAL_RESTORER_REQUIRED && !(action->flags & SA_RESTORER)) {
        frame_fault(frame, info->signal, "a signal's handler without SA_RESTORER: it could not return");
        return;
    }
    if (arch_signal_enter(frame, &signal, &place)) {
        if (place)
            process_report(REPORT_END, ": the stack ends before %#lx, where the frame of %s would begin",
                           place, signal_name(info->signal));
        else
            process_report(REPORT_END, ": no room on the signal stack at %#lx, %lu bytes, for %s",
                           signals->stack.base, signals->stack.bytes, signal_name(info->signal));
        frame_fault(frame, info->signal, "no room on the stack for the handler of a signal");
        return;
    }

    /* Mask and alternate stack for the time that the handler runs. */
    signals->mask_swapped = false;
    signal_mask_set(signals->blocked | action->mask | own);
    if (signals->stack.flags & SS_AUTODISARM)
        signals->stack = (struct signal_stack){ .flags = SS_DISABLE };
}

/* Returns the action for a signal that was taken; removes a handler that runs only once. */
static struct linux_sigaction action_take(struct process *process, int signal)
{
    struct linux_sigaction *kept = &process->signals.actions[signal - 1];

    SPIN_GUARD(&process->signals.lock);
    struct linux_sigaction action = *kept;
    if ((action.flags & SA_RESETHAND) && action.handler != SIG_IGN)
        kept->handler = SIG_DFL;
    return action;
}

/* ---- Delivering ---- */

static int take_next(struct thread *thread, struct signal_info *info)
{
    struct thread_signals *signals = &thread->signals;

    if (!signals->is_forced)
        return signal_take(~signals->blocked, info);
    signals->is_forced = false;
    *info = signals->forced;
    return info->signal;
}

static void return_from_handler(struct thread *thread, void *frame)
{
    struct signal_stack stack;
    uint64_t blocked;

    thread->signals.returns = false;
    thread->resume = NULL; /* a wait that was interrupted earlier returns -EINTR */
    if (arch_signal_return(frame, &blocked, &stack)) {
        frame_fault(frame, 0, "rt_sigreturn with an invalid frame");
        return;
    }
    signal_mask_set(blocked);
    signal_stack_set(&stack, arch_frame_stack(frame)); /* an invalid one changes nothing */
}

void signal_deliver(void *frame)
{
    struct thread *thread = arch_thread();
    struct process *process = thread->process;
    struct signal_info info;

    if (thread->signals.returns)
        return_from_handler(thread, frame);
    for (;;) {
        if (process->signals.stopped)
            thread_sleep_stopped(thread);
        if (!take_next(thread, &info))
            break;
        klog(signal, info.signal, thread->tid);

        struct linux_sigaction action = action_take(process, info.signal);
        if (action.handler != SIG_DFL && action.handler != SIG_IGN) {
            call_go_on(thread, frame, true, action.flags);
            handler_begin(thread, frame, &info, &action);
        } else if (signal_handler_ignores(action.handler, info.signal)) { /* it may have changed */
            continue;
        } else if (signal_stops_by_default(info.signal)) {
            if (signal_stop(process))
                kernel_print("%s (%s) stopped by %s, until SIGCONT\n", process->title, process->name,
                             signal_name(info.signal));
        } else {
            process_kill(&info, frame);
        }
    }
    call_go_on(thread, frame, false, 0);
    if (thread->signals.mask_swapped) /* no handler has run */
        signal_mask_restore();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h: what every architecture must provide. The kernel includes this header and no other of an
 * architecture.
 *
 * Control flow between both: an architecture's entry code fills a struct boot_info and calls kernel_start()
 * once. After that it calls up where a program or an interrupt enters the kernel: through syscall_table
 * (kernel/syscall.c), trap_user_fault() for a fault of the program, clockevent_interrupt() and
 * kernel_woken(); and it may use the kernel's console, log and stop functions. The kernel calls down through
 * the functions below.
 *
 * The inline half stands in arch/<name>/include/arch/platform.h and must define:
 *   ARCH_NAME, ARCH_ELF_MACHINE      the architecture's name as uname prints it, and its ELF machine number
 *   ARCH_PAGE, ARCH_LARGE_PAGE, ARCH_HUGE_PAGE   page sizes in bytes; arch_huge_pages() tells whether the
 * last one is there ARCH_USER_LIMIT                  programs may map [ARCH_PAGE, ARCH_USER_LIMIT)
 *   ARCH_PIE_BASE, ARCH_MMAP_BASE    where a static-PIE is loaded; where mmap starts to search
 *   ARCH_SYSCALL_NUMBER(x86_64, ppc64)           picks the number of this architecture
 *   arch_process(), arch_process_set()           the process that this CPU runs
 *   arch_physical(address)           the kernel's pointer to physical memory
 *   arch_physical_of(pointer)        the physical address behind a pointer to the kernel's image, or behind
 * one from arch_physical() arch_ticks()                     the clock source's counter arch_klog(),
 * arch_cpu_here()     this CPU's ring of the flight log; its number arch_pause()                     a hint
 * inside a bounded wait
 */
#ifndef TACET_ARCH_H
#define TACET_ARCH_H

#include "arch/platform.h"
#include "boot_info.h"
#include "command_line.h"
#include "elf_image.h"
#include "errno.h"
#include "memplan.h"
#include "page_pool.h"
#include "signal.h"

/* ---- Entry points of the kernel that an architecture calls ---- */

/* Once, on the first CPU, early map in place, interrupts off. */
_Noreturn void kernel_start(struct boot_info *boot);

/* On every further CPU, once it runs: final map, clock compared, interrupts off, on its own stack. */
_Noreturn void kernel_cpu_start(unsigned cpu);

/* Another CPU has woken this one: something that all look at may have changed. */
void kernel_woken(void);

/* A program did what it may not. `signal` is the Linux signal that it means, `code` its si_code, 0 where that
 * depends on what is mapped at `address`; `cause` says it in words ("page fault: write to a page it may only
 * read"); `frame` is the architecture's, for arch_registers_print. Leaves a signal for the thread's handler,
 * which thread_leave begins, or ends the process. */
struct fault {
    int signal;
    int code;
    const char *cause;
    uint64_t instruction; /* address of the faulting instruction */
    uint64_t address;     /* that it tried to reach; valid where has_address */
    bool has_address;
    const void *frame;
};
void trap_user_fault(const struct fault *fault);

/* ---- Memory ---- */

/* Bytes of the pool that the architecture will take to map all of `boot`'s memory; an upper bound. */
uint64_t arch_pool_bytes(const struct boot_info *boot);

/* The kernel image in physical memory, and how far the early map reaches. */
struct memory_range arch_kernel_image(void);
uint64_t arch_early_limit(void);
uint64_t arch_address_limit(void);

/* Replaces the early map by the final one: image with its rights (no page both writable and executable), all
 * of `boot`'s memory in the direct map, nothing else. Tables come from `pool`. Stops the node where it
 * cannot. */
void arch_memory_initialise(struct page_pool *pool, const struct boot_info *boot);

bool arch_huge_pages(void);

/* An address space's tables. They are paid by the process, from its own slice. */
struct arch_space {
    uint64_t root;
    struct page_pool *pages;
};

int arch_space_create(struct arch_space *space, struct page_pool *pages);
void arch_space_activate(const struct arch_space *space);
void arch_space_leave(const struct arch_space *space); /* this CPU has no program any more */

/* Maps [address, address + bytes) to `physical` with the largest pages that alignment allows; nothing may be
 * mapped there. Both page-aligned. rights == 0 keeps the memory attached but out of reach. -ENOMEM (nothing
 * is mapped then). */
int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights);

/* Makes `address` the beginning of a page, by cutting a large page around it. -ENOMEM where there is no
 * memory for the table. */
int arch_split(struct arch_space *space, uint64_t address);

/* The next three need page bounds at the range's ends (arch_split), so that they cannot fail. Holes in the
 * range are fine. */

/* Takes what is mapped in the range away and calls `release` (may be NULL) for each physical run, in
 * ascending order of addresses. */
void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes,
                void (*release)(void *context, uint64_t physical, uint64_t bytes), void *context);

/* New rights for what is mapped in the range. */
void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights);

/* Zeroes the memory attached to [address, address + bytes), whatever the program's rights to it; any
 * alignment. Returns how many bytes that were. */
uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes);

/* Length of the run from `address`, at most `bytes`, that is alike: attached to memory or not. *attached
 * tells which. */
uint64_t arch_attached_run(const struct arch_space *space, uint64_t address, uint64_t bytes, bool *attached);

/* The physical address behind one of the program's, or PAGE_POOL_NONE. */
uint64_t arch_physical_behind(const struct arch_space *space, uint64_t address);

/* Copies between kernel and program that survive any address: 0 or -EFAULT (part of it may have been copied).
 */
int user_read(void *to, uint64_t from, uint64_t bytes);
int user_write(uint64_t to, const void *from, uint64_t bytes);
int user_clear(uint64_t to, uint64_t bytes);
/* A string of at most `bytes` bytes with its NUL: its length, -EFAULT, or -ENAMETOOLONG where no NUL stands
 * in them. */
int64_t user_read_string(char *to, uint64_t from, uint64_t bytes);

/* An aligned word of the program's that its threads change at the same time. Reads it in one piece: 0 or
 * -EFAULT. Replaces it if it is *expected: 1; 0 where it is another, which *expected then tells; -EFAULT. */
int user_read_word(uint32_t *to, uint64_t from);
int user_exchange_word(uint64_t at, uint32_t *expected, uint32_t desired);

void arch_zero(void *memory, uint64_t bytes);

/* ---- CPUs, time, power ---- */

/* Everything left: CPU features, interrupt controllers silenced, clock calibrated. After
 * arch_memory_initialise. */
void arch_initialise(const struct boot_info *boot);

/* How many CPUs the firmware names (at least 1); starts all of them but this one, after arch_initialise; how
 * many run then, numbered from 0 without gaps; which one this is. One that does not answer is named in the
 * log and left out. */
unsigned arch_cpus_present(void);
void arch_cpus_start(struct page_pool *pool, const struct boot_info *boot);
unsigned arch_cpu_count(void);

/* Of these, the ones with a core of their own: they have the lowest numbers; the further hardware threads of
 * the same cores come behind. */
unsigned arch_core_count(void);
unsigned arch_cpu_index(void);

/* NUMA as the firmware tells it: ranges of memory with their nodes (0 where it tells nothing), and the node
 * of a CPU that runs, or NUMA_NODE_NONE. */
unsigned arch_node_ranges(const struct numa_range **ranges);
uint32_t arch_cpu_node(unsigned cpu);

/* How CPUs wait: `idle=` of the command line. -EINVAL with `why`. After arch_initialise. */
int arch_wait_configure(const struct command_line *line, struct message *why);

/* Waits for an interrupt or for arch_cpu_wake, which may have come already: the caller looks at what it waits
 * for, with interrupts off, calls this, and looks again. */
void arch_cpu_wait(void);
/* Ends another CPU's arch_cpu_wait, or interrupts its program, so that it passes kernel_woken. What it is to
 * find has been stored before. */
void arch_cpu_wake(unsigned cpu);

/* Another CPU's ring of the flight log. */
const struct klog_ring *arch_klog_of(unsigned cpu);
/* Whether this CPU logs its system calls: klog_system_call before, klog_system_call_end after each. */
void arch_system_calls_log(bool on);

/* This CPU has nothing to do any more. */
_Noreturn void arch_cpu_park(void);

/* The core of a CPU: the CPU below arch_core_count() that it shares the core with, or is. */
unsigned arch_core_of(unsigned cpu);

/* ---- Threads ---- */

/* A thread's first registers: general registers zero, vector state initial; those of the caller of clone
 * (with `kept` from thread_clone, the result 0, and where they are not zero or NULL: another stack, another
 * thread pointer); those of a thread in `frame`, on its way back to the program. */
void arch_start_initial(struct arch_start *start, uint64_t entry, uint64_t stack);
void arch_start_clone(struct arch_start *start, const void *kept, uint64_t stack,
                      const uint64_t *thread_pointer);
void arch_start_move(struct arch_start *start, const void *frame);

/* Enters the program. */
_Noreturn void arch_start_enter(const struct arch_start *start);

/* Lets the system call that runs return through thread_leave (thread.h). */
void arch_return_divert(void);

/* ---- Signals ---- */

/* A handler that is to run, and what its frame says. */
struct arch_signal {
    struct linux_siginfo info;
    uint64_t handler, restorer;
    uint64_t blocked;          /* to be restored when it returns */
    struct signal_stack stack; /* the alternate one */
    bool on_alternate;         /* asked for */
};

/* Makes `frame` lead into the handler, which returns to where the frame led. -EFAULT where the stack cannot
 * take its frame at *place (0: the alternate stack is too small); nothing has changed then but memory of the
 * stack. */
int arch_signal_enter(void *frame, const struct arch_signal *signal, uint64_t *place);

/* The caller of rt_sigreturn goes back: fills `frame` from what arch_signal_enter has left on the stack, and
 * the program has changed. -EFAULT where it makes no sense. What comes of it is never more than a program may
 * have. */
int arch_signal_return(void *frame, uint64_t *blocked, struct signal_stack *stack);

/* Whether `frame` is a system call's that returns -EINTR; makes it call again, `number` with the same
 * arguments. */
bool arch_call_interrupted(const void *frame);
void arch_call_again(void *frame, unsigned number);

uint64_t arch_frame_instruction(const void *frame);
uint64_t arch_frame_stack(const void *frame);
/* In a system call: its caller's stack pointer. */
uint64_t arch_call_stack(void);

uint64_t arch_clock_hz(void);
uint64_t arch_boot_ticks(void);
/* Ticks that a CPU has spent in the kernel since its thread started, a running system call included. */
uint64_t arch_kernel_ticks(unsigned cpu);
uint64_t arch_wall_clock_s(void); /* the battery clock: seconds since 1970 UTC; 0 where there is none */
uint64_t arch_random(
    void); /* a hardware random number where there is one, else mixed from the clock; see docs */
bool arch_random_is_hardware(void);
uint64_t arch_hwcap(unsigned word); /* AT_HWCAP, AT_HWCAP2 */
void arch_cpu_describe(char *text, size_t bytes);
const char *arch_exception_name(unsigned number); /* NULL where the number is not in use */
const struct tacet_counters *arch_counters(unsigned cpu);

/* Prints the registers of a fault's frame through kernel_print. */
void arch_registers_print(const void *frame);
/* Prints the kernel's own call chain. */
void arch_backtrace_print(void);

/* Thread pointer: Linux's arch_prctl on x86_64; -ENOSYS elsewhere. */
long arch_thread_pointer_call(uint64_t code, uint64_t address);

/* Switches the machine off, or halts for ever where that cannot be done. */
_Noreturn void arch_power_off(void);

#endif

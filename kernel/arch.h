/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h: what every architecture must provide. The kernel includes this header and no other of an
 * architecture.
 *
 * Control flow between both: an architecture's entry code fills a struct boot_info and calls kernel_start()
 * once. After that it calls up where a program or an interrupt enters the kernel: through syscall_table
 * (kernel/syscall/syscall.c), page_fault_is_spurious() and trap_user_fault() for a fault of the program,
 * timer_interrupt() and crosscall_serve(); and it may use the kernel's console, log and stop functions. The
 * kernel calls down through the functions below.
 *
 * The inline half stands in arch/<name>/include/arch/platform.h and must define:
 *
 *   ARCH_NAME, ARCH_ELF_MACHINE       the architecture's name for uname, and its ELF machine number
 *   ARCH_PAGE, ARCH_LARGE_PAGE,
 *   ARCH_HUGE_PAGE                    page sizes in bytes; arch_huge_pages(): is the last one there?
 *   ARCH_CPUS_MAX                     as many CPUs as the kernel manages; at most 64
 *   ARCH_USER_LIMIT                   programs may map [ARCH_PAGE, ARCH_USER_LIMIT)
 *   ARCH_PIE_BASE, ARCH_MMAP_BASE     where a static-PIE is loaded; where mmap starts to search
 *   ARCH_SYSCALL_NUMBER(x86_64, ppc64)    picks the number of this architecture
 *   arch_process, arch_process_set    the process that this CPU runs
 *   arch_thread, arch_thread_set      the thread that it runs
 *   arch_physical(address)            the kernel's pointer to physical memory
 *   arch_physical_of(pointer)         what is behind a pointer to the kernel's image, or such a one
 *   arch_ticks()                      the clock source's counter
 *   arch_klog(), arch_cpu_index()      this CPU's ring of the flight log; its number
 *   arch_pause()                      a hint inside a bounded wait
 */
#ifndef TACET_ARCH_H
#define TACET_ARCH_H

#include "arch/platform.h"
#include "lib/boot_info.h"
#include "lib/command_line.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "mm/memplan.h"
#include "mm/page_pool.h"
#include "process/signal.h"

/* ---- Entry points of the kernel that an architecture calls ---- */

/* Once, on the first CPU, early map in place, interrupts off. */
_Noreturn void kernel_start(struct boot_info *boot);

/* On every further CPU, once it runs: final map, clock compared, interrupts off, on its own stack. */
_Noreturn void kernel_cpu_start(unsigned cpu);

/* A program did what it may not. `signal` is the Linux signal that it means, `code` its si_code, 0 where that
 * depends on what is mapped at `address`; `cause` says it in words ("page fault: write to a page it may only
 * read"); `frame` is the architecture's, for arch_registers_print. Leaves a signal for the thread's handler,
 * which thread_slow_return begins, or ends the process. */
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

/* Before that, for a page fault in the program or in a copy from or to its memory: whether what was tried,
 * with these rights, is allowed by now. This CPU remembered old rights, or another one was changing them; it
 * should try again. The program's own fault waits for such a change to end; a copy's, where locks may be
 * held, does not. */
bool page_fault_is_spurious(uint64_t address, unsigned rights, bool from_program);

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

/* An address space's tables. They are paid by the process, from its own slice. What changes them is called
 * with the address space's lock held (vm.h); several CPUs may use them meanwhile. */
struct arch_space {
    uint64_t root;
    struct page_pool *pages;
    uint64_t cpus; /* a bit for each CPU on which it is active */
};

int arch_space_create(struct arch_space *space, struct page_pool *pages);

/* Makes it this CPU's; leaves it for the kernel's own map, before its tables may be given back. */
void arch_space_activate(struct arch_space *space);
void arch_space_deactivate(struct arch_space *space);

/* Makes all CPUs on which the space is active forget what they know of the range, and of tables on the way to
 * it; returns when they have. The functions below do so themselves, before they give anything back: memory
 * or tables that a CPU remembers would be written to by the program while they are somebody else's. Only
 * rights that are given are not told: a CPU that remembers less faults, and arch_space_allows says that it
 * may try again. */
void arch_tlb_shootdown(struct arch_space *space, uint64_t address, uint64_t bytes);

/* Whether the program may use `address` with these rights now. Lock-free, but interrupts must be off: tables
 * stay where they are until this CPU has served a crosscall. */
bool arch_space_allows(const struct arch_space *space, uint64_t address, unsigned rights);

/* Maps [address, address + bytes) to `physical` with the largest pages that alignment allows; nothing may be
 * mapped there. Both page-aligned. rights == 0 keeps the memory attached but out of reach. -ENOMEM (nothing
 * is mapped then). */
int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights);

/* Makes `address` the beginning of a page, by cutting a large page around it. -ENOMEM where there is no
 * memory for the table. */
int arch_split(struct arch_space *space, uint64_t address);

/* The next four need page bounds at the range's ends (arch_split), so that they cannot fail. Holes in the
 * range are fine. */

/* Takes what is mapped in the range away and, once no CPU knows it any more, calls `release` (may be NULL)
 * for each physical run, in ascending order of addresses. [hole.low, hole.high) holds the range and else
 * nothing that is mapped: tables that lead nowhere else are given back. A caller who always tells the whole
 * hole leaves no table that leads to nothing. */
struct arch_hole {
    uint64_t low, high;
};
void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes, struct arch_hole hole,
                void (*release)(void *context, uint64_t physical, uint64_t bytes), void *context);

/* Moves what is mapped in the range to `to`, where nothing is mapped; it has these rights, all of it. There
 * must be memory for the tables. */
void arch_move(struct arch_space *space, uint64_t address, uint64_t to, uint64_t bytes, unsigned rights);

/* New rights for what is mapped in the range. */
void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights);

/* Zeroes the memory attached to [address, address + bytes), whatever the program's rights to it; any
 * alignment. Returns how many bytes that were. */
uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes);

/* Length of the run from `address`, at most `bytes`, that is alike: attached to memory or not. *attached
 * tells which. */
uint64_t arch_attached_run(const struct arch_space *space, uint64_t address, uint64_t bytes, bool *attached);

/* The physical address behind one of the program's, or PAGE_POOL_NONE. Lock-free as arch_space_allows. */
uint64_t arch_translate(const struct arch_space *space, uint64_t address);

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

/* NUMA as the firmware tells it: ranges of memory with their nodes (0 where it tells nothing), and the node
 * of a CPU that runs, or NUMA_DOMAIN_NONE. */
unsigned arch_numa_ranges(const struct numa_range **ranges);
uint32_t arch_cpu_numa_domain(unsigned cpu); /* after arch_cpus_start */

/* Where a CPU sits in the machine: hardware threads of one core share both numbers. */
struct cpu_place {
    uint32_t package, core;
};
struct cpu_place arch_cpu_place(unsigned cpu);

/* The lines of /proc/cpuinfo about a CPU that the architecture knows, a piece at a time. */
struct text_sink;
void arch_cpuinfo_describe(unsigned cpu, struct text_sink *sink);

/* What an interrupt is for: Linux's three-letter label in /proc/interrupts, a blank, words. NULL where the
 * number means nothing. */
const char *arch_interrupt_name(unsigned number);

/* How CPUs wait: `idle=` of the command line. -EINVAL with `why`. After arch_initialise. */
int arch_idle_configure(const struct command_line *line, struct message *why);

/* Waits for an interrupt or for arch_ipi_send, which may have come already: the caller looks at what it waits
 * for, with interrupts off, calls this, and looks again. */
void arch_cpu_idle(void);
/* Ends another CPU's arch_cpu_idle, or interrupts its program, so that it passes kernel_woken. What it is to
 * find has been stored before. */
void arch_ipi_send(unsigned cpu);

/* Another CPU's ring of the flight log. */
const struct klog_ring *arch_klog_of(unsigned cpu);
/* Whether this CPU logs its system calls: klog_system_call before, klog_system_call_end after each. */
void arch_system_calls_log(bool on);

/* The vDSO: an ELF file of whole pages in the kernel's image, which programs see right behind the page of
 * clock_page.h; 0 bytes where the architecture has none. What it must know of the CPUs, for that page. */
uint64_t arch_vdso_image(const void **image);
uint32_t arch_vdso_features(void);

/* Halts this CPU for good, but for crosscalls, which it serves. */
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

/* Enters the program, by way of thread_slow_return: who wanted something of the thread since it was stored
 * for this CPU may have woken a CPU on which it was not yet, or no longer. */
_Noreturn void arch_start_enter(struct arch_start *start);

/* Lets the system call that runs return through thread_slow_return (thread.h). */
void arch_request_slow_return(void);

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
void arch_call_restart(void *frame, unsigned number);

uint64_t arch_frame_instruction(const void *frame);
uint64_t arch_frame_stack(const void *frame);
/* In a system call: its caller's stack pointer. */
uint64_t arch_call_stack(void);

uint64_t arch_clock_hz(void);
uint64_t arch_boot_ticks(void);
/* What arch_ticks() adds to a CPU's own reading of the clock source to get the first CPU's; programs that
 * read the clock on the vDSO's page (clock_page.h) must add it, too. */
uint64_t arch_clock_offset(unsigned cpu);
/* Ticks that a CPU has spent in the kernel since its thread started, a running system call included. */
uint64_t arch_kernel_ticks(unsigned cpu);
uint64_t arch_wall_clock_s(void); /* the battery clock: seconds since 1970 UTC; 0 where there is none */
/* A hardware random number where there is one, else mixed from the clock. */
uint64_t arch_random(void);
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

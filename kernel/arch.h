/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h: the contract between the kernel and an architecture, complete in both directions: a new
 * architecture is written from this header alone. The kernel includes this header and no other of an
 * architecture; sources of an architecture call only those functions of the kernel that are listed here.
 *
 * An architecture's entry code fills a struct boot_info and calls kernel_start() once. After that it calls up
 * when a program or an interrupt enters the kernel. The kernel calls down through the functions below. All
 * of them run in the kernel, interrupts off, on any CPU, unless a comment says otherwise.
 *
 * ---- What an architecture defines in headers, in arch/<name>/include/arch/ ----
 *
 * platform.h, for all of the kernel:
 *   ARCH_NAME, ARCH_ELF_MACHINE       the architecture's name for uname, and its ELF machine number
 *   ARCH_PAGE, ARCH_LARGE_PAGE,
 *   ARCH_HUGE_PAGE                    page sizes in bytes; arch_huge_pages() says whether the last one exists
 *   ARCH_CPUS_MAX                     how many CPUs the kernel can manage
 *   ARCH_EARLY_LIMIT,
 *   ARCH_ADDRESS_LIMIT                the early map, and the final one, reach the physical memory below these
 *   ARCH_USER_LIMIT                   programs may map [ARCH_PAGE, ARCH_USER_LIMIT)
 *   ARCH_PIE_BASE, ARCH_MMAP_BASE     where a static-PIE is loaded; where mmap starts to search
 *   ARCH_SYSCALL_NUMBER(x86_64, ppc64)    selects this architecture's number of a system call
 *   ARCH_KERNEL_STACK_BYTES           of a thread's kernel stack
 *   struct arch_context               the registers of a thread that no CPU runs (see "Threads")
 *   arch_process, arch_process_set    the process that this CPU runs, or NULL
 *   arch_thread, arch_thread_set      the thread that this CPU runs, or NULL
 *   arch_physical(address)            the kernel's pointer to physical memory
 *   arch_physical_of(pointer)         the inverse, also for pointers into the kernel's image
 *   arch_ticks()                      the counter of the clock source, alike on all CPUs
 *   arch_ticks_ordered()              the same, not before earlier instructions have completed
 *   arch_klog(), arch_klog_of(cpu)    this CPU's ring of the flight log, and that of a CPU that runs
 *   arch_cpu_index()                  this CPU's number
 *   arch_core_of(cpu)                 of a CPU that runs: the CPU below arch_core_count() on the same core,
 *                                     which may be `cpu` itself
 *   arch_cpu_numa_domain(cpu)         of a CPU that runs, or NUMA_DOMAIN_NONE
 *   arch_counters_here()              this CPU's page of counters
 *   arch_per_cpu_here(),
 *   arch_per_cpu_of(cpu)              how far a CPU's variables of smp/per_cpu.h lie above the first CPU's,
 *                                     which are the section .bss.per_cpu of the kernel's image
 *   arch_kernel_ticks_begin()         begins to count this CPU's ticks in the kernel, at zero; in the kernel
 *   arch_pause()                      a hint to the CPU inside a loop that polls
 *   ARCH_PRIORITY_MAX                 the highest hardware priority that a program's thread may have, 1 being
 *                                     the lowest; 0 if CPUs have none, and the next two do nothing. They say
 *                                     how hardware threads share their core [Betti09 §IV]; a thread's goes
 *                                     with it from CPU to CPU, and the thread may change it without a call
 *   arch_priority(context)            the caller's own, or that with which another thread left a CPU last or
 *                                     that it has set since
 *   arch_priority_set(priority)       sets the caller's; in a system call
 * io.h, for drivers:
 *   io_read8(address), io_write8(address, value)    a device's register of one byte in the address space in
 *                                     which the architecture has such devices (x86_64: ports)
 *   mmio_read32(address), mmio_write32(address, value)    a device's register in memory that arch_device_map
 *                                     mapped, little-endian; in order among themselves, also those of two
 *                                     CPUs that hold the same lock one after the other, after all earlier
 *                                     stores to memory that the device reads, before all later loads
 *   dma_barrier()                     between loads, or between stores, of memory that a device reads and
 *                                     writes too (arch_dma_allocate)
 * linux_abi.h, besides lib/linux_abi.h: the structures and constants of Linux's interface that differ between
 *   architectures (see x86_64's).
 *
 *   provides-inline: arch_process arch_process_set arch_thread arch_thread_set arch_physical arch_physical_of
 *   provides-inline: arch_ticks arch_ticks_ordered arch_klog arch_counters_here arch_cpu_index arch_pause
 *   provides-inline: arch_per_cpu_here arch_per_cpu_of arch_cpu_distances boot_cpu
 *   provides-inline: arch_priority arch_priority_set
 *   provides-inline: arch_kernel_ticks_begin arch_klog_of arch_core_of arch_cpu_numa_domain
 *   provides-inline: io_read8 io_write8 mmio_read32 mmio_write32 dma_barrier
 *
 * ---- What an architecture may call, by the header that declares it ----
 *
 * arch.h (below): the kernel's entry points.
 *   call-up: kernel_start kernel_cpu_start trap_user_fault page_fault_is_spurious input_interrupt
 * syscall/syscall.h: what the system call instruction leads to. syscall_table[n] is the handler of call n <
 * SYSCALL_SLOTS; a larger n, and every unused slot (through syscall_hole), goes to syscall_unknown.
 *   call-up: syscall_table syscall_unknown
 * process/thread.h, process/signal.h: the slow return to the program; clone, with the caller's registers;
 * what arch_switch continues with; the alternate stack of a signal's handler.
 *   call-up: thread_slow_return thread_must_return_slowly thread_clone thread_begin thread_idle
 *   call-up: signal_stack_holds
 * time/clock.h, time/clock_event.h, time/timer.h: the time; the devices that interrupt at a time, and their
 * interrupt.
 *   call-up: clock_now_ns clock_ticks_at clock_event_register timer_interrupt
 * mm/page_pool.h: memory for tables.
 *   call-up: page_pool_initialise page_pool_allocate page_pool_allocate_zeroed page_pool_free_zeroed
 *   call-up: page_pool_take page_pool_free
 * smp/crosscall.h: a function run on other CPUs, for TLB shootdowns; what an IPI (arch_ipi_send) calls.
 *   call-up: crosscall crosscall_all crosscall_serve
 * debug/: printing, stopping the node, the flight log. klog_system_call and klog_system_call_end are called
 * before and after each system call while arch_system_calls_log(true) holds.
 *   call-up: kernel_print console_register console_default_move console_serve console_serving
 *   call-up: console_lock_break node_stop
 *   call-up: klog_mask klog_cpu_start klog_system_call klog_system_call_end
 * lib/: text and memory; the parsers' side of struct boot_info; the command line.
 *   call-up: memcpy memmove memset memcmp strlen strnlen strcmp strncmp format_text message_set sink_print
 *   call-up: boot_info_add_range boot_info_add_module boot_info_page_is_free option_word
 * drivers/: the consoles that the machine may have, registered before kernel_start(); the devices on PCI:
 * silenced before kernel_start(), started at the end of arch_initialise, with their part of arch_pool_bytes.
 *   call-up: uart_register vga_text_register screen_check screen_register
 *   call-up: pci_quiesce pci_pool_bytes pci_start
 * beat/nettick.h: a heartbeat has been passed on to this CPU (arch_beat_send).
 *   call-up: nettick_interrupt
 * net/device.h: a device of the network has interrupted this CPU.
 *   call-up: network_device_interrupt
 */
#ifndef TACET_ARCH_H
#define TACET_ARCH_H

#include "arch/platform.h"
#include "smp/cpu_mask.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch_context; /* arch/platform.h */
struct boot_info;    /* lib/boot_info.h, with struct memory_range, struct numa_range, NUMA_DOMAIN_NONE */
struct command_line; /* lib/command_line.h */
struct linux_siginfo;
struct memory_range;
struct message; /* lib/format.h */
struct numa_range;
struct page_pool; /* mm/page_pool.h, with PAGE_POOL_NONE: no memory */
struct signal_stack;
struct text_sink;

/* ---- The kernel's entry points, which an architecture calls ---- */

/* Starts the kernel. Called once, on the first CPU, early map in place, interrupts off. */
_Noreturn void kernel_start(struct boot_info *boot);

/* Takes a further CPU in. Called once on each, after its start: final map, clock compared, interrupts off, on
 * its own stack. */
_Noreturn void kernel_cpu_start(unsigned cpu);

/* A fault of the program that is not spurious. `signal` is the Linux signal that it raises, `code` its
 * si_code, 0 if that depends on what is mapped at `address`; `cause` describes it in words ("page fault:
 * write to a page it may only read"); `frame` is the architecture's, for arch_registers_print.
 * trap_user_fault makes the signal pending for the handler, which thread_slow_return starts, or ends the
 * process. */
struct fault {
    int signal;
    int code;
    const char *cause;
    uint64_t address; /* address of the access; valid if has_address */
    bool has_address;
    const void *frame;
};
void trap_user_fault(const struct fault *fault);

/* Returns whether the access, with these rights, is allowed by now, so that the instruction is to be retried:
 * the TLB of this CPU had old rights, or another CPU was changing them. Called first for a page fault in the
 * program, or in a copy from or to its memory. For the program's own access it waits for such a change to
 * end; for a copy, during which locks may be held, it does not. */
bool page_fault_is_spurious(uint64_t address, unsigned rights, bool from_program);

/* Handles the interrupt of a device with input (arch_input_route). */
void input_interrupt(void);

/* ---- Start-up, power ---- */

/* Returns an upper bound of the bytes of the pool that the architecture needs to map all of `boot`'s
 * memory. */
uint64_t arch_pool_bytes(const struct boot_info *boot);

/* Returns where the kernel's image lies in physical memory. */
struct memory_range arch_kernel_image(void);

/* Replaces the early map by the final one: image with its rights (no page both writable and executable), all
 * of `boot`'s memory in the direct map, nothing else. Tables come from `pool`. Stops the node if there is no
 * memory for them. */
void arch_memory_initialise(struct page_pool *pool, const struct boot_info *boot);

/* Initialises the rest: detects CPU features, silences interrupt controllers, calibrates the clock. After
 * arch_memory_initialise. */
void arch_initialise(const struct boot_info *boot);

/* Switches the machine off, or halts for ever if that is not possible. */
_Noreturn void arch_power_off(void);

/* Restarts the machine by its firmware. */
_Noreturn void arch_reboot(void);

/* Halts this CPU for ever, even if something interrupts it. */
_Noreturn void arch_halt(void);

/* Returns whether a key of the machine's own keyboard was pressed since the last call; false if there is none
 * that the architecture can read without a driver. */
bool arch_key_pressed(void);

/* ---- CPUs ---- */

/* Returns how many CPUs the firmware names, at least 1. */
unsigned arch_cpus_present(void);

/* Starts all CPUs but this one, after arch_initialise. A CPU that does not answer is named in the log and
 * left out. */
void arch_cpus_start(struct page_pool *pool, const struct boot_info *boot);

/* Returns how many CPUs run, numbered from 0 without gaps. Valid after arch_cpus_start, as all that follows
 * here. */
unsigned arch_cpu_count(void);

/* Returns how many of these have a core of their own: they have the lowest numbers. The further hardware
 * threads of the same cores have the numbers above. */
unsigned arch_core_count(void);

/* Where a CPU is in the machine: hardware threads of one core share both numbers. */
struct cpu_place {
    uint32_t package, core;
};
struct cpu_place arch_cpu_place(unsigned cpu);

/* A cache of a CPU; 0: not known. CPUs that share it have the same id. */
struct cpu_cache {
    enum cache_kind { CACHE_DATA = 1, CACHE_INSTRUCTIONS, CACHE_UNIFIED } kind;
    uint32_t level, bytes, line_bytes, ways, sets, id;
};

/* Describes the caches of a CPU, counted from 0, nearest first. Returns false if there is none of that index,
 * or the machine does not describe its caches. All CPUs have as many. */
bool arch_cpu_cache(unsigned cpu, unsigned index, struct cpu_cache *cache);

/* Returns NUMA as the firmware describes it: ranges of memory with their domains, and how many (0 if there is
 * no description). */
unsigned arch_numa_ranges(const struct numa_range **ranges);

/* Applies `idle=` of the command line: how idle CPUs wait. -EINVAL with `why`. After arch_initialise. */
int arch_idle_configure(const struct command_line *line, struct message *why);

/* Waits for an interrupt or for an IPI, which may have come already. The caller checks the condition that it
 * waits for, with interrupts off, calls this, and checks again. */
void arch_cpu_idle(void);

/* Ends another CPU's arch_cpu_idle, or interrupts its program, so that it calls crosscall_serve. The sender
 * has stored before what the other CPU is to find. A full barrier comes before the interrupt is sent, if the
 * store or the call that sends it may overtake stores to memory: so from its interrupt, or the end of its
 * arch_cpu_idle, on the other CPU sees all that this CPU has stored, or has seen stored by others. */
void arch_ipi_send(unsigned cpu);

/* Interrupts all other CPUs, after the same barrier, and, with `to_itself`, this one once it accepts
 * interrupts: each calls nettick_interrupt. */
void arch_beat_send(bool to_itself);

/* Routes an interrupt line of a device: from now on its interrupt comes to that CPU alone, which calls
 * input_interrupt. Before the first call it comes to no CPU. Returns false if the machine cannot route it.
 * Callers serialise their calls. */
bool arch_input_route(unsigned line, unsigned cpu);

/* Halts this CPU for good, except that it serves crosscalls. */
_Noreturn void arch_cpu_park(void);

/* ---- Devices ---- */

/* Returns the segments of PCI's buses that can be reached, each with its own numbers of buses; 0 if there is
 * no PCI. Before the final map there may be fewer. */
struct arch_pci_segment {
    uint16_t number;
    uint8_t bus_first, bus_last;
    bool has_more; /* buses may be there to which no bridge of the first one leads */
};
unsigned arch_pci_segments(const struct arch_pci_segment **segments);

/* Reads, or writes, an aligned register of a function's configuration space; reads all ones if nothing
 * answers. The function is segment << 16 | bus << 8 | device << 3 | function. Callers serialise their
 * calls. */
uint32_t arch_pci_read(uint32_t function, unsigned offset);
void arch_pci_write(uint32_t function, unsigned offset, uint32_t value);

/* Maps registers of a device, uncached, for good; NULL if there is no room. From arch_initialise on, on the
 * first CPU, before the others start. */
volatile void *arch_device_map(uint64_t physical, uint64_t bytes);

/* Allocates memory that a device may read and write, for good: zeroed pages of the kernel's pool, one run,
 * below 4 GiB; NULL if there is none. The device finds it at its physical address (arch_physical_of): no
 * translation is set up between devices and memory. What drivers need is part of arch_pool_bytes. Same
 * context as arch_device_map. */
void *arch_dma_allocate(uint64_t bytes);

/* Gets what a device writes, and to which address, to interrupt this CPU (a message interrupt): the CPU calls
 * network_device_interrupt. Returns false if no message reaches that CPU. */
bool arch_message_interrupt(unsigned cpu, uint64_t *address, uint32_t *data);

/* Interrupt lines of devices. Only the device knows for sure to which input of an interrupt controller its
 * line leads: arch_line_find makes it raise the line, by `raise`, and finds the input that is raised;
 * ARCH_LINE_NONE if none is, or one is also without it. Before any line is routed. arch_line_route: from now
 * on only that CPU is interrupted while the line is raised, and calls network_device_interrupt; false if that
 * is not possible. arch_line_mask: no CPU is interrupted. Callers serialise their calls. */
#define ARCH_LINE_NONE UINT32_MAX
uint32_t arch_line_find(void (*raise)(void *context, bool on), void *context);
bool arch_line_route(uint32_t line, unsigned cpu);
void arch_line_mask(uint32_t line);

/* Takes the interrupts that are pending on this CPU. They are off before and after. */
void arch_interrupts_accept(void);

/* ---- Clocks ---- */

uint64_t arch_clock_hz(void);   /* the rate of arch_ticks() */
uint64_t arch_boot_ticks(void); /* arch_ticks() at the kernel's first instruction */

/* Returns what arch_ticks() adds to a CPU's own reading of the clock source to get the first CPU's; programs
 * that read the clock through the vDSO's page (clock_page.h) must add it, too. */
uint64_t arch_clock_offset(unsigned cpu);

/* Returns how many ticks a CPU has spent in the kernel since arch_kernel_ticks_begin, a running system call
 * included. */
uint64_t arch_kernel_ticks(unsigned cpu);

/* Returns the battery-backed clock's time: seconds since 1970 UTC; 0 if there is no such clock. */
uint64_t arch_wall_clock_s(void);

/* ---- Address spaces ---- */

/* Returns whether ARCH_HUGE_PAGE is a page size of this CPU. */
bool arch_huge_pages(void);

/* The page tables of an address space, allocated from its process's slice. Functions that change them are
 * called with the address space's lock held (vm.h); several CPUs may use them meanwhile. `rights` are of enum
 * memory_rights (lib/elf_image.h). */
struct arch_space {
    uint64_t root;
    struct page_pool *pages;
    struct cpu_mask cpus; /* CPUs on which it, or a space that links it, is active */
    bool is_linked;       /* for arch_link: never active itself */
};

int arch_space_create(struct arch_space *space, struct page_pool *pages);

/* Makes it this CPU's address space; or replaces it by the kernel's own map, before its tables may be freed.
 * The CPU's bit of `cpus` is set before, and a full barrier comes before the tables are used: so a CPU that
 * changes an entry and then finds the bit clear need not send a shootdown. The bit is cleared once nothing is
 * cached any more. */
void arch_space_activate(struct arch_space *space);
void arch_space_deactivate(struct arch_space *space);

/* Returns whether the program may access `address` with these rights now. Lock-free: on a CPU on which the
 * space is active, interrupts off, and in a grace period: a table that is taken out of the tree is freed only
 * after each CPU of `cpus` has served a crosscall since. The grace period is not the TLB's flush, though the
 * same crosscall flushes: an architecture that could flush other CPUs' TLBs without them still needs it. */
bool arch_space_allows(const struct arch_space *space, uint64_t address, unsigned rights);

/* Returns the physical address of one of the program's, or PAGE_POOL_NONE. Lock-free as arch_space_allows. */
uint64_t arch_translate(const struct arch_space *space, uint64_t address);

/* Functions that unmap, move, or take rights away do a TLB shootdown: all CPUs on which the space is active
 * drop their translations of the range, and of tables on the way to it, before memory or tables are freed.
 * Otherwise the program could write, through a stale translation, to memory that has another owner by then.
 * Rights that are added need no shootdown: a CPU with a stale translation faults, and
 * page_fault_is_spurious() says that the access is to be retried. */

/* Maps [address, address + bytes) to `physical` with the largest pages that alignment allows; nothing may be
 * mapped there. Both page-aligned. rights == 0 keeps the memory attached but inaccessible. -ENOMEM (nothing
 * is mapped then). */
int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights);

/* Makes `address` the beginning of a page, by splitting a large page around it. Returns -ENOMEM if there is
 * no memory for the table. */
int arch_split(struct arch_space *space, uint64_t address);

/* The next three need page bounds at the range's ends (arch_split), so that they cannot fail. Holes in the
 * range are fine. */

/* Unmaps the range and, after the shootdown, frees its memory to `owner` (NULL: it stays), in ascending order
 * of addresses. [hole.low, hole.high) contains the range and otherwise nothing that is mapped: tables that
 * map nothing outside of it are freed. A caller that always passes the whole hole leaves no empty table.
 */
struct arch_hole {
    uint64_t low, high;
};
void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes, struct arch_hole hole,
                struct page_pool *owner);

/* Moves what is mapped in the range, all of it with these rights, to `to`, where nothing is mapped. There
 * must be memory for the tables. */
void arch_move(struct arch_space *space, uint64_t address, uint64_t to, uint64_t bytes, unsigned rights);

/* Changes the rights of what is mapped in the range. */
void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights);

/* Links [0, bytes) of a tree that is_linked into `space` at `address`: a multiple of arch_link_span(bytes), a
 * power of two, in which nothing may be mapped up to the next multiple. Both have these tables from now on,
 * and what is changed in the tree changes in every space that links it. The caller sees to it that no other
 * function above meets an address of this span, and that arch_map is called for at most a large page of the
 * tree. -ENOMEM. arch_unlink undoes it. */
uint64_t arch_link_span(uint64_t bytes);
int arch_link(struct arch_space *space, uint64_t address, struct arch_space *tree, uint64_t bytes);
void arch_unlink(struct arch_space *space, uint64_t address, uint64_t bytes);

/* Does a TLB shootdown of all that the CPUs of a space, or tree, have cached. */
void arch_flush(struct arch_space *space);

/* Zeroes the memory attached to [address, address + bytes), whatever the program's rights to it; any
 * alignment. Returns how many bytes that were. */
uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes);

/* Returns the length of the run from `address`, at most `bytes`, that is alike: attached to memory, or not;
 * *attached says which. */
uint64_t arch_attached_run(const struct arch_space *space, uint64_t address, uint64_t bytes, bool *attached);

/* ---- Copies ---- */

/* Longer copies go in pieces of this size, between which the CPU serves crosscalls. */
#define ARCH_PIECE (64 * 1024ULL)

/* Copies between kernel and program that survive any address: 0 or -EFAULT (a part may have been copied). */
int user_read(void *to, uint64_t from, uint64_t bytes);
int user_write(uint64_t to, const void *from, uint64_t bytes);
int user_clear(uint64_t to, uint64_t bytes);

/* Reads a string of at most `bytes` bytes with its NUL. Returns its length, -EFAULT, or -ENAMETOOLONG if none
 * of these bytes is a NUL. */
int64_t user_read_string(char *to, uint64_t from, uint64_t bytes);

/* Reads, in one piece, an aligned word of the program's that its threads may change at the same time: 0 or
 * -EFAULT. user_exchange_word replaces the word if it is *expected: 1; if it is another, stores that in
 * *expected: 0; or -EFAULT. It is a full barrier, because the program may take and release locks by such
 * words. */
int user_read_word(uint32_t *to, uint64_t from);
int user_exchange_word(uint64_t at, uint32_t *expected, uint32_t desired);

/* Zeroes memory of the kernel, the fastest way that the architecture has. */
void arch_zero(void *memory, uint64_t bytes);

/* ---- System calls ---- */

/* Fills the table's unused slots: passes the call's number, which no argument register holds, to
 * syscall_unknown. sys_clone is the handler of clone: it passes its arguments to thread_clone, and the
 * registers of the caller that C functions may have moved. Both are in the entry code. */
void syscall_hole(void);
long sys_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls);

/* Makes the system call that runs return through thread_slow_return (thread.h). */
void arch_request_slow_return(void);

/* Returns the caller's stack pointer. */
uint64_t arch_call_stack(void);

/* Returns whether `frame` is a system call's that returns -EINTR. arch_call_restart makes it call again,
 * `number` with the same arguments. */
bool arch_call_interrupted(const void *frame);
void arch_call_restart(void *frame, unsigned number);

/* Sets or gets the thread pointer: Linux's arch_prctl on x86_64; -ENOSYS elsewhere. */
long arch_thread_pointer_call(uint64_t code, uint64_t address);

/* Does operations of prctl that only the architecture has, for the caller; -EINVAL for all others. */
long arch_thread_option(uint32_t operation, uint64_t argument);

/* ---- Threads ---- */

/* Fills the registers with which a thread begins, on a kernel stack that ends at `kernel_stack`: arch_switch
 * to it calls thread_begin. initial: general registers zero, vector state initial. clone: those of the caller
 * of clone, with `kept` from thread_clone, the result 0, and another stack and thread pointer if these are
 * not zero or NULL. */
void arch_start_initial(struct arch_context *context, uint64_t kernel_stack, uint64_t entry, uint64_t stack);
void arch_start_clone(struct arch_context *context, uint64_t kernel_stack, const void *kept, uint64_t stack,
                      const uint64_t *thread_pointer);

/* Enters the program for the first time, by way of thread_slow_return: a signal may be pending already. */
_Noreturn void arch_start_enter(struct arch_context *context);

/* Saves the registers of this CPU's thread (NULL: they are no longer needed) and loads another one's, whose
 * call of arch_switch returns; NULL: calls thread_idle on the CPU's own stack. Returns when another
 * arch_switch, perhaps on another CPU, loads `from`. */
void arch_switch(struct arch_context *from, const struct arch_context *to);

/* Makes a page of the direct map fault in the kernel, so that the overflow of a stack above it faults. If the
 * pool has no memory for tables, the page stays as it is. */
void arch_guard_page(uint64_t address, struct page_pool *pool);

/* Has a page that was made to fault so be there for a moment, and fault again: on this CPU. Called for one
 * page alone, under a lock; other CPUs may not touch it meanwhile. Does nothing if arch_guard_page had no
 * memory. */
void arch_guard_page_open(uint64_t address, bool is_open);

/* Undoes that for all pages of a range that is no longer in use: then the pool of its memory may be
 * initialised again. On one CPU; the others idle, and serve a crosscall. */
void arch_guard_pages_drop(const struct memory_range *range);

/* ---- Signals ---- */

/* A handler that is to run, and what its frame contains. */
struct arch_signal {
    const struct linux_siginfo *info; /* lib/linux_abi.h */
    uint64_t handler, restorer;
    uint64_t vdso;                    /* where the program sees the vDSO's image */
    uint64_t blocked;                 /* the mask that is restored when the handler returns */
    const struct signal_stack *stack; /* the alternate one; process/signal.h */
    bool on_alternate;                /* the action has SA_ONSTACK */
    bool takes_info;                  /* the action has SA_SIGINFO */
};

/* Makes `frame` lead into the handler, which returns to where the frame led. Returns -EFAULT if the stack
 * cannot take its frame at *place (0: the alternate stack is too small); nothing but memory of the stack has
 * changed then. */
int arch_signal_enter(void *frame, const struct arch_signal *signal, uint64_t *place);

/* Fills `frame`, for rt_sigreturn, from what arch_signal_enter has put on the stack, and the program may have
 * changed since. Whatever it finds there, the program gains no rights. Returns -EFAULT if it is invalid. */
int arch_signal_return(void *frame, uint64_t *blocked, struct signal_stack *stack);

uint64_t arch_frame_instruction(const void *frame);
uint64_t arch_frame_stack(const void *frame);

/* ---- What the kernel shows of the machine ---- */

void arch_cpu_describe(char *text, size_t bytes);

/* Writes the lines of /proc/cpuinfo about a CPU that are the architecture's, a piece at a time. */
void arch_cpuinfo_describe(unsigned cpu, struct text_sink *sink);

/* Returns what an interrupt is for: Linux's three-letter label in /proc/interrupts, a blank, words; or an
 * exception's name. Returns NULL if the number is not in use. */
const char *arch_interrupt_name(unsigned number);
const char *arch_exception_name(unsigned number);

/* Returns the page of counters that a CPU's programs see (tacet.h). */
struct tacet_counters *arch_counters(unsigned cpu);

/* Prints the registers of a fault's frame, and the kernel's own call chain, through kernel_print. */
void arch_registers_print(const void *frame);
void arch_backtrace_print(void);

/* Sets whether this CPU logs its system calls. */
void arch_system_calls_log(bool on);

/* ---- What programs get from the machine ---- */

/* Draws an unpredictable random number from the hardware. Returns false if it has none. */
bool arch_random_strong(uint64_t *value);

/* Returns a hardware random number if there is one, else one mixed from the clock. */
uint64_t arch_random(void);

uint64_t arch_hwcap(unsigned word); /* 1: AT_HWCAP, 2: AT_HWCAP2 */

/* Fills in what the auxiliary vector has on this architecture alone: types and values, at most
 * ARCH_AUXILIARY_MAX. Returns their number. `platform`: where the program finds the text of AT_PLATFORM. */
#define ARCH_AUXILIARY_MAX 16
unsigned arch_auxiliary(uint64_t platform, uint64_t (*entries)[2]);

/* The vDSO: an ELF file of whole pages in the kernel's image, which programs see directly above the page of
 * clock_page.h. arch_vdso_features: its word on that page. */
extern const uint8_t arch_vdso_image[], arch_vdso_image_end[];
uint32_t arch_vdso_features(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c: the beginning and the end of a process, and the report of a fault that ends a program.
 *
 * Runs on the process's own CPUs, interrupts off; process_find on any. Owns the table of processes. When a
 * process ends, what other ranks can see of it ends; its memory is no other rank's, and stays.
 */
#include "process/process.h"
#include "arch.h"
#include "debug/console.h"
#include "debug/symbols.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "time/clock.h"

#define detail(...)     process_report(REPORT_DETAIL, __VA_ARGS__)
#define STATUS_SIGNALED 128

unsigned process_rank_count;
struct credentials process_credentials;

static struct process *processes[PROCESSES_MAX]; /* by rank; NULL before its start */
void (*process_end_hook)(struct process *process) __attribute__((noreturn));

static const char *base_name(const char *path)
{
    const char *name = path;

    for (const char *c = path; *c; c++)
        if (*c == '/' && c[1])
            name = c + 1;
    return name;
}

/* Sets the limits of a new process. The stack's follows when it is mapped (init/load.c). */
static void limits_begin(struct process *process)
{
    const uint64_t slice_bytes = process->pages.total_bytes;
    const unsigned threads = threads_max(&process->cpus);
    struct linux_rlimit *limits = process->limits;

    memset(limits, 0xff, sizeof(process->limits)); /* RLIM_INFINITY */
    limits[LIMIT_DATA] = limits[LIMIT_MEMORY] = (struct linux_rlimit){ slice_bytes, slice_bytes };
    limits[LIMIT_CORE] = (struct linux_rlimit){ 0, 0 };
    limits[LIMIT_THREADS] = (struct linux_rlimit){ threads, threads };
    limits[LIMIT_FILES] = (struct linux_rlimit){ FILE_DESCRIPTORS_SOFT, FILE_DESCRIPTORS_MAX };
    limits[LIMIT_SIGNALS] = (struct linux_rlimit){ SIGNAL_ENTRIES, SIGNAL_ENTRIES };
}

int process_create(unsigned rank, const struct memory_slice *slice, const struct cpu_mask *cpus,
                   const char *name, struct process **out, struct message *why)
{
    struct page_pool pages;

    page_pool_initialise(&pages, slice->extents, slice->extent_count);
    struct process *process = page_pool_take(&pages, sizeof(*process));
    if (!process)
        return message_set(why, -ENOMEM, "no memory for the process of rank %u", rank);

    process->pages = pages;
    process->slice = slice;
    process->futexes.domain = &process->futexes.own_domain;
    process->rank = rank;
    process->is_service = rank == process_rank_count;
    if (process->is_service)
        format_text(process->title, sizeof(process->title), "service");
    else
        format_text(process->title, sizeof(process->title), "rank %u", rank);
    process->cpus = *cpus;
    process->pid = PID_FIRST + rank;
    process->umask = 022;
    process->attributes[ATTRIBUTE_DUMPABLE] = 1;
    limits_begin(process);
    format_text(process->name, sizeof(process->name), "%s", base_name(name));
    if (vm_create(&process->vm, &process->pages, &process->cpus))
        return message_set(why, -ENOMEM, "no memory for the page tables of rank %u", rank);
    __atomic_store_n(&processes[rank], process, __ATOMIC_RELEASE);
    *out = process;
    return 0;
}

_Noreturn void process_exit(unsigned status)
{
    struct process *process = arch_process();

    spin_lock(&process->lock);
    if (!process->ending) { /* else another thread's status counts */
        process->exit_status = status;
        __atomic_store_n(&process->ending, true, __ATOMIC_RELEASE);
    }
    threads_notify(process);
    spin_unlock(&process->lock);
    thread_exit(status);
}

struct cpu_time process_time(struct process *process)
{
    SPIN_GUARD(&process->lock);
    struct cpu_time sum = process->ended_time;
    PROCESS_THREADS_EACH(thread, process)
        sum = cpu_time_sum(sum, thread_time(thread));
    return sum;
}

void iteration_mark(void)
{
    struct process *process = arch_process();
    struct process_iterations *done = &process->iterations;
    struct cpu_time time = process_time(process);
    uint64_t now_ns = clock_now_ns(), used_ns = time.user_ns + time.system_ns;

    SPIN_GUARD(&process->lock);
    uint64_t cpus_ns = (now_ns - done->marked_ns) * cpu_mask_count(&process->cpus);
    uint64_t running_ns = used_ns > done->used_ns ? used_ns - done->used_ns : 0;
    if (done->marked_ns) {
        running_ns = running_ns < cpus_ns ? running_ns : cpus_ns;
        done->last = (struct iteration_time){ running_ns, cpus_ns - running_ns };
        done->sum.running_ns += done->last.running_ns;
        done->sum.waiting_ns += done->last.waiting_ns;
        done->count++;
    }
    done->marked_ns = now_ns;
    done->used_ns = used_ns;
}

struct process_iterations iterations_of(struct process *process)
{
    SPIN_GUARD(&process->lock);
    return process->iterations;
}

_Noreturn void process_end(void)
{
    struct process *process = arch_process();

    __atomic_store_n(&process->has_ended, true, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&process->end_audience.members[0], __ATOMIC_SEQ_CST))
        event_audience_notify(&process->end_audience, event_of(process));
    posix_timers_end(process);
    vm_end(&process->vm);
    process_end_hook(process);
}

struct process *process_ended(uint64_t rank)
{
    return rank < PROCESSES_MAX ? __atomic_load_n(&processes[rank], __ATOMIC_ACQUIRE) : NULL;
}

struct process *process_find(uint64_t pid)
{
    struct process *process = process_ended(pid - PID_FIRST);

    return process && !__atomic_load_n(&process->has_ended, __ATOMIC_ACQUIRE) ? process : NULL;
}

struct process *process_next(unsigned rank)
{
    struct process *process = NULL;

    for (; rank <= process_rank_count && !process; rank++)
        process = process_find(PID_FIRST + rank);
    return process;
}

void processes_drop(void)
{
    for (unsigned rank = 0; rank < PROCESSES_MAX; rank++)
        __atomic_store_n(&processes[rank], NULL, __ATOMIC_RELEASE);
}

/* ---- Ranks that are tied ---- */

static unsigned tied_count; /* atomic */
static unsigned left;       /* 1 + the status of a rank that has ended and was never tied; atomic */

unsigned process_tie_set(bool on)
{
    struct process *process = arch_process();
    const enum process_tie to = on ? TIE_ON : TIE_OFF;
    const enum process_tie before = __atomic_exchange_n(&process->tie, to, __ATOMIC_SEQ_CST);

    if (on && before != TIE_ON)
        __atomic_add_fetch(&tied_count, 1, __ATOMIC_SEQ_CST);
    if (!on && before == TIE_ON)
        __atomic_sub_fetch(&tied_count, 1, __ATOMIC_SEQ_CST);
    return on ? __atomic_load_n(&left, __ATOMIC_SEQ_CST) : 0;
}

bool process_ends_others(const struct process *process, unsigned status)
{
    if (process->tie != TIE_NEVER)
        return process->tie == TIE_ON;
    __atomic_store_n(&left, 1 + status, __ATOMIC_SEQ_CST); /* then look for ties; a tie does the reverse */
    return __atomic_load_n(&tied_count, __ATOMIC_SEQ_CST) > 0;
}

struct process *process_of_memory(uint64_t physical)
{
    for (unsigned rank = 0; rank <= process_rank_count; rank++) {
        struct process *process = process_ended(rank);

        if (process && memory_slice_has(process->slice, physical))
            return process;
    }
    return NULL;
}

/* ---- Limits ---- */

int process_limit(uint64_t resource, struct linux_rlimit *limit, const struct linux_rlimit *to)
{
    struct process *process = arch_process();
    const uint32_t which = (uint32_t)resource;

    if (which >= LIMITS || (to && to->soft > to->hard))
        return -EINVAL;
    SPIN_GUARD(&process->lock);
    *limit = process->limits[which];
    if (!to)
        return 0;
    if (to->hard > limit->hard)
        return -EPERM;
    process->limits[which] = *to;
    process->vm.limit_bytes = smaller(process->limits[LIMIT_DATA].soft, process->limits[LIMIT_MEMORY].soft);
    return 0;
}

/* ---- Reports ---- */

void process_report(unsigned kind, const char *format, ...)
{
    struct process *process = arch_process();
    const uint64_t bit = 1ULL << kind % 64;
    char line[512];
    size_t bytes = format_text(line, sizeof(line), CONSOLE_PREFIX);
    va_list arguments;

    if (kind < REPORT_END && __atomic_fetch_or(&process->reported[kind / 64], bit, __ATOMIC_RELAXED) & bit)
        return;
    if (kind != REPORT_DETAIL)
        bytes += format_text(line + bytes, sizeof(line) - bytes, "%s (%s)", process->title, process->name);
    va_start(arguments, format);
    bytes += format_va(line + bytes, sizeof(line) - bytes, format, arguments);
    va_end(arguments);
    bytes = smaller(bytes, sizeof(line) - 2);
    memcpy(line + bytes, "\n", 2);
    kernel_print("%s", line + sizeof(CONSOLE_PREFIX) - 1);
    if (process->say)
        process->say(process->messages, line, bytes + 1, kind >= REPORT_END);
    else
        console_message(line, bytes + 1);
}

#define NO_TABLES \
    "has grown, but there is no memory for page tables; give the node more memory, or run fewer ranks"

/* Prints what an address is to the program. */
static void address_describe(struct process *process, uint64_t address)
{
    struct vm_area area;
    const uint64_t near_stack = 1 << 20;
    const unsigned beyond = vm_beyond_object(&process->vm, address);

    if (address < process->stack_low && process->stack_low - address <= near_stack)
        detail("  the stack has overflowed: its %lu KiB end at %#lx; give it more with stack=SIZE",
               (process->stack_high - process->stack_low) / 1024, process->stack_low);
    else if (address >= ARCH_USER_LIMIT)
        detail("  that address is above all user memory");
    else if (address < ARCH_PAGE)
        detail("  that is a NULL pointer, or near one");
    else if (beyond)
        detail("  a file is mapped there that %s",
               beyond == VM_BEYOND_END ? "ends before this address" : NO_TABLES);
    else if (vm_find(&process->vm, address, &area))
        detail("  that lies in %#lx-%#lx %s%s%s %s", area.start, area.end,
               area.rights & RIGHT_READ ? "r" : "-", area.rights & RIGHT_WRITE ? "w" : "-",
               area.rights & RIGHT_EXECUTE ? "x" : "-", area.name[0] ? area.name : "anonymous");
    else
        detail("  nothing is mapped there");
}

/* Prints the function that the instruction is in, by the symbols of the program's file, as linked, and the
 * registers. */
static void place_describe(const struct process *process, const void *frame)
{
    const struct process_image *image = &process->image;
    const uint64_t address = arch_frame_instruction(frame);
    struct symbol symbol;

    if (address < image->low || address >= image->high)
        ; /* not in the file */
    else if (symbol_find(image->file, image->file_bytes, address - image->bias, &symbol))
        detail("  in %s+0x%lx (%#lx as linked)", symbol.name, symbol.offset, address - image->bias);
    else
        detail("  in the program, at %#lx as linked; its file names no function there",
               address - image->bias);
    arch_registers_print(frame);
}

/* Writes where a signal that ends its process came from, in words that follow its name. */
static void origin_describe(const struct process *process, const struct signal_info *info, char *text,
                            size_t bytes)
{
    const uint64_t alarms = signal_bit(SIGNAL_ALRM) | signal_bit(SIGNAL_VTALRM) | signal_bit(SIGNAL_PROF);
    bool is_timer = info->code == SIGNAL_BY_TIMER || (info->code > 0 && (alarms & signal_bit(info->signal)));
    const struct process *sender = process_ended(info->sender.pid - (uint64_t)PID_FIRST);

    if (is_timer && (info->signal == SIGNAL_XCPU || info->signal == SIGNAL_KILL))
        format_text(text, bytes, ": it has used its CPU time (RLIMIT_CPU)");
    else if (is_timer)
        format_text(text, bytes, ", from its own timer");
    else if (info->code > 0)
        format_text(text, bytes, ": a fault whose handler another thread has removed");
    else if (info->sender.pid == process->pid || info->sender.pid < PID_FIRST)
        format_text(text, bytes, ", which it sent itself");
    else
        format_text(text, bytes, ", which %s sent", sender ? sender->title : "another process");
}

_Noreturn void process_kill(const struct signal_info *info, const void *frame)
{
    const struct process *process = arch_process();
    char origin[64];

    if (info->signal == SIGNAL_KILL && info->code == SIGNAL_BY_KERNEL) { /* its user is told elsewhere */
        kernel_print("%s (%s) ended by SIGKILL, %s\n", process->title, process->name,
                     process->tie == TIE_ON ? "like all ranks" : "which tacetrun or the conductor commanded");
    } else {
        origin_describe(process, info, origin, sizeof(origin));
        process_report(REPORT_END, " ended by %s%s", signal_name(info->signal), origin);
        detail("  at instruction %#lx", arch_frame_instruction(frame));
        place_describe(process, frame);
    }
    process_exit(STATUS_SIGNALED + (unsigned)info->signal);
}

bool page_fault_is_spurious(uint64_t address, unsigned rights, bool from_program)
{
    struct process *process = arch_process();

    if (!process || address >= ARCH_USER_LIMIT)
        return false;
    return from_program ? vm_fault_is_spurious(&process->vm, address, rights)
                        : arch_space_allows(&process->vm.space, address, rights);
}

void trap_user_fault(const struct fault *reported)
{
    struct process *process = arch_process();
    struct fault fault = *reported;

    const unsigned beyond = fault.has_address ? vm_beyond_object(&process->vm, fault.address) : 0;

    if (beyond) {
        fault.signal = SIGNAL_BUS;
        fault.code = BUS_NO_MEMORY;
    }
    if (beyond == VM_BEYOND_TABLES) /* no error of the program's */
        process_report(REPORT_BEYOND_FILE, ": SIGBUS at %#lx: a file is mapped there that " NO_TABLES,
                       fault.address);
    if (signal_fault(&fault))
        return;
    process_report(REPORT_END, " ended by %s: %s", signal_name(fault.signal), fault.cause);
    if (fault.has_address) {
        detail("  at instruction %#lx, address %#lx", arch_frame_instruction(fault.frame), fault.address);
        address_describe(process, fault.address);
    } else {
        detail("  at instruction %#lx", arch_frame_instruction(fault.frame));
    }
    place_describe(process, fault.frame);
    process_exit(STATUS_SIGNALED + (unsigned)fault.signal);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h: a rank of the job: its memory, its files, and the threads that it has on its CPUs.
 *
 * init/job.c makes it and gives it its files, its program and its first thread. Files and the tree belong to
 * higher rooms: a process only holds pointers to them.
 */
#ifndef TACET_PROCESS_H
#define TACET_PROCESS_H

#include "lib/credentials.h"
#include "lib/linux_abi.h"
#include "mm/memplan.h"
#include "mm/page_pool.h"
#include "mm/vm.h"
#include "process/event.h"
#include "process/futex.h"
#include "process/posix_timer.h"
#include "process/signal.h"
#include "process/thread.h"
#include "smp/cpu_mask.h"
#include "smp/spinlock.h"

#define PROCESS_NAME_BYTES 16      /* Linux's TASK_COMM_LEN */
#define PID_FIRST          1       /* a pid is this plus the rank */
#define PID_LAST           1000    /* tids of threads other than a process's first are above */
#define TID_LAST           4194303 /* Linux's largest */
#define PROCESSES_MAX      (MEMPLAN_RANKS_MAX + 1) /* ranks, and the service */
#define PROCESS_LINE_BYTES 1024                    /* longer lines of a rank may be mixed with others' */

/* Kinds of lines for the user. A process writes one line of each kind below REPORT_END (syscall/syscall.h);
 * other lines each time, DETAIL without the rank and the program's name. */
enum report { REPORT_BEYOND_FILE = 639, REPORT_END, REPORT_DETAIL };

#define FILE_DESCRIPTORS_MAX  65536 /* open at a time, and the limit of their numbers: RLIMIT_NOFILE */
#define FILE_DESCRIPTORS_SOFT 1024

/* What setrlimit limits, by Linux's numbers; LIMIT_… are those that the kernel itself looks at. */
enum limit {
    LIMIT_CPU_S,
    LIMIT_FILE_BYTES,
    LIMIT_DATA,
    LIMIT_STACK,
    LIMIT_CORE,
    LIMIT_THREADS = 6,
    LIMIT_FILES,
    LIMIT_MEMORY = 9,
    LIMIT_SIGNALS = 11,
    LIMITS = 16
};

struct file;
struct file_table;
struct inode;
struct rank_timer;
struct network_account;
struct tree;

/* Where the program and its arguments lie in its memory, and its file in the kernel's. */
struct process_image {
    uint64_t bias;                         /* its addresses minus those in its file; 0 except a static-PIE */
    uint64_t low, high;                    /* bounds of its segments, page-aligned */
    uint64_t arguments, arguments_end;     /* strings, each after the other */
    uint64_t environment, environment_end; /* strings, each after the other */
    uint64_t auxiliary, auxiliary_end;     /* vector */
    uint64_t vdso;                         /* 0 if there is none */
    const void *file;                      /* the ELF file, for its symbols */
    uint64_t file_bytes;
};

/* Whether a rank's end ends the others (PR_TACET_TIE of tacet.h). */
enum process_tie { TIE_NEVER, TIE_ON, TIE_OFF };

/* Attributes that prctl keeps for a rank: syscall/sys_thread.c. */
enum process_attribute {
    ATTRIBUTE_PARENT_DEATH,
    ATTRIBUTE_DUMPABLE,
    ATTRIBUTE_KEEP_CAPABILITIES,
    ATTRIBUTE_SUBREAPER,
    ATTRIBUTE_NO_NEW_PRIVILEGES,
    ATTRIBUTE_SMALL_PAGES, /* Linux's PR_SET_THP_DISABLE */
    PROCESS_ATTRIBUTES
};

struct process {
    uint64_t pid;
    unsigned rank;                  /* the service has process_rank_count */
    char title[PROCESS_NAME_BYTES]; /* for messages: "rank 3", "service" */
    bool is_service;
    struct cpu_mask cpus; /* its rank's CPUs */
    struct spinlock lock; /* guards which threads it has, and what follows up to `pages` */
    struct list threads;
    unsigned thread_count;              /* threads in `threads`, or about to be there */
    struct list threads_free;           /* structures and stacks to use again */
    bool ending;                        /* all threads are to end with exit_status */
    bool has_ended;                     /* all threads have ended */
    struct event_audience end_audience; /* waits for that */
    unsigned exit_status;
    enum process_tie tie;
    uint8_t attributes[PROCESS_ATTRIBUTES]; /* by enum process_attribute */
    uint64_t start_ns;
    struct cpu_time ended_time; /* time of threads that have ended */
    struct process_signals signals;
    struct process_timers timers;
    struct event_list events[EVENT_LISTS];
    struct process_iterations iterations; /* `lock` guards it */
    struct page_pool pages;               /* free pages of its slice */
    const struct memory_slice *slice;
    struct process_futexes futexes;
    struct vm vm;
    struct network_account *network; /* net/memory.h; NULL: none yet */
    struct file_table *files;
    /* Writes a line of process_report to where standard error led at the start, kept with a reference;
     * `ends`: the process is about to end. NULL: lines go to the port of standard error. */
    void (*say)(struct file *to, const char *line, size_t bytes, bool ends);
    struct file *messages;
    uint64_t reported[REPORT_END / 64]; /* a bit for each kind that was written already */
    struct rank_timer *connections;     /* timer of its network connections; NULL: it has had none */
    struct tree *tree;
    struct inode *directory; /* the current directory, with a reference; the tree's lock guards it */
    uint32_t directory_tid;  /* as path_lookup.tid; the tree's lock guards it */
    struct inode *program;
    const char *program_path;
    struct process_image image;
    char name[PROCESS_NAME_BYTES];
    struct linux_rlimit limits[LIMITS]; /* `lock` guards changes; soft ones are read without it */
    uint32_t umask;
    int nice;                       /* kept for programs that read it back; no effect on turns */
    uint64_t stack_low, stack_high; /* the main stack */
    bool barriers_registered;       /* membarrier */
    bool prefix;                    /* lines of its output begin with its rank */
    struct spinlock lines_lock;
    struct process_line {
        char text[PROCESS_LINE_BYTES];
        size_t used;
        bool continues; /* what comes next continues a line that was printed in part */
    } lines[2];         /* of stdout, stderr, with `prefix`: the present line so far */
};

/* The ranks of the job, each of which is one process. Set once at boot, before the first process exists. */
extern unsigned process_rank_count;

/* Whom the job belongs to; root without a launcher. Reported to programs, it restricts nothing on the node.
 * Set between jobs. */
extern struct credentials process_credentials;

/* Makes the process of a rank, or the service (rank process_rank_count), in its own slice, without files and
 * threads. `name` is argv[0]; its last component names the process. -ENOMEM with `why`. */
int process_create(unsigned rank, const struct memory_slice *slice, const struct cpu_mask *cpus,
                   const char *name, struct process **out, struct message *why);

/* Gets a limit of this CPU's process by Linux's RLIMIT_ number (getrlimit(2)), and, unless `to` is NULL,
 * changes it. A hard limit can only be lowered: it says what the rank was given when it started. -EINVAL for
 * unknown numbers and a soft limit above the hard one; -EPERM. */
int process_limit(uint64_t resource, struct linux_rlimit *limit, const struct linux_rlimit *to);

static inline uint64_t process_soft_limit(const struct process *process, unsigned limit)
{
    return __atomic_load_n(&process->limits[limit].soft, __ATOMIC_RELAXED);
}

/* Returns the CPU time of all its threads, ended ones included. */
struct cpu_time process_time(struct process *process);

/* Finds the process with this pid; NULL if there is none, or it has ended. Its memory stays in any case. */
struct process *process_find(uint64_t pid);

/* Finds the first process from `rank` on that has not ended; NULL. PROCESSES_EACH goes through all. */
struct process *process_next(unsigned rank);
#define PROCESSES_EACH(member) \
    for (struct process *member = process_next(0); member; member = process_next(member->rank + 1))

/* Finds the process in whose slice this memory lies, also after its end; NULL: no rank's memory. */
struct process *process_of_memory(uint64_t physical);

/* Finds the process of a rank, also after its end; NULL: there has been none. */
struct process *process_ended(uint64_t rank);

/* Empties the table of processes: all have ended, and their memory is about to be reused. */
void processes_drop(void);

/* Returns the status with which a process ends; the caller has seen that it does. */
static inline unsigned process_exit_status(const struct process *process)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* it was stored before `ending` */
    return process->exit_status;
}

/* Writes a line about this CPU's process for its user: on the console, and on standard error, where it does
 * not wait for room. The line begins with the rank and the program's name. No locks held. */
__attribute__((format(printf, 2, 3))) void process_report(unsigned kind, const char *format, ...);

/* Ties this CPU's process to the other ranks, or unties it, and returns what PR_TACET_TIE does. */
unsigned process_tie_set(bool on);

/* Returns whether the end of this process with this status is to end the other ranks. */
bool process_ends_others(const struct process *process, unsigned status);

/* Ends this thread's process: all its threads. */
_Noreturn void process_exit(unsigned status);
/* Ends the process by the default action of a signal, with a report of where the program was: `frame`. */
_Noreturn void process_kill(const struct signal_info *info, const void *frame);
/* Ends what other ranks see of the process, and calls the hook. Called by its last thread. */
_Noreturn void process_end(void);

/* Called by process_end on the CPU of the last thread, interrupts off, no locks held: closes the process's
 * files, reports its end, and does not return. init/job.c sets it once, before the first process starts. */
extern void (*process_end_hook)(struct process *process) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timerfd.c: timers that are read, timerfd_create(2). A timer is no more than its setting, in its struct
 * file: how often it has expired since it was set or read follows from the clock. So nothing is armed for it.
 * A thread that waits for it, by read, poll or epoll, sleeps until its deadline (file_operations.deadline),
 * at most its own latency bound too long; a timer that no thread waits for costs no interrupt, and still
 * counts.
 *
 *      not set ──► set ──(its clock passes `at_ns`)──► expired: readable
 *         ▲         ▲ ──────────── set, or read: once ───────┤
 *         └─────────┴────── read: `at_ns` is the next ───────┘
 *
 * The file's lock guards the setting. Runs in system calls.
 */
#include "fs/file.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timespec.h"

/* Returns how often a timer has expired, and in *left_ns the time until it does again; 0: it does not. The
 * caller holds the lock, as for what follows. */
static uint64_t expiries(const struct file *file, uint64_t *left_ns)
{
    const uint64_t interval_ns = file->timer.interval_ns, at_ns = file->timer.at_ns;
    const uint64_t now_ns = file->timer.by_wall ? clock_wall_ns(NULL) : clock_now_ns();

    *left_ns = 0;
    if (at_ns > now_ns)
        *left_ns = at_ns - now_ns;
    if (!at_ns || at_ns > now_ns)
        return 0;
    if (!interval_ns)
        return 1;
    *left_ns = interval_ns - (now_ns - at_ns) % interval_ns;
    return (now_ns - at_ns) / interval_ns + 1;
}

/* Returns whether the clock has stepped since the program knew it, and the timer was to end then. */
static bool has_stepped(const struct file *file)
{
    return file->timer.ends_at_steps && file->timer.steps != clock_wall_steps();
}

static uint64_t timerfd_deadline(struct file *file, bool is_polled)
{
    const uint64_t last_ns = (1ULL << 62) - 1; /* of a deadline */
    uint64_t left_ns;

    SPIN_GUARD(&file->lock);
    if (!file->timer.at_ns || (is_polled && expiries(file, &left_ns)))
        return WAIT_FOREVER;
    return deadline_by(file->timer.by_wall ? DEADLINE_WALL : 0, smaller(file->timer.at_ns, last_ns));
}

/* Takes the number of expiries; -ECANCELED if the clock has stepped. */
static int64_t timerfd_take(struct file *file, void *record, uint64_t bytes)
{
    uint64_t left_ns, *count = record;

    SPIN_GUARD(&file->lock);
    const uint64_t interval_ns = file->timer.interval_ns;
    bool stepped = has_stepped(file);
    file->timer.steps = clock_wall_steps();
    *count = expiries(file, &left_ns);
    if (*count) /* the product is at most the time since then, and an interval */
        file->timer.at_ns = interval_ns ? smaller(file->timer.at_ns + *count * interval_ns, INT64_MAX) : 0;
    file->changes += *count > 0;
    if (stepped)
        return -ECANCELED;
    return *count ? (int64_t)bytes : -EAGAIN;
}

/* ---- As a file ---- */

static unsigned timerfd_ready(struct file *file)
{
    uint64_t left_ns;

    SPIN_GUARD(&file->lock);
    return expiries(file, &left_ns) || has_stepped(file) ? READY_IN : 0;
}

static const struct file_operations timerfd_operations = { .read = file_read_value,
                                                           .take = timerfd_take,
                                                           .ready = timerfd_ready,
                                                           .activity = file_changes,
                                                           .deadline = timerfd_deadline,
                                                           .name = "anon_inode:[timerfd]",
                                                           .waits = true };

long timerfd_create(bool is_wall, unsigned flags)
{
    FILE_REFERENCE file;
    int error = file_make(&timerfd_operations, O_RDWR | flags, &file);

    if (error)
        return error;
    file->timer.is_wall = is_wall;
    file->timer.steps = clock_wall_steps();
    return file_install(file->process, file, 0, flags & O_CLOEXEC);
}

int timerfd_get(struct file *file, struct timer_setting *setting)
{
    if (file->operations != &timerfd_operations)
        return -EINVAL;
    SPIN_GUARD(&file->lock);
    expiries(file, &setting->left_ns);
    setting->interval_ns = file->timer.interval_ns;
    return 0;
}

int timerfd_set(struct file *file, unsigned flags, uint64_t ns, uint64_t interval_ns,
                struct timer_setting *old)
{
    bool is_absolute = flags & TFD_TIMER_ABSTIME;
    int error = timerfd_get(file, old);

    if (error)
        return error;
    spin_lock(&file->lock);
    file->timer.by_wall = is_absolute && file->timer.is_wall;
    file->timer.ends_at_steps = file->timer.by_wall && (flags & TFD_TIMER_CANCEL_ON_SET);
    file->timer.at_ns = ns ? smaller(is_absolute ? ns : time_add(clock_now_ns(), ns), INT64_MAX) : 0;
    file->timer.interval_ns = smaller(interval_ns, INT64_MAX);
    file->changes++;
    if (ns && has_stepped(file))
        error = -ECANCELED;
    file->timer.steps = clock_wall_steps();
    spin_unlock(&file->lock);
    event_notify(file->process, event_of(file));
    return error;
}

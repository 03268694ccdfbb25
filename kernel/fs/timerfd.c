/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timerfd.c: timers that are read, timerfd_create(2). A timer is no more than its setting, in its struct
 * file: how often it has expired since it was set or read follows from the clock. So nothing is armed for it.
 * A thread that waits for it, by read, poll or epoll, sleeps until its deadline (file_operations.deadline),
 * at most its own latency bound too long; a timer that no thread waits for costs no interrupt, and still
 * counts.
 *
 *      not set ──► set ──(the clock passes `deadline`)──► expired: readable
 *         ▲         ▲ ──────────── set or read: once ─────────┤
 *         └─────────┴───── read: `deadline` is the next ──────┘
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

#define WALL_MAX ((1ULL << 62) - 1)

/* Returns a time of the clock of a timer's deadline, or the last of that clock if it is later than that. */
static uint64_t deadline_at(bool is_wall, uint64_t ns)
{
    return is_wall ? DEADLINE_WALL | smaller(ns, WALL_MAX) : smaller(ns, INT64_MAX);
}

/* Returns the time left until a timer's deadline; if that is not positive, sets *late_ns to the time since.
 * The caller holds the lock, as for what follows. */
static uint64_t left_ns(const struct file *file, uint64_t *late_ns)
{
    bool is_wall = deadline_is_wall(file->timer.deadline);
    uint64_t at_ns = is_wall ? file->timer.deadline & ~DEADLINE_WALL : file->timer.deadline;
    uint64_t now_ns = is_wall ? clock_wall_ns(NULL) : clock_now_ns();

    *late_ns = now_ns - at_ns;
    return at_ns > now_ns ? at_ns - now_ns : 0;
}

/* Returns how often a timer has expired. */
static uint64_t expiries(const struct file *file)
{
    uint64_t late_ns;

    if (!file->timer.deadline || left_ns(file, &late_ns))
        return 0;
    return file->timer.interval_ns ? late_ns / file->timer.interval_ns + 1 : 1;
}

/* Returns whether the clock has stepped, for a timer that ends then; once for each step, if `taken`. */
static bool has_stepped(struct file *file, bool taken)
{
    const uint64_t steps = clock_wall_steps();
    bool stepped = file->timer.ends_at_steps && file->timer.steps != steps;

    if (taken)
        file->timer.steps = steps;
    return stepped;
}

static struct timer_setting setting_of(const struct file *file)
{
    const uint64_t interval_ns = file->timer.interval_ns;
    struct timer_setting setting = { 0, interval_ns };
    uint64_t late_ns;

    if (!file->timer.deadline)
        return setting;
    setting.left_ns = left_ns(file, &late_ns);
    if (!setting.left_ns && interval_ns)
        setting.left_ns = interval_ns - late_ns % interval_ns;
    return setting;
}

/* Takes the expiries: -EAGAIN if there are none, -ECANCELED if the clock has stepped. */
static int64_t expiries_take(struct file *file, uint64_t *count)
{
    SPIN_GUARD(&file->lock);
    const uint64_t deadline = file->timer.deadline, interval_ns = file->timer.interval_ns;
    bool stepped = has_stepped(file, true), is_wall = deadline_is_wall(deadline);

    *count = expiries(file);
    if (!*count)
        return stepped ? -ECANCELED : -EAGAIN;
    file->timer.deadline = 0;
    if (interval_ns) /* neither the sum nor the product exceeds the time now and an interval */
        file->timer.deadline =
            deadline_at(is_wall, (is_wall ? deadline & ~DEADLINE_WALL : deadline) + *count * interval_ns);
    file->timer.changes++;
    return stepped ? -ECANCELED : 0;
}

static uint64_t wait_deadline(struct file *file)
{
    SPIN_GUARD(&file->lock);
    return file->timer.deadline ? file->timer.deadline : WAIT_FOREVER;
}

static int64_t timerfd_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t count;
    int64_t error;

    (void)offset;
    if (bytes < sizeof(count))
        return -EINVAL;
    while ((error = expiries_take(file, &count)) == -EAGAIN) {
        if (!(file->flags & O_NONBLOCK))
            error = event_wait(event_of(file), wait_deadline(file));
        if (error)
            return error;
    }
    if (error)
        return error;
    return user_write(buffer, &count, sizeof(count)) ? -EFAULT : (int64_t)sizeof(count);
}

/* ---- As a file ---- */

static unsigned timerfd_ready(struct file *file)
{
    SPIN_GUARD(&file->lock);
    return expiries(file) || has_stepped(file, false) ? READY_IN : 0;
}

static uint64_t timerfd_activity(struct file *file)
{
    return __atomic_load_n(&file->timer.changes, __ATOMIC_RELAXED);
}

/* Returns no deadline once the timer has expired: it stays ready until it is read. */
static uint64_t timerfd_deadline(struct file *file)
{
    SPIN_GUARD(&file->lock);
    return file->timer.deadline && !expiries(file) ? file->timer.deadline : WAIT_FOREVER;
}

static const struct file_operations timerfd_operations = { .read = timerfd_read,
                                                           .ready = timerfd_ready,
                                                           .activity = timerfd_activity,
                                                           .deadline = timerfd_deadline,
                                                           .name = "anon_inode:[timerfd]",
                                                           .waits = true };

void timerfd_initialise(struct file *file, bool is_wall, unsigned flags)
{
    file->operations = &timerfd_operations;
    file->timer.is_wall = is_wall;
    file->timer.steps = clock_wall_steps();
    file->flags = O_RDWR | (flags & O_NONBLOCK);
    file->mode = 0600;
}

int timerfd_get(struct file *file, struct timer_setting *setting)
{
    if (file->operations != &timerfd_operations)
        return -EINVAL;
    SPIN_GUARD(&file->lock);
    *setting = setting_of(file);
    return 0;
}

int timerfd_set(struct file *file, uint64_t ns, uint64_t interval_ns, bool is_absolute, bool ends_at_steps,
                struct timer_setting *old)
{
    int error = timerfd_get(file, old);

    if (error)
        return error;
    spin_lock(&file->lock);
    bool is_wall = is_absolute && file->timer.is_wall;
    *old = setting_of(file);
    file->timer.ends_at_steps = is_wall && ends_at_steps;
    file->timer.deadline = ns ? deadline_at(is_wall, is_absolute ? ns : time_add(clock_now_ns(), ns)) : 0;
    file->timer.interval_ns = smaller(interval_ns, INT64_MAX);
    file->timer.changes++;
    if (ns && has_stepped(file, true))
        error = -ECANCELED;
    spin_unlock(&file->lock);
    event_notify(file->process, event_of(file));
    return error;
}

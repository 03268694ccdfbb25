/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_event.h: the devices that can interrupt a CPU at a given time.
 *
 * As in Linux and [Betti09 §V] each device has a rating; the one with the highest rating expires the timers
 * of all CPUs. `clockevent=NAME` on the command line puts one on top, writing "NAME RATING" to
 * /proc/tacet/clockevents changes a rating. A rating of 0 takes a device out of use. An architecture
 * registers its devices at boot; the functions of a device act on the CPU that calls them, interrupts off.
 */
#ifndef TACET_CLOCK_EVENT_H
#define TACET_CLOCK_EVENT_H

#include "lib/command_line.h"

#define CLOCK_EVENT_DEVICES_MAX 4
#define CLOCK_EVENT_RATING_MAX  1000

struct clock_event_device {
    const char *name;
    const char *description;
    unsigned rating;

    /* Requests one interrupt at `when_ns` (clock_now_ns; may be in the past: as soon as possible), in place
     * of an earlier request. The interrupt may come before that if the device cannot wait as long. */
    void (*arm)(uint64_t when_ns);
    void (*disarm)(void);

    /* Optional. Called when the CPU's local timer fires while this device is in use; false means keep
     * waiting. */
    bool (*local_fired)(void);

    /* Optional, for a device that interrupts at times of its own: requests one interrupt at `when_ns` by the
     * CPU's local timer, in addition to what is armed, in place of an earlier such request. Disarming ends
     * it. */
    void (*arm_exact)(uint64_t when_ns);
};

/* Registers a device; the structure must live for ever. */
void clock_event_register(struct clock_event_device *device);

/* Applies `clockevent=` and `clockevents=`. -EINVAL with `why`. */
int clock_event_configure(const struct command_line *line, struct message *why);

/* The device in use: the one with the highest rating. NULL: there is none. */
extern const struct clock_event_device *clock_event_top;

/* Applies "NAME RATING". Returns 1 if that changes the rating, 0 if the device has it already; -EPERM without
 * clockevents=writable, -EINVAL for any other text, -ENODEV for an unknown name, -EBUSY for 0 for the last
 * device in use; nothing changes then. The CPUs' timers stay where they are armed (timer_device_rate). */
int clock_event_rate(const char *text);

/* Writes what /proc/tacet/clockevents shows. */
struct text_sink;
void clock_event_devices_describe(struct text_sink *sink);

#endif

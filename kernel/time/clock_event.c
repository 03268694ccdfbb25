/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_event.c: see clock_event.h. Owns the list of devices, constant after boot, and their ratings, which
 * any CPU may change, under a lock.
 */
#include "time/clock_event.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "smp/spinlock.h"

static struct clock_event_device *devices[CLOCK_EVENT_DEVICES_MAX];
static unsigned device_count;
const struct clock_event_device *clock_event_top;
static struct spinlock lock; /* ratings */
static unsigned writable;    /* clockevents=writable */

/* Finds the device of the highest rating; kept in clock_event_top, since each heartbeat asks for it. */
static const struct clock_event_device *top_find(void)
{
    const struct clock_event_device *found = NULL;

    for (unsigned i = 0; i < device_count; i++)
        if (devices[i]->rating > (found ? found->rating : 0))
            found = devices[i];
    return found;
}

void clock_event_register(struct clock_event_device *device)
{
    if (device_count < CLOCK_EVENT_DEVICES_MAX)
        devices[device_count++] = device;
    clock_event_top = top_find();
}

static struct clock_event_device *device_find(const char *name, size_t bytes)
{
    for (unsigned i = 0; i < device_count; i++)
        if (strlen(devices[i]->name) == bytes && strncmp(devices[i]->name, name, bytes) == 0)
            return devices[i];
    return NULL;
}

static int device_choose(const char *name, struct message *why)
{
    char known[80] = "none";
    size_t used = 0;

    for (unsigned i = 0; i < device_count; i++)
        used += format_text(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", devices[i]->name);

    struct clock_event_device *device = device_find(name, strlen(name));
    if (!device)
        return message_set(why, -EINVAL,
                           "clockevent=%s: this machine has no such clock event device; it has: %s", name,
                           known);
    device->rating = CLOCK_EVENT_RATING_MAX;
    clock_event_top = top_find();
    return 0;
}

int clock_event_configure(const struct command_line *line, struct message *why)
{
    const char *name = command_line_option(line, "clockevent");

    if (option_word(line, "clockevents", "readable, writable", &writable, why))
        return -EINVAL;
    return name ? device_choose(name, why) : 0;
}

int clock_event_rate(const char *text)
{
    const char *space = text;
    struct message why;
    uint64_t rating;

    if (!writable)
        return -EPERM;
    while (*space && *space != ' ')
        space++;
    if (!*space || option_value(OPTION_NUMBER, "rating", space + 1, 0, CLOCK_EVENT_RATING_MAX, &rating, &why))
        return -EINVAL;

    SPIN_GUARD(&lock);
    struct clock_event_device *device = device_find(text, (size_t)(space - text));
    if (!device)
        return -ENODEV;
    const unsigned before = device->rating;
    device->rating = (unsigned)rating;
    const struct clock_event_device *top = top_find();
    if (!top) { /* it is the last one in use */
        device->rating = before;
        return -EBUSY;
    }
    clock_event_top = top;
    return rating != before;
}

void clock_event_devices_describe(struct text_sink *sink)
{
    for (unsigned i = 0; i < device_count; i++)
        sink_print(sink, "%s %u%s  %s\n", devices[i]->name, devices[i]->rating,
                   devices[i] == clock_event_top ? " top" : "", devices[i]->description);
}

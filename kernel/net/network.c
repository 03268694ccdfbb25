/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.c: see network.h. Owns the network's lock, and, guarded by it, the list of processes to notify.
 */
#include "net/network.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lwip/etharp.h"
#include "lwip/init.h"
#include "net/address.h"
#include "net/beat_wire.h"
#include "net/connection.h"
#include "net/device.h"
#include "net/inet.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/stream.h"
#include "process/process.h"
#include "smp/spinlock.h"
#include "time/clock.h"

#define FRAMES_MAX        64 /* frames of one poll */
#define PACKETS_MAX       64 /* packets to the node itself in one poll */
#define PACKETS_MORE      16
#define POLLS_PER_SERVICE 64
#define NOTICES_MAX       16

#define WAY_SPINS 1024

static struct spinlock lock;
static unsigned waiting; /* CPUs that wait for the lock */
static unsigned polls;

/* Threads of a process to wake when the lock is released. */
struct notice {
    struct process *process;
    uint64_t kinds;
};

static struct notice notices[NOTICES_MAX];
static unsigned notice_count;
static bool is_watched;
void (*stream_watch_hook)(void);

void network_lock(void)
{
    if (spin_lock_is_free(&lock)) {
        spin_lock(&lock);
        return;
    }
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
    spin_lock(&lock);
    __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
}

/* Lets CPUs that wait have the lock, which goes to the CPU that finds it free: without this, to the caller
 * again and again. */
void network_give_way(void)
{
    crosscall_serve();
    for (unsigned spins = 0;
         spins < WAY_SPINS && __atomic_load_n(&waiting, __ATOMIC_RELAXED) && spin_lock_is_free(&lock);
         spins++)
        arch_pause();
}

/* Sends a line of netconsole, releases the lock, and wakes the threads to be notified; does nothing else. */
static void release(void)
{
    struct notice taken[NOTICES_MAX];
    unsigned count = notice_count;
    const bool changed = is_watched;

    for (unsigned i = 0; i < count; i++)
        taken[i] = notices[i];
    notice_count = 0;
    is_watched = false;
    network_account_use(NULL);
    netconsole_send();
    spin_unlock(&lock);
    for (unsigned i = 0; i < count; i++)
        event_notify(taken[i].process, taken[i].kinds);
    if (changed)
        stream_watch_hook();
}

/* Receives what the node has sent to itself, taking the lock for each packet: as many as the caller has sent
 * since it took the lock, and some more, so that a call does not work long for others. The rest is left to
 * the next call, or to a CPU that idles. */
static void loopback_work(unsigned count)
{
    for (unsigned i = 0; i < count + PACKETS_MORE && loopback_pending(); i++) {
        network_lock();
        loopback_receive();
        release();
        network_give_way();
    }
    if (loopback_pending())
        idle_look_soon();
}

void network_unlock(void)
{
    const unsigned sent = loopback_sent;

    loopback_sent = 0;
    protocol_timers_update();
    release();
    if (sent)
        loopback_work(sent);
    connection_work();
}

void network_unlock_alone(void)
{
    spin_unlock(&lock);
}

void network_notify(struct process *process, uint64_t kinds)
{
    for (unsigned i = 0; i < notice_count; i++)
        if (notices[i].process == process) {
            notices[i].kinds |= kinds;
            return;
        }
    if (notice_count == NOTICES_MAX) /* under the lock: no waiter takes it while it holds a list's */
        event_notify(process, kinds);
    else
        notices[notice_count++] = (struct notice){ process, kinds };
}

void network_watched(void)
{
    is_watched = true;
}

void network_send_console(unsigned lines)
{
    const bool locked = spin_lock_try(&lock);

    while ((locked || console_lock_is_broken()) && lines && netconsole_send())
        lines--;
    if (locked)
        spin_unlock_own(&lock);
}

static bool receive_one(bool service)
{
    enum beat_taken beat = BEAT_NONE;
    bool received;

    network_lock();
    if (service)
        interface_service();
    received = interface_receive(&beat, false);
    release();
    if (beat == BEAT_PASSES)
        arch_beat_send(true); /* this CPU takes it when it accepts interrupts */
    if (beat != BEAT_NONE && beat_frame_is_due())
        beat_frames_send(network_device);
    return received;
}

bool network_poll(void)
{
    bool service = __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED) % POLLS_PER_SERVICE == 0 ||
                   (beat_is_shared && interface_link_has_changed());
    unsigned received = 0;

    if (network_device) {
        protocol_timers_run();
        while (received < FRAMES_MAX && receive_one(service && received == 0)) {
            received++;
            network_give_way();
        }
    }
    if (loopback_pending())
        loopback_work(PACKETS_MAX);
    connection_work();
    return received != 0;
}

int network_wait(uint64_t kinds, uint64_t deadline_ns)
{
    int error;

    if (deadline_ns != WAIT_FOREVER && clock_now_ns() >= deadline_ns)
        return -EAGAIN;
    if (network_poll())
        return thread_has_pending_work(arch_thread()) ? -EINTR : 0;
    idle_wait_begin();
    error = event_wait(kinds, deadline_ns);
    idle_wait_end();
    return error == -ETIMEDOUT ? -EAGAIN : error;
}

void network_device_interrupt(void)
{
    const bool is_served = beat_wire_interrupt(), keeps = idle_keeps_here();

    if ((is_served || beat_is_shared) && !keeps) /* it was for the keeper, or is served */
        return;
    if (!network_device)
        return;
    network_lock();
    interface_service();
    release();
    while (network_poll())
        if (!schedule_is_idle())
            break;
}

bool network_has_device(void)
{
    return network_device != NULL;
}

void network_processes_drop(void)
{
    connections_of_processes_end();
    connection_timers_drop();
    while (loopback_pending())
        loopback_work(PACKETS_MAX);
    network_lock();
    if (network_device)
        etharp_cleanup_netif(&ethernet_interface); /* packets that wait for ARP's answer */
    network_unlock();
}

/* ---- Start ---- */

void network_node_id(char id[NETWORK_NODE_ID_BYTES])
{
    const uint8_t *address = (beat_card ? beat_card : network_device)->address;

    for (unsigned i = 0; i < ETHERNET_ADDRESS_BYTES; i++)
        format_text(id + 2 * i, 3, "%02x", address[i]);
}

/* Chooses the device: netdev=; else the one that PXE has booted from, as its loaders say; else the first with
 * a link; else the first. */
static int device_choose(const struct command_line *line, struct network_device **out, struct message *why)
{
    const char *name = command_line_option(line, "netdev"), *boot = command_line_option(line, "bootif");
    struct message unknown;

    *out = NULL;
    if (name && network_device_find("netdev", name, out, why))
        return -EINVAL;
    if (name && *out == beat_card)
        beat_card = NULL; /* it carries both */
    if (!name && boot && network_device_find("bootif", boot, out, &unknown) == 0 && *out == beat_card)
        *out = NULL;
    if (*out)
        return 0;
    for (unsigned i = network_device_count; i-- > 0;) /* the last one first, so that the first is kept */
        if (network_devices[i] != beat_card && (!*out || network_devices[i]->link || !(*out)->link))
            *out = network_devices[i];
    return 0;
}

int network_start(const struct command_line *line, struct message *why)
{
    struct network_device *device;
    int error = address_configure(line, why);

    if (error || (error = inet_configure(line, why)) || (error = time_server_configure(line, why)) ||
        (error = beat_wire_choose(line, why)) || (error = device_choose(line, &device, why)) ||
        (error = beat_wire_configure(line, device, why)))
        return error;
    lwip_init();
    loopback_start();
    time_wait_start();
    if ((error = beat_wire_start(why)) || !device)
        return error;
    for (unsigned i = 0; i < network_device_count; i++)
        if (network_devices[i] != device && network_devices[i] != beat_card)
            kernel_print("network: %s at %s is not used (netdev=)\n", network_devices[i]->model,
                         network_devices[i]->place);
    if (nettick_mode() != NETTICK_OFF && !beat_card)
        nettick_card_set(device->address);
    network_lock();
    interface_start(device);
    network_unlock();
    address_start();
    netconsole_start();
    time_server_start();
    return idle_device_start(why);
}

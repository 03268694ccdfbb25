/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console.c: see console.h. Owns the list of devices, which of them each stream uses, the lock of the output
 * and that of the input.
 */
#include "debug/console.h"
#include "arch.h"
#include "debug/lock_check.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/cpu_mask.h"
#include "smp/per_cpu.h"
#include "smp/spinlock.h"

#define INPUT_END       4 /* control-D */
#define INPUT_OPTION    "stdin_bytes"
#define LINE_BYTES      512
#define DEVICE_SET(d)   (1U << (d))
#define NO_INPUT        (-1)
#define NO_DEVICE       (-2)
#define COURTESY        16
#define OUTPUT_PATIENCE (16 * SPIN_PATIENCE)

static struct console_device *devices[CONSOLE_DEVICES_MAX];
static unsigned device_count;
static bool is_configured; /* console= is known */

/* Sets of devices, a bit each. A stream's set is empty while it shares the kernel's. */
static unsigned kernel_set, stream_set[2];

/* The last line of the kernel's consoles: empty, or part of a line of the kernel's, or of a program's. */
static enum { LINE_EMPTY, LINE_KERNEL, LINE_PROGRAM } last_line;

/* Devices of programs' streams on which the last line has no end yet. */
static unsigned unended_set;

/* The lock of the output: 1 + the index of the CPU that holds it, or 0. It is held for a line. A CPU that
 * finds it free takes it, but the last holder lets the others try first, for COURTESY spins. A CPU that has
 * waited in vain for OUTPUT_PATIENCE becomes impatient, and the holder hands the lock to it: spinlock.h says
 * why not at once. A non-maskable interrupt may come while its own CPU holds it, and prints in between. A CPU
 * that panics ignores it, and no other CPU gets it after that. */
static uint32_t output_holder, output_last, lock_breaker;
static struct cpu_mask output_impatient;

/* Whether a CPU serves no crosscalls while it prints. */
PER_CPU static bool not_serving;

/* For each device of a set. */
#define DEVICES_EACH(device, set)                                                           \
    for (struct console_device * device, **at = devices; at < devices + device_count; at++) \
        if (device = *at, (set)&DEVICE_SET(at - devices))

/* Sets the consoles until console= is known: the default devices, or the first one, so that output is
 * seen. */
static void kernel_set_default(void)
{
    unsigned set = 0;

    DEVICES_EACH(device, ~0U)
        if (device->is_default)
            set |= DEVICE_SET(at - devices);
    kernel_set = set ? set : DEVICE_SET(0);
}

void console_register(struct console_device *device)
{
    if (device_count == CONSOLE_DEVICES_MAX)
        return;
    devices[device_count++] = device;
    if (is_configured)
        kernel_set |= DEVICE_SET(device_count - 1);
    else
        kernel_set_default();
}

void console_default_move(struct console_device *from, struct console_device *to)
{
    from->is_default = false;
    to->is_default = true;
    kernel_set_default();
}

void console_serve(void)
{
    if (!lock_breaker && !*PER_CPU_HERE(not_serving))
        crosscall_serve();
}

void console_serving(bool on)
{
    *PER_CPU_HERE(not_serving) = !on;
}

static bool output_take(uint32_t self)
{
    uint32_t nobody = 0;

    return !__atomic_load_n(&lock_breaker, __ATOMIC_RELAXED) &&
           (__atomic_load_n(&output_holder, __ATOMIC_ACQUIRE) == self ||
            __atomic_compare_exchange_n(&output_holder, &nobody, self, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
}

/* Takes the lock. Returns what output_unlock needs: whether it has taken it. Code that interrupts an
 * impatient wait takes the lock for that wait. */
static bool output_lock(void)
{
    const uint32_t here = arch_cpu_index(), self = 1 + here;

    if (lock_breaker == self || __atomic_load_n(&output_holder, __ATOMIC_RELAXED) == self)
        return false;
    bool is_nested = cpu_mask_test(&output_impatient, here);
    unsigned spins = __atomic_load_n(&output_last, __ATOMIC_RELAXED) == self ? 0 : COURTESY;
    for (; spins < COURTESY || !output_take(self); spins++) {
        if (spins == OUTPUT_PATIENCE)
            cpu_mask_set_atomic(&output_impatient, here);
        arch_pause();
        console_serve();
    }
    if (!is_nested) {
        if (cpu_mask_test(&output_impatient, here))
            cpu_mask_clear_atomic(&output_impatient, here);
        __atomic_store_n(&output_last, self, __ATOMIC_RELAXED);
        lock_work_begin(LOCK_PLACE(&output_holder));
    }
    return !is_nested;
}

/* Releases the lock, or hands it to the next impatient CPU, in turns by number. */
static void output_unlock(bool locked)
{
    unsigned next = cpu_mask_next_around(&output_impatient, arch_cpu_index() + 1);

    if (!locked)
        return;
    lock_work_end();
    __atomic_store_n(&output_holder, next != CPU_MASK_END ? 1 + next : 0, __ATOMIC_SEQ_CST);
}

void console_lock_break(void)
{
    lock_breaker = 1 + arch_cpu_index();
    lock_check_end();
}

bool console_lock_is_broken(void)
{
    return lock_breaker == 1 + arch_cpu_index();
}

static void set_write(unsigned set, const char *text, size_t bytes)
{
    lock_work_add(bytes);
    DEVICES_EACH(device, set)
        device->write(device, text, bytes);
}

/* Writes a line or a part of one, not empty, to the kernel's consoles, which are terminals: with a carriage
 * return before the newline. */
static void line_write(const char *text, size_t bytes, int whose)
{
    bool ends = text[bytes - 1] == '\n';

    set_write(kernel_set, text, bytes - ends);
    if (ends)
        set_write(kernel_set, "\r\n", 2);
    last_line = ends ? LINE_EMPTY : whose;
}

/* Returns how many bytes there are up to the end of the first line. */
static size_t line_bytes(const char *text, size_t bytes)
{
    size_t end = 0;

    while (end < bytes && text[end++] != '\n')
        ;
    return end;
}

void kernel_print(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    size_t length = format_va(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length >= sizeof(line))
        length = sizeof(line) - 1;

    size_t start = 0;
    bool locked = output_lock();
    while (start < length) {
        size_t end = start + line_bytes(line + start, length - start);

        if (last_line == LINE_PROGRAM) /* the kernel's text gets lines of its own */
            set_write(kernel_set, "\r\n", 2);
        if (last_line != LINE_KERNEL)
            set_write(kernel_set, CONSOLE_PREFIX, sizeof(CONSOLE_PREFIX) - 1);
        line_write(line + start, end - start, LINE_KERNEL);
        start = end;
    }
    output_unlock(locked);
}

void console_message(const char *line, size_t bytes)
{
    const unsigned set = stream_set[CONSOLE_STDERR];
    bool locked = output_lock();

    set_write(set & unended_set, "\n", 1);
    set_write(set, line, bytes);
    unended_set &= ~set;
    output_unlock(locked);
}

void console_write(enum console_stream stream, const char *bytes, size_t count)
{
    for (size_t line; count > 0; bytes += line, count -= line) {
        bool locked = output_lock();

        line = line_bytes(bytes, count);
        unsigned set = stream_set[stream];
        unended_set = bytes[line - 1] == '\n' ? unended_set & ~set : unended_set | set;
        if (set)
            set_write(set, bytes, line);
        else
            line_write(bytes, line, LINE_PROGRAM);
        output_unlock(locked);
        console_serve();
    }
}

void console_flush(void)
{
    bool locked = output_lock();

    DEVICES_EACH(device, ~0U)
        if (device->flush)
            device->flush(device);
    output_unlock(locked);
}

bool console_key_pressed(void)
{
    bool pressed = false;

    DEVICES_EACH(device, kernel_set)
        while (device->read && device->read(device, true) >= 0)
            pressed = true;
    return pressed;
}

bool console_is_shared(enum console_stream stream)
{
    return stream_set[stream] == 0;
}

static unsigned input_set(void)
{
    return console_is_shared(CONSOLE_STDOUT) ? kernel_set : stream_set[CONSOLE_STDOUT];
}

#define INPUT_BYTES 1024

/* What interrupts have taken from the devices, for console_read: bytes [tail, head), by number. */
static uint8_t input[INPUT_BYTES];
static unsigned input_head, input_tail;
/* How many threads wait for input, in all and on each CPU; on which CPUs; the CPU that the devices interrupt,
 * if they can. */
static uint32_t listener_count;
PER_CPU static uint32_t listeners;
static struct cpu_mask listening;
static unsigned interrupted_cpu = ARCH_CPUS_MAX;
static bool can_interrupt;
/* Input from a device of the program's own stays at its end; input from a terminal does not. */
static bool stream_ended;
/* The bytes that are left by stdin_bytes=, if that is given: then control-D is a byte like any other. */
static bool input_counted;
static uint64_t input_left;
static struct spinlock input_lock;

/* Returns the next byte of the devices of standard input; NO_INPUT; NO_DEVICE if none of them ever has
 * any. */
static int device_byte(bool take)
{
    int byte = NO_DEVICE;

    DEVICES_EACH(device, input_set())
        if (device->read && byte < 0)
            byte = device->read(device, take);
    return byte;
}

static int input_byte(void)
{
    return input_tail != input_head ? input[input_tail++ % INPUT_BYTES] : device_byte(true);
}

/* Returns whether console_read has something to return. The caller holds the lock. */
static bool input_is_ready(void)
{
    return input_head != input_tail || stream_ended || device_byte(false) != NO_INPUT;
}

bool console_input_ready(void)
{
    SPIN_GUARD(&input_lock);

    return input_is_ready();
}

/* Lets the devices interrupt one of the CPUs on which threads wait for input, or, if `count` is 0, none. */
static void devices_listen(uint32_t count)
{
    unsigned cpu = cpu_mask_first(&listening);
    bool moves = count && cpu != interrupted_cpu;
    can_interrupt |= moves;
    DEVICES_EACH(device, input_set())
        if (device->read) {
            if (moves && !arch_input_route(device->line, cpu))
                can_interrupt = false;
            device->listen(device, count);
        }
    if (moves)
        interrupted_cpu = cpu;
}

/* Adds, or with -1 removes, a thread that waits on that CPU. */
static void listeners_change(unsigned cpu, int by)
{
    if (*PER_CPU_OF(listeners, cpu) += by)
        cpu_mask_set(&listening, cpu);
    else
        cpu_mask_clear(&listening, cpu);
    __atomic_store_n(&listener_count, listener_count + by, __ATOMIC_RELAXED);
    devices_listen(listener_count);
}

/* Begins to listen. Checks again after that: what arrives just before a device listens may not interrupt. */
enum console_input console_listen_begin(unsigned cpu)
{
    SPIN_GUARD(&input_lock);

    if (input_is_ready())
        return CONSOLE_INPUT_READY;
    listeners_change(cpu, 1);
    if (!input_is_ready())
        return can_interrupt ? CONSOLE_INPUT_ANNOUNCED : CONSOLE_INPUT_POLLED;
    listeners_change(cpu, -1);
    return CONSOLE_INPUT_READY;
}

void console_listen_end(unsigned cpu)
{
    SPIN_GUARD(&input_lock);

    listeners_change(cpu, -1);
}

bool console_listens(void)
{
    return __atomic_load_n(&listener_count, __ATOMIC_RELAXED) > 0;
}

/* Takes what has arrived. One interrupt is enough: it wakes all that listen, and a thread that finds too
 * little listens again. */
void console_input_interrupt(void)
{
    SPIN_GUARD(&input_lock);
    int byte;

    devices_listen(0);
    while (input_head - input_tail < INPUT_BYTES && (byte = device_byte(true)) >= 0)
        input[input_head++ % INPUT_BYTES] = (uint8_t)byte;
}

/* Takes what has arrived, on a terminal at most up to the end of a line. The caller holds the lock. */
static int64_t input_take(char *bytes, size_t count)
{
    bool shared = console_is_shared(CONSOLE_STDOUT);
    size_t got = 0;

    while (got < count && !stream_ended) {
        int byte = input_byte();

        lock_work_step();
        if (byte == NO_INPUT && !got)
            return -EAGAIN;
        if (byte < 0)
            break;
        if (!input_counted && byte == INPUT_END) { /* bytes before it in the line are returned first */
            stream_ended = !shared;
            break;
        }
        if (input_counted && --input_left == 0)
            stream_ended = true;
        if (shared && byte == '\r')
            byte = '\n';
        bytes[got++] = (char)byte;
        if (shared && byte == '\n')
            break;
    }
    return (int64_t)got;
}

int64_t console_read(char *bytes, size_t count)
{
    spin_lock(&input_lock);
    int64_t got = input_take(bytes, count);
    spin_unlock(&input_lock);
    if (got > 0 && console_is_shared(CONSOLE_STDOUT)) /* echo */
        console_write(CONSOLE_STDOUT, bytes, (size_t)got);
    return got;
}

struct console_device **console_find(const char *option, const char *name, size_t bytes, struct message *why)
{
    char known[80] = "";
    size_t used = 0;

    for (unsigned d = 0; d < device_count; d++) {
        if (strlen(devices[d]->name) == bytes && strncmp(devices[d]->name, name, bytes) == 0)
            return &devices[d];
        used += format_text(known + used, used < sizeof(known) ? sizeof(known) - used : 0, "%s%s",
                            d ? ", " : "", devices[d]->name);
    }
    message_set(why, -EINVAL, "%s=%.*s: this machine has no such console; it has: %s", option, (int)bytes,
                name, known);
    return NULL;
}

/* Parses the speed `text`, of `bytes` digits, for the device before it. */
static int speed_parse(const char *option, const char *text, size_t bytes, struct console_device *device,
                       struct message *why)
{
    const char *at = text;
    uint64_t baud;

    if (!device->speed_set)
        return message_set(why, -EINVAL, "%s=%s,%.*s: only serial ports have a speed", option, device->name,
                           (int)bytes, text);
    if (!number_read(&at, &baud) || device->speed_set(device, baud))
        return message_set(why, -EINVAL,
                           "%s=%s,%.*s: no such speed; it must divide 115200: 115200, 57600, "
                           "38400, 19200, 9600, …",
                           option, device->name, (int)bytes, text);
    return 0;
}

/* Parses "com2,57600,vga" into a set: names, each perhaps with a speed after it. */
static int set_parse(const char *option, const char *text, unsigned *set, struct message *why)
{
    struct console_device **device = NULL;

    *set = 0;
    while (*text) {
        const char *comma = text;
        bool is_speed = device != NULL;

        for (; *comma && *comma != ','; comma++)
            is_speed = is_speed && *comma >= '0' && *comma <= '9';
        const size_t bytes = (size_t)(comma - text);
        if (is_speed && bytes) {
            if (speed_parse(option, text, bytes, *device, why))
                return -EINVAL;
        } else {
            device = console_find(option, text, bytes, why);
            if (!device)
                return -EINVAL;
            *set |= DEVICE_SET(device - devices);
        }
        text = *comma ? comma + 1 : comma;
    }
    return *set ? 0 : message_set(why, -EINVAL, "%s= needs at least one console's name", option);
}

/* Applies `stdin_bytes=`, after the streams' devices are known. */
static int input_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, INPUT_OPTION);

    if (!text)
        return 0;
    if (option_value(OPTION_NUMBER, INPUT_OPTION, text, 0, INT64_MAX, &input_left, why))
        return -EINVAL;
    if (console_is_shared(CONSOLE_STDOUT))
        return message_set(why, -EINVAL,
                           INPUT_OPTION "= needs a device of its own for standard input: "
                                        "name one with stdout=");
    input_counted = true;
    stream_ended = input_left == 0;
    return 0;
}

int console_configure(const struct command_line *line, struct message *why)
{
    static const struct {
        const char *option;
        unsigned *set;
    } choices[] = { { "console", &kernel_set },
                    { "stdout", &stream_set[CONSOLE_STDOUT] },
                    { "stderr", &stream_set[CONSOLE_STDERR] } };

    is_configured = true;
    for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const char *text = command_line_option(line, choices[i].option);
        unsigned set;

        if (!text)
            continue;
        if (set_parse(choices[i].option, text, &set, why))
            return -EINVAL;
        *choices[i].set = set;
    }
    /* A stream for which the kernel's own consoles are named shares them. */
    for (unsigned stream = 0; stream < 2; stream++)
        if (stream_set[stream] == kernel_set)
            stream_set[stream] = 0;
    return input_configure(line, why);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mounts.c: see mounts.h: the options
 *
 *     mount=PLACE:ADDRESS[:PORT]:/EXPORT[,…]     several, also as several options
 *     mount_timeout=TIME                         how long a server may be silent before calls fail with EIO
 *     mount_required=no                          the node goes on without what cannot be mounted
 *
 * An address is IPv4's four numbers. The port of 9P is 564 (IANA's service name 9pfs).
 */
#include "init/mounts.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/address_option.h"
#include "ninep/mount.h"

#define PORT           564
#define TIMEOUT_NS     30000000000ULL
#define TIMEOUT_NS_MIN 100000000ULL
#define TIMEOUT_NS_MAX 3600000000000ULL
#define PART_BYTES     256
#define FORM                                                                      \
    "mount=%.80s: write PLACE:ADDRESS:/EXPORT or PLACE:ADDRESS:PORT:/EXPORT, as " \
    "mount=/home:10.0.2.2:/srv/home"

struct request {
    char place[PART_BYTES], server[PART_BYTES], export[PART_BYTES];
    uint32_t address; /* in network byte order */
    uint16_t port;
};

/* Copies up to one of the characters `ends`, or the end; NULL if that is empty or too long. */
static const char *part_read(const char *text, const char *ends, char part[PART_BYTES])
{
    size_t length = 0;

    while (text[length] && text[length] != ends[0] && text[length] != ends[1])
        length++;
    if (!length || length >= PART_BYTES)
        return NULL;
    memcpy(part, text, length);
    part[length] = '\0';
    return text + length;
}

/* Reads one of the option's mounts; *text becomes what follows. */
static int request_read(const char **text, struct request *request)
{
    const char *at = part_read(*text, "::", request->place);
    uint64_t port = PORT;

    if (at && *at == ':')
        at = part_read(at + 1, "::", request->server);
    if (at && at[0] == ':' && at[1] != '/') {
        at++;
        if (!number_read(&at, &port))
            return -EINVAL;
    }
    if (!at || at[0] != ':' || at[1] != '/' || request->place[0] != '/' || port == 0 || port > UINT16_MAX ||
        !address_parse(request->server, request->server + strlen(request->server), &request->address))
        return -EINVAL;
    at = part_read(at + 1, ",,", request->export);
    if (!at)
        return -EINVAL;
    request->port = (uint16_t)port;
    *text = *at ? at + 1 : at;
    return 0;
}

static int mount_make(const struct request *request, uint64_t timeout_ns, struct tree *tree,
                      struct message *why)
{
    struct mount *mount;
    int error = ninep_mount_make(request->place, __builtin_bswap32(request->address), request->port,
                                 request->export, timeout_ns, &mount, why);

    if (!error)
        error = mount_add(tree, mount, why);
    if (!error)
        kernel_print("mount: %s is %s\n", mount->place, mount->source);
    return error;
}

static int option_mount(const char *text, uint64_t timeout_ns, bool required, struct tree *tree,
                        struct message *why)
{
    static struct request request; /* too large for the stack */

    for (const char *rest = text; *rest;) {
        if (request_read(&rest, &request))
            return message_set(why, -EINVAL, FORM, text);
        int error = mount_make(&request, timeout_ns, tree, why);
        if (error && required)
            return error;
        if (error)
            kernel_print("%s; the node goes on without (mount_required=no)\n", why->text);
    }
    return *text ? 0 : message_set(why, -EINVAL, FORM, text);
}

int mounts_start(const struct command_line *line, struct tree *tree, struct message *why)
{
    const char *timeout = command_line_option(line, "mount_timeout");
    unsigned is_optional = 0; /* mount_required=no */
    uint64_t timeout_ns = TIMEOUT_NS;
    int error = 0;

    if (option_value(OPTION_TIME, "mount_timeout", timeout, TIMEOUT_NS_MIN, TIMEOUT_NS_MAX, &timeout_ns,
                     why) ||
        option_word(line, "mount_required", "yes, no", &is_optional, why))
        return -EINVAL;
    for (unsigned i = 0; i < line->option_count && !error; i++)
        if (strcmp(line->options[i].name, "mount") == 0)
            error = option_mount(line->options[i].value ? line->options[i].value : "", timeout_ns,
                                 !is_optional, tree, why);
    return error;
}

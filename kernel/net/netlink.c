/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netlink.c: sockets of AF_NETLINK, as far as C libraries need them for getifaddrs and if_nameindex: a
 * request for all links or all addresses, whose answer is received as one message [RFC 3549; man 7
 * rtnetlink]. Any other request is answered with an error. Runs in system calls. An answer is made and copied
 * without the socket's lock, which guards the answer that is waiting.
 */
#include "arch.h"
#include "fs/socket.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/address_option.h"
#include "net/interface_facts.h"
#include "net/size.h"
#include "process/process.h"
#include "smp/spinlock.h"

#define ANSWER_BYTES  1024
#define MULTI         2 /* flags of a message */
#define DUMP          0x300
#define ADDRESS_BYTES 12 /* sizeof(struct sockaddr_nl) */

enum message_type {
    MESSAGE_ERROR = 2,
    MESSAGE_DONE = 3,
    LINK_NEW = 16,
    LINK_GET = 18,
    ADDRESS_NEW = 20,
    ADDRESS_GET = 22,
};

enum attribute_type {
    LINK_ADDRESS = 1,
    LINK_BROADCAST = 2,
    LINK_NAME = 3,
    LINK_MTU = 4,
    ADDRESS_ADDRESS = 1,
    ADDRESS_LOCAL = 2,
    ADDRESS_LABEL = 3,
    ADDRESS_BROADCAST = 4,
};

struct header {
    uint32_t bytes;
    uint16_t type, flags;
    uint32_t sequence, port;
};

struct link_header {
    uint8_t family, unused;
    uint16_t kind;
    int32_t index;
    uint32_t flags, changed;
};

struct address_header {
    uint8_t family, bits, flags, scope;
    uint32_t index;
};

struct answer {
    uint32_t port;          /* of the socket that has asked */
    uint32_t used, message; /* where the last message begins */
    uint8_t bytes[ANSWER_BYTES];
};

struct netlink_socket {
    struct socket socket;
    struct page_pool *pool; /* of the rank that made the socket: its page returns there */
    struct spinlock lock;
    uint32_t port;
    struct answer waiting;
};

_Static_assert(sizeof(struct netlink_socket) <= ARCH_PAGE, "it has a page");

static struct netlink_socket *netlink_of(const struct file *file)
{
    return file->object;
}

/* ---- Answers ---- */

/* Appends bytes to the message that was begun last, in units of four. */
static void add(struct answer *own, const void *bytes, uint32_t count)
{
    uint8_t *at = own->bytes + own->used;

    memcpy(at, bytes, count);
    memset(at + count, 0, -count & 3);
    own->used += (count + 3) & ~3U;
    const uint32_t whole = own->used - own->message;
    memcpy(own->bytes + own->message, &whole, sizeof(whole));
}

static void add_attribute(struct answer *own, uint16_t type, const void *bytes, uint16_t count)
{
    const uint16_t header[2] = { size_16(sizeof(header) + count), type };

    add(own, header, sizeof(header));
    add(own, bytes, count);
}

/* Begins a message with its header, and what follows that. */
static void begin(struct answer *own, const struct header *request, uint16_t type, uint16_t flags,
                  const void *bytes, uint32_t count)
{
    const struct header header = {
        .type = type, .flags = flags, .sequence = request->sequence, .port = own->port
    };

    own->message = own->used;
    add(own, &header, sizeof(header));
    add(own, bytes, count);
}

static void add_link(struct answer *own, const struct header *request, const struct interface_facts *facts)
{
    static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    const struct link_header link = { .kind = facts->kind,
                                      .index = (int32_t)facts->index,
                                      .flags = facts->flags };

    begin(own, request, LINK_NEW, MULTI, &link, sizeof(link));
    add_attribute(own, LINK_NAME, facts->name, size_16(strlen(facts->name) + 1));
    add_attribute(own, LINK_MTU, &facts->mtu, sizeof(facts->mtu));
    add_attribute(own, LINK_ADDRESS, facts->hardware, sizeof(facts->hardware));
    add_attribute(own, LINK_BROADCAST, facts->flags & IFF_BROADCAST ? broadcast : facts->hardware,
                  sizeof(broadcast));
}

static void add_address(struct answer *own, const struct header *request, const struct interface_facts *facts)
{
    const struct address_header address = {
        .family = AF_INET,
        .bits = (uint8_t)address_mask_bits(facts->mask),
        .scope = facts->flags & IFF_LOOPBACK ? 254 : 0,
        .index = facts->index,
    };
    uint32_t broadcast = facts->address | ~facts->mask;

    if (!facts->address)
        return;
    begin(own, request, ADDRESS_NEW, MULTI, &address, sizeof(address));
    add_attribute(own, ADDRESS_ADDRESS, &facts->address, sizeof(facts->address));
    add_attribute(own, ADDRESS_LOCAL, &facts->address, sizeof(facts->address));
    if (facts->flags & IFF_BROADCAST)
        add_attribute(own, ADDRESS_BROADCAST, &broadcast, sizeof(broadcast));
    add_attribute(own, ADDRESS_LABEL, facts->name, size_16(strlen(facts->name) + 1));
}

static void answer(struct answer *own, const struct header *request)
{
    const bool is_known = request->type == LINK_GET || request->type == ADDRESS_GET;
    const int32_t none = 0, error = -EOPNOTSUPP;
    struct interface_facts facts;

    own->used = 0;
    if (!is_known || (request->flags & DUMP) == 0) {
        begin(own, request, MESSAGE_ERROR, 0, &error, sizeof(error));
        add(own, request, sizeof(*request));
        return;
    }
    for (unsigned index = 1; interface_facts(index, &facts); index++)
        (request->type == LINK_GET ? add_link : add_address)(own, request, &facts);
    begin(own, request, MESSAGE_DONE, MULTI, &none, sizeof(none));
}

/* ---- Calls ---- */

static void name_write(struct socket_address *name, uint32_t port)
{
    const struct {
        uint16_t family, unused;
        uint32_t port, groups;
    } own = { .family = AF_NETLINK, .port = port };

    name->bytes = ADDRESS_BYTES;
    memcpy(name->raw, &own, sizeof(own));
}

static int netlink_bind(struct file *file, const struct socket_address *name)
{
    uint32_t port;

    if (name->bytes < ADDRESS_BYTES || name->family != AF_NETLINK)
        return -EINVAL;
    memcpy(&port, name->raw + 4, sizeof(port));
    netlink_of(file)->port = port ? port : (uint32_t)arch_process()->pid;
    return 0;
}

static int netlink_name(struct file *file, bool of_peer, struct socket_address *name)
{
    name_write(name, of_peer ? 0 : netlink_of(file)->port);
    return 0;
}

static int64_t netlink_send(struct file *file, struct socket_message *message)
{
    struct netlink_socket *own = netlink_of(file);
    uint64_t bytes = message->vector->left;
    struct header request;

    if (bytes < sizeof(request))
        return -EINVAL;
    if (user_vector_copy(message->vector, &request, sizeof(request), false))
        return -EFAULT;
    struct answer made = { .port = own->port ? own->port : (uint32_t)arch_process()->pid };
    answer(&made, &request);
    SPIN_GUARD(&own->lock);
    own->port = made.port;
    memcpy(&own->waiting, &made, sizeof(made));
    return (int64_t)bytes;
}

static void answer_take(struct netlink_socket *own, struct answer *taken, bool peek)
{
    SPIN_GUARD(&own->lock);
    memcpy(taken, &own->waiting, sizeof(*taken));
    if (!peek)
        own->waiting.used = 0;
}

/* Takes the answer. It is there as soon as something was asked: no thread has to wait. */
static int64_t netlink_receive(struct file *file, struct socket_message *message)
{
    struct answer taken;

    answer_take(netlink_of(file), &taken, message->flags & MSG_PEEK);
    uint64_t count = smaller(taken.used, message->vector->left);
    if (!taken.used)
        return -EAGAIN;
    if (user_vector_copy(message->vector, taken.bytes, count, true))
        return -EFAULT;
    if (message->address)
        name_write(message->address, 0);
    if (count < taken.used)
        message->answer_flags |= MSG_TRUNC;
    message->whole_bytes = taken.used;
    return (int64_t)count;
}

static unsigned netlink_ready(struct file *file)
{
    return READY_OUT | (netlink_of(file)->waiting.used ? READY_IN : 0);
}

static void netlink_release(struct file *file)
{
    page_pool_free(netlink_of(file)->pool, arch_physical_of(file->object), ARCH_PAGE);
}

static const struct socket_operations netlink_operations = {
    .bind = netlink_bind,
    .send = netlink_send,
    .receive = netlink_receive,
    .name = netlink_name,
};

static const struct file_operations netlink_files = {
    .move = socket_move,
    .waits = true,
    .ready = netlink_ready,
    .release = netlink_release,
};

int netlink_socket_create(struct file *file, int type, int protocol)
{
    uint64_t page;

    if (type != SOCK_RAW && type != SOCK_DGRAM)
        return -ESOCKTNOSUPPORT;
    if (protocol != 0) /* NETLINK_ROUTE */
        return -EPROTONOSUPPORT;
    page = page_pool_allocate_zeroed(arch_process()->vm.pages);
    if (page == PAGE_POOL_NONE)
        return -ENOMEM;
    struct netlink_socket *own = arch_physical(page);
    own->pool = arch_process()->vm.pages;
    socket_initialise(file, &own->socket, &netlink_files, &netlink_operations, AF_NETLINK, (unsigned)type,
                      (unsigned)protocol);
    return 0;
}

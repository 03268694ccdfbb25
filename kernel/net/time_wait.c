/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_wait.c: see connection.h. For a segment a pcb is filled in from the record, and lwIP answers for that.
 */
#include "net/connection.h"
#include "net/memory.h"
#include "lwip/priv/tcp_priv.h"

#define RECORDS 256
#define TICKS   ((uint32_t)(2 * TCP_MSL / TCP_SLOW_INTERVAL))

struct wait_record {
    struct avl_node by_address; /* connection_key */
    struct connection_ends ends;
    uint32_t sent, received; /* the next numbers of either direction */
    uint32_t since;          /* tick */
    bool is_listed, is_of_process;
};

static struct wait_record *records;
static unsigned next; /* the record to use: the oldest, unless its end was repeated */
static struct avl_node *by_address;

void time_wait_start(void)
{
    records = network_allocate_array(RECORDS, sizeof(*records));
}

void time_wait_remove(struct wait_record *record)
{
    if (record->is_listed)
        avl_remove(&by_address, &record->by_address, NULL);
    record->is_listed = false;
}

static struct wait_record *at_key(uint64_t key)
{
    struct wait_record *record = avl_above(by_address, key);

    return record && record->by_address.key == key ? record : NULL;
}

static bool is_past(const struct wait_record *record)
{
    return !record->is_listed || connection_tick_now() - record->since > TICKS;
}

void time_wait_enter(const struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    struct wait_record *record = &records[next++ % RECORDS];
    const uint64_t key = connection_key(&connection->ends);
    struct wait_record *other = at_key(key);

    if (other) /* expired, or of other addresses, chosen to collide */
        time_wait_remove(other);
    time_wait_remove(record);
    *record = (struct wait_record){
        .by_address.key = key,
        .ends = connection->ends,
        .sent = pcb->snd_nxt,
        .received = pcb->rcv_nxt,
        .since = connection_tick_now(),
        .is_listed = true,
        .is_of_process = connection->is_of_process,
    };
    avl_insert(&by_address, &record->by_address, NULL);
    tcp_free(pcb);
}

struct wait_record *time_wait_find(const struct connection_ends *ends)
{
    struct wait_record *record = at_key(connection_key(ends));

    return record && !is_past(record) && ends_are_equal(&record->ends, ends) ? record : NULL;
}

bool time_wait_uses_port(uint16_t port)
{
    for (unsigned i = 0; i < RECORDS; i++)
        if (records[i].ends.local_port == port && !is_past(&records[i]))
            return true;
    return false;
}

bool time_wait_is_past(const struct wait_record *record, uint32_t number)
{
    return TCP_SEQ_GT(number, record->received);
}

void time_wait_input(struct wait_record *record, struct pbuf *packet, struct netif *interface)
{
    static struct tcp_pcb stand_in;
    const uint32_t now = connection_tick_now();

    stand_in = (struct tcp_pcb){
        .local_ip.addr = record->ends.local_address,
        .remote_ip.addr = record->ends.remote_address,
        .local_port = record->ends.local_port,
        .remote_port = record->ends.remote_port,
        .state = TIME_WAIT,
        .ttl = TCP_TTL,
        .snd_nxt = record->sent,
        .rcv_nxt = record->received,
        .rcv_wnd = TCP_MSS,
        .rcv_ann_wnd = TCP_MSS,
        .tmr = record->since,
    };
    tcp_ticks = now;
    tcp_tw_pcbs = &stand_in;
    tcp_input(packet, interface);
    tcp_tw_pcbs = NULL;
    record->since = stand_in.tmr; /* if its end was repeated, the minute begins again */
}

void time_wait_processes_drop(void)
{
    for (unsigned i = 0; i < RECORDS; i++)
        if (records[i].is_of_process)
            time_wait_remove(&records[i]);
}

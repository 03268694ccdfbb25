/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jobs.c MODE: ranks of jobs that run one after the other.
 *
 *      jobs leavings         fails if it finds anything of an earlier job, prints what is free, and leaves
 *                            all it can: dirty memory, files, names of sockets, ports, unread bytes,
 *                            objects of System V
 *      jobs flood LINES      LINES lines of 64 characters, each with its rank and its number
 *      jobs steps COUNT NS   a line every NS; ends with 40 and its rank
 *      jobs meet             each rank gives the next rank a word, by PMI, and takes that of the rank before
 *      jobs wait             sleeps in short pieces for ever
 *      jobs spin             computes for ever
 *      jobs look             polls the network for ever, and waits in no call
 */
#include "promise.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LEFT_PORT 5000

static unsigned variable(const char *name)
{
    const char *value = getenv(name);

    return value ? (unsigned)strtoul(value, NULL, 10) : 0;
}

/* ---- leavings ---- */

static int is_empty(const char *folder, const char *but)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    int others = 0;

    while (directory && (entry = readdir(directory)))
        others += entry->d_name[0] != '.' && strcmp(entry->d_name, but) != 0;
    return directory && others == 0;
}

static struct sockaddr_in own_port(void)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(LEFT_PORT) };

    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
}

static void names_take(void)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "\0left" };
    struct sockaddr_in name = own_port();
    int listener = socket(AF_INET, SOCK_STREAM, 0), unix_listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);

    PROMISE(bind(unix_listener, (void *)&local, sizeof(local)) == 0, "a local name is free");
    PROMISE(bind(listener, (void *)&name, sizeof(name)) == 0, "a port is free");
    PROMISE(listen(listener, 4) == 0 && connect(client, (void *)&name, sizeof(name)) == 0,
            "connects to itself");
    PROMISE(write(client, "unread", 6) == 6, "sends what nobody reads");
}

/* Objects that ranks share: one with each key or name, a rank's death to be undone, a waiting notification.
 */
static void objects_leave(void)
{
    const int flags = IPC_CREAT | IPC_EXCL | 0600;
    int segment = shmget(7, 100000, flags), set = semget(7, 4, flags), messages = msgget(7, flags);
    int queue = (int)mq_open("/left", O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, NULL);
    struct sembuf taken = { 0, 1, SEM_UNDO };
    struct {
        long type;
        char text[100];
    } message = { 1, "left" };

    PROMISE(segment >= 0 && set >= 0 && messages >= 0 && queue >= 0, "no objects are there");
    PROMISE(shmat(segment, NULL, 0) != (void *)-1 && semop(set, &taken, 1) == 0, "are used");
    PROMISE(msgsnd(messages, &message, 100, IPC_NOWAIT) == 0 && mq_send(queue, "left", 4, 1) == 0,
            "get messages");
    PROMISE(mkfifo("/tmp/left_fifo", 0600) == 0 && write(open("/tmp/left_fifo", O_RDWR), "left", 4) == 4,
            "a FIFO has bytes");
}

static void file_leave(const char *path)
{
    static const char bytes[100000] = "left";
    int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);

    PROMISE(file >= 0, "%s", path);
    PROMISE(write(file, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes), "a file takes bytes");
    PROMISE(mmap(NULL, sizeof(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED,
            "is mapped");
}

static int leavings(void)
{
    struct sysinfo info;
    unsigned char *memory;
    size_t bytes, dirty = 0;

    PROMISE(sysinfo(&info) == 0, "sysinfo");
    printf("rank %u of %u: %lu of %lu free\n", variable("TACET_RANK"), variable("TACET_SIZE"),
           (unsigned long)info.freeram, (unsigned long)info.totalram);
    bytes = (size_t)info.freeram / 4 * 3;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PROMISE(memory != MAP_FAILED, "most of the free memory can be had");
    if (memory == MAP_FAILED)
        return promises_kept();
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t))
        dirty += *(uint64_t *)(memory + i) != 0;
    PROMISE(dirty == 0, "%zu words are not zero", dirty);
    memset(memory, 0xdb, bytes);
    if (variable("TACET_LOCAL_RANK") == 0) {
        PROMISE(is_empty("/tmp", "jobs.musl") && is_empty("/dev/shm", ""), "nobody's files are there");
        file_leave("/tmp/left");
        file_leave("/dev/shm/left");
        names_take();
        objects_leave();
    }
    return promises_kept();
}

/* ---- The others ---- */

static int flood(unsigned lines)
{
    for (unsigned i = 0; i < lines; i++)
        printf("%4u %8u %049u\n", variable("TACET_RANK"), i, i);
    return 0;
}

static int steps(unsigned count, long ns)
{
    const unsigned rank = variable("TACET_RANK");

    for (unsigned i = 0; i < count; i++) {
        printf("rank %u step %u\n", rank, i);
        fflush(stdout);
        nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
    }
    return 40 + (int)rank;
}

static int ask(FILE *pmi, const char *request, char *answer, int bytes)
{
    return fputs(request, pmi) >= 0 && fflush(pmi) == 0 && fgets(answer, bytes, pmi) != NULL;
}

static int meet(void)
{
    char request[256], answer[256], expected[256];
    unsigned rank = variable("PMI_RANK"), size = variable("PMI_SIZE"), before = (rank + size - 1) % size;
    FILE *pmi = fdopen((int)variable("PMI_FD"), "r+");

    PROMISE(pmi, "PMI_FD is open");
    PROMISE(ask(pmi, "cmd=init pmi_version=1 pmi_subversion=1\n", answer, sizeof(answer)) &&
                strstr(answer, "rc=0"),
            "%s", answer);
    PROMISE(ask(pmi, "cmd=get_my_kvsname\n", answer, sizeof(answer)), "the space has a name");
    char *space = strstr(answer, "kvsname=");
    PROMISE(space, "%s", answer);
    space += strlen("kvsname=");
    space[strcspn(space, " \n")] = '\0';
    char own[128];
    snprintf(own, sizeof(own), "%s", space);
    snprintf(request, sizeof(request), "cmd=put kvsname=%s key=word-%u value=of-%u\n", own, rank, rank);
    PROMISE(ask(pmi, request, answer, sizeof(answer)) && strstr(answer, "rc=0"), "%s", answer);
    PROMISE(ask(pmi, "cmd=barrier_in\n", answer, sizeof(answer)) && strstr(answer, "barrier_out"), "%s",
            answer);
    snprintf(request, sizeof(request), "cmd=get kvsname=%s key=word-%u\n", own, before);
    snprintf(expected, sizeof(expected), "value=of-%u", before);
    PROMISE(ask(pmi, request, answer, sizeof(answer)) && strstr(answer, expected), "%s", answer);
    PROMISE(ask(pmi, "cmd=finalize\n", answer, sizeof(answer)) && strstr(answer, "finalize_ack"), "%s",
            answer);
    printf("rank %u met rank %u\n", rank, before);
    return promises_kept();
}

/* Prints a word, and repeats a step for ever. */
_Noreturn static void go_on(const char *word, void (*step)(void))
{
    puts(word);
    fflush(stdout);
    for (;;)
        step();
}

static void wait_shortly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static void compute(void)
{
    __asm__ volatile("");
}

static void look(void)
{
    static struct pollfd datagrams = { .fd = -1, .events = POLLIN };

    if (datagrams.fd < 0)
        datagrams.fd = socket(AF_INET, SOCK_DGRAM, 0);
    poll(&datagrams, 1, 0);
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";

    if (strcmp(mode, "leavings") == 0)
        return leavings();
    if (strcmp(mode, "flood") == 0 && count > 2)
        return flood((unsigned)strtoul(words[2], NULL, 10));
    if (strcmp(mode, "steps") == 0 && count > 3)
        return steps((unsigned)strtoul(words[2], NULL, 10), strtol(words[3], NULL, 10));
    if (strcmp(mode, "meet") == 0)
        return meet();
    if (strcmp(mode, "wait") == 0)
        go_on("waits", wait_shortly);
    if (strcmp(mode, "spin") == 0)
        go_on("spins", compute);
    if (strcmp(mode, "look") == 0)
        go_on("looks", look);
    fprintf(stderr, "jobs: leavings, flood LINES, steps COUNT NS, meet, wait, spin or look\n");
    return 2;
}

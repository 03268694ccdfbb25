/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * etc.c: see etc.h. Only the names that programs ask for are here: an archive with a longer list replaces a
 * file. Formats: passwd(5), group(5), nsswitch.conf(5), services(5), protocols(5), os-release(5). On the
 * first CPU, without processes.
 *
 * A job has numbers, not names, for its user and groups: "user", and "group" with the number for all but the
 * first. The home is where files can be made.
 */
#include "fs/etc.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "lib/version.h"
#include "process/process.h"

#define HOME "/tmp"

static char passwd[128], group[(CREDENTIALS_GROUPS_MAX + 2) * sizeof("group4294967295:x:4294967295:\n")];
static struct inode *passwd_inode, *group_inode;

static const char *const files[][2] = {
    { "/etc/mtab", "/proc/self/mounts" }, /* a symbolic link */
    { "/etc/host.conf", "multi on\n" },
    { "/etc/nsswitch.conf",
      "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
    { "/etc/os-release",
      "NAME=Tacet\nID=tacet\nVERSION_ID=\"" TACET_VERSION "\"\nPRETTY_NAME=\"Tacet " TACET_VERSION "\"\n" },
    { "/etc/protocols", "ip 0 IP\nicmp 1 ICMP\nigmp 2 IGMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\n"
                        "ipv6-icmp 58 IPv6-ICMP\n" },
    { "/etc/services",
      "echo 7/tcp\necho 7/udp\ndiscard 9/tcp\ndiscard 9/udp\nsystat 11/tcp\ndaytime 13/tcp\n"
      "daytime 13/udp\nchargen 19/tcp\nchargen 19/udp\nftp-data 20/tcp\nftp 21/tcp\nssh 22/tcp\n"
      "telnet 23/tcp\nsmtp 25/tcp\ntime 37/tcp\ntime 37/udp\ndomain 53/tcp\ndomain 53/udp\n"
      "bootps 67/udp\nbootpc 68/udp\ntftp 69/udp\nfinger 79/tcp\nhttp 80/tcp www\npop3 110/tcp\n"
      "sunrpc 111/tcp\nsunrpc 111/udp\nntp 123/udp\nimap2 143/tcp imap\nsnmp 161/udp\nldap 389/tcp\n"
      "https 443/tcp\nsyslog 514/udp\n9pfs 564/tcp\nsubmission 587/tcp\nldaps 636/tcp\nrsync 873/tcp\n"
      "imaps 993/tcp\npop3s 995/tcp\nnfs 2049/tcp\nnfs 2049/udp\nmysql 3306/tcp\npostgresql 5432/tcp\n" },
};

void etc_user_write(void)
{
    const struct credentials *who = &process_credentials;
    size_t used = format_text(passwd, sizeof(passwd), "root:x:0:0:root:" HOME ":/bin/sh\n");

    if (who->uid)
        format_text(passwd + used, sizeof(passwd) - used, "user:x:%u:%u:user:" HOME ":/bin/sh\n", who->uid,
                    who->gid);
    used = format_text(group, sizeof(group), "root:x:0:\n");
    if (who->gid)
        used += format_text(group + used, sizeof(group) - used, "user:x:%u:\n", who->gid);
    for (unsigned i = 0; i < who->group_count; i++)
        if (who->groups[i] && who->groups[i] != who->gid)
            used += format_text(group + used, sizeof(group) - used, "group%u:x:%u:\n", who->groups[i],
                                who->groups[i]);
    if (passwd_inode)
        passwd_inode->bytes = strlen(passwd);
    if (group_inode)
        group_inode->bytes = strlen(group);
}

int etc_file_add(struct tree *tree, const char *path, const char *text, struct inode **added,
                 struct message *why)
{
    struct path_lookup found;
    struct inode *inode = NULL;
    const bool is_there = tree_find(tree, tree->root, path, TREE_FOLLOW, &found) == 0;
    const uint32_t mode = text[0] == '/' ? S_IFLNK | 0777 : S_IFREG | 0644;

    if (!is_there)
        inode = tree_add(tree, path, mode, text, strlen(text), why);
    if (added)
        *added = inode;
    return is_there || inode ? 0 : -EINVAL;
}

int etc_add(struct tree *tree, struct message *why)
{
    int error = etc_file_add(tree, "/etc/passwd", passwd, &passwd_inode, why);

    if (!error)
        error = etc_file_add(tree, "/etc/group", group, &group_inode, why);
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
        error = etc_file_add(tree, files[i][0], files[i][1], NULL, why);
    etc_user_write();
    return error;
}

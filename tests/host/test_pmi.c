/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pmi.c: lines of PMI-1 are read as they are meant or refused by name, keys are put once, and the
 * mapping of ranks is MPICH's.
 */
#include "check.h"
#include "lib/errno.h"
#include "service/lib/pmi.h"

static char line[PMI_LINE_BYTES];
static struct pmi_request request;
static struct message why;

static int read_line(const char *text)
{
    snprintf(line, sizeof(line), "%s", text);
    return pmi_request_read(line, false, &request, &why);
}

TEST(requests_are_read_with_what_they_take)
{
    CHECK_EQUAL(read_line("cmd=init pmi_version=1 pmi_subversion=2"), 0);
    CHECK_EQUAL(request.number, 1);
    CHECK_EQUAL(request.subversion, 2);
    CHECK_EQUAL(read_line("cmd=put kvsname=job_1 key=a value=tcp://10.0.0.1:5?x=y"), 0);
    CHECK_EQUAL(request.command, PMI_PUT);
    CHECK_TEXT(request.kvsname, "job_1");
    CHECK_TEXT(request.key, "a");
    CHECK_TEXT(request.value, "tcp://10.0.0.1:5?x=y");
    CHECK_EQUAL(read_line("cmd=abort"), 0);
    CHECK_EQUAL(request.number, 1);
    CHECK_EQUAL(read_line("cmd=abort exitcode=-2147483648"), 0);
    CHECK_EQUAL(request.number, (uint32_t)INT32_MIN);
    CHECK_EQUAL(read_line("cmd=abort exitcode=0"), 0);
    CHECK_EQUAL(request.number, 0);
    CHECK_EQUAL(read_line("cmd=lookup_name service=x"), 0);
    CHECK_EQUAL(request.command, PMI_REFUSED);
    CHECK_TEXT(request.reply, "lookup_result");
}

TEST(order_blanks_and_other_words_do_not_matter)
{
    CHECK_EQUAL(read_line(" \tkey=k  other=1 kvsname=s\tcmd=get "), 0);
    CHECK_EQUAL(request.command, PMI_GET);
    CHECK_TEXT(request.key, "k");
    CHECK_EQUAL(read_line("cmd=put kvsname=s key=k value="), 0);
    CHECK_TEXT(request.value, "");
}

TEST(a_spawn_is_many_lines)
{
    CHECK_EQUAL(read_line("mcmd=spawn"), 0);
    CHECK_EQUAL(request.command, PMI_SPAWN_BEGIN);
    snprintf(line, sizeof(line), "arg1=of any kind");
    CHECK_EQUAL(pmi_request_read(line, true, &request, &why), 0);
    CHECK_EQUAL(request.command, PMI_SPAWN_LINE);
    snprintf(line, sizeof(line), "endcmd");
    CHECK_EQUAL(pmi_request_read(line, true, &request, &why), 0);
    CHECK_EQUAL(request.command, PMI_SPAWN_END);
    CHECK_TEXT(request.reply, "spawn_result");
}

TEST(wrong_lines_are_refused_by_name)
{
    static const struct {
        const char *line, *why;
    } wrongs[] = {
        { "", "cmd=COMMAND" },
        { "garbage", "cmd=COMMAND" },
        { "=x", "cmd=COMMAND" },
        { "cmd", "cmd=COMMAND" },
        { "cmd=put key=a value=b c", "cmd=COMMAND" },
        { "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 cmd=init q=1", "16 at most" },
        { "cmd=", "cmd=: PMI-1 has no such command" },
        { "cmd=nothing", "cmd=nothing: PMI-1 has no such command" },
        { "cmd=initack pmiid=0", "cmd=initack: PMI-1 has no such command" },
        { "cmd=abort exitcode=2147483648", "exitcode=2147483648: not a number of 32 bits" },
        { "cmd=abort exitcode=-18446744073709551617", "not a number of 32 bits" },
        { "cmd=abort exitcode=-", "exitcode=-: not a number of 32 bits" },
        { "cmd=init pmi_version=-1 pmi_subversion=1", "pmi_version=-1: not a number from" },
        { "cmd=init pmi_version=1", "pmi_subversion=: not a number from" },
        { "cmd=init pmi_subversion=1", "pmi_version=: not a number from" },
        { "cmd=abort exitcode=x", "exitcode=x: not a number of 32 bits" },
        { "cmd=get key=k", "cmd=get: kvsname= is missing" },
        { "cmd=get kvsname=s", "cmd=get: key= is missing" },
        { "cmd=put kvsname=s key=k", "cmd=put: value= is missing" },
        { "cmd=getbyidx idx=0", "cmd=getbyidx: kvsname= is missing" },
        { "cmd=getbyidx kvsname=s idx=1.5", "idx=1.5: not a number from" },
    };

    for (unsigned i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        CHECK_EQUAL(read_line(wrongs[i].line), -EINVAL);
        CHECK_CONTAINS(why.text, wrongs[i].why);
    }
}

TEST(keys_are_put_once_and_found)
{
    struct pmi_store store = { 0 };
    char key[32], value[32];

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "card-%u", i * 7919 % 1000);
        snprintf(value, sizeof(value), "value-%u", i);
        CHECK_EQUAL(pmi_store_put(&store, key, value, &why), 0);
    }
    CHECK_EQUAL(store.count, 1000);
    CHECK_TEXT(pmi_store_get(&store, "card-919"), "value-1");
    CHECK_TEXT(store.pairs[1]->key, "card-919");
    CHECK(pmi_store_get(&store, "card") == NULL);
    CHECK_EQUAL(pmi_store_put(&store, "card-919", "other", &why), -EEXIST);
    CHECK_CONTAINS(why.text, "card-919: already put");
    CHECK_TEXT(pmi_store_get(&store, "card-919"), "value-1");
    pmi_store_free(&store);
    CHECK(pmi_store_get(&store, "card-919") == NULL);
}

TEST(keys_and_values_have_their_sizes)
{
    struct pmi_store store = { 0 };
    char text[PMI_VALUE_BYTES + 1];

    memset(text, 'x', sizeof(text));
    text[PMI_VALUE_BYTES] = '\0';
    CHECK_EQUAL(pmi_store_put(&store, "k", text, &why), -EINVAL);
    CHECK_CONTAINS(why.text, "1023 characters at most");
    text[PMI_VALUE_BYTES - 1] = '\0';
    CHECK_EQUAL(pmi_store_put(&store, "k", text, &why), 0);
    text[PMI_KEY_BYTES] = '\0';
    CHECK_EQUAL(pmi_store_put(&store, text, "", &why), -EINVAL);
    text[PMI_KEY_BYTES - 1] = '\0';
    CHECK_EQUAL(pmi_store_put(&store, text, "", &why), 0);
    CHECK_EQUAL(pmi_store_put(&store, "", "v", &why), -EINVAL);
    CHECK_CONTAINS(why.text, "a key has 1 to 63 characters");
    pmi_store_free(&store);
}

TEST(the_mapping_is_of_blocks)
{
    char text[PMI_VALUE_BYTES];

    pmi_mapping_print(text, 4, 8);
    CHECK_TEXT(text, "(vector,(0,4,2))");
    pmi_mapping_print(text, 3, 7);
    CHECK_TEXT(text, "(vector,(0,1,3),(1,2,2))");
    pmi_mapping_print(text, 1, 1);
    CHECK_TEXT(text, "(vector,(0,1,1))");
}

int main(void)
{
    RUN(requests_are_read_with_what_they_take);
    RUN(order_blanks_and_other_words_do_not_matter);
    RUN(a_spawn_is_many_lines);
    RUN(wrong_lines_are_refused_by_name);
    RUN(keys_are_put_once_and_found);
    RUN(keys_and_values_have_their_sizes);
    RUN(the_mapping_is_of_blocks);
    return check_report("pmi");
}

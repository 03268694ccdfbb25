/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_shapes.h: the kinds of arguments of each system call, so that a fuzzer gets far into the call. One
 * letter per argument:
 *
 *   d descriptor     p memory          s a path      n a length         t a time      g flags
 *   i small number   o an offset       z a signal    m a mapped range   c a clock      k a policy
 *   y a thread       f a socket's family         j its type       l its protocol   v an option's level
 *   a an address     b the length of one         h a message
 *
 * A number that is not in the list gets arguments of any kind. The list has numbers of x86_64; call_shape
 * takes those of this machine.
 */
#ifndef CALL_SHAPES_H
#define CALL_SHAPES_H

#include "machine.h"

#include <stddef.h>

// clang-format off
static const char *const call_shapes[512] = {
    /* files */
    [0] = "dpn", [1] = "dpn", [2] = "sgg", [3] = "d", [4] = "sp", [5] = "dp", [6] = "sp", [7] = "pii",
    [8] = "doi", [16] = "dgp", [17] = "dpno", [18] = "dpno", [19] = "dpi", [20] = "dpi", [21] = "sg",
    [22] = "p", [32] = "d", [33] = "dd", [40] = "ddpn", [72] = "dip", [73] = "di", [74] = "d", [75] = "d",
    [76] = "so", [77] = "do", [78] = "dpn", [79] = "pn", [80] = "s", [81] = "d", [82] = "ss", [83] = "sg",
    [84] = "s", [85] = "sg", [86] = "ss", [87] = "s", [88] = "ss", [89] = "spn", [90] = "sg", [91] = "dg",
    [92] = "sii", [93] = "dii", [94] = "sii", [95] = "g", [132] = "sp", [133] = "sgi", [137] = "sp",
    [138] = "dp", [162] = "", [187] = "don", [188] = "sspng", [191] = "sspn", [194] = "spn", [217] = "dpn",
    [221] = "dooi", [235] = "sp", [257] = "dsgg", [258] = "dsg", [259] = "dsgi", [260] = "dsiig",
    [261] = "dsp", [262] = "dspg", [263] = "dsg", [264] = "dsds", [265] = "dsdsg", [266] = "sds",
    [267] = "dspn", [268] = "dsg", [269] = "dsg", [275] = "dpdpng", [276] = "ddng", [277] = "dong",
    [278] = "dpig", [280] = "dspg", [285] = "dioo", [292] = "ddg", [293] = "pg", [295] = "dpioo",
    [296] = "dpioo", [306] = "d", [316] = "dsdsg", [319] = "sg", [326] = "dpdpng", [327] = "dpioog",
    [328] = "dpioog", [332] = "dsggp", [436] = "ddg", [437] = "dspn", [439] = "dsgg",
    /* sockets */
    [41] = "fjl", [42] = "dab", [43] = "dpp", [44] = "dpngab", [45] = "dpngpp", [46] = "dhg", [47] = "dhg",
    [48] = "di", [49] = "dab", [50] = "di", [51] = "dpp", [52] = "dpp", [53] = "fjlp", [54] = "dvipb",
    [55] = "dvipp", [288] = "dppj", [299] = "dhigp", [307] = "dhig",
    /* memory */
    [9] = "mngidg", [10] = "mng", [11] = "mn", [12] = "p", [25] = "mnngm", [26] = "mng", [27] = "mnp",
    [28] = "mni", [149] = "mn", [150] = "mn", [151] = "g", [152] = "", [237] = "mngpig", [238] = "ipi",
    [239] = "ppimi", [256] = "iipp", [279] = "iimppi", [325] = "mng", [450] = "mnii",
    /* between ranks */
    [29] = "ing", [30] = "img", [31] = "iip", [64] = "iig", [66] = "iiip", [67] = "m",
    [68] = "ig", [69] = "ipng", [70] = "ipnig", [71] = "iip", [220] = "ipit", [240] = "sggp", [241] = "s",
    [242] = "dpnit", [243] = "dpnpt", [244] = "dp", [245] = "dpp",
    /* the process, threads, signals */
    [13] = "zppi", [14] = "ippi", [24] = "", [34] = "", [36] = "ip", [37] = "i", [38] = "ipp", [39] = "",
    [56] = "gpppp", [61] = "ipgp", [62] = "iz", [63] = "p", [97] = "ip", [98] = "ip", [99] = "p", [100] = "p",
    [102] = "", [109] = "ii", [110] = "", [111] = "", [112] = "", [115] = "ip", [118] = "ppp", [120] = "ppp",
    [121] = "i", [124] = "i", [125] = "pp", [127] = "pi", [128] = "ppti", [129] = "izp", [131] = "pp",
    [140] = "ii", [141] = "iii", [142] = "yp", [143] = "yp", [144] = "ykp", [145] = "y", [146] = "k",
    [147] = "k", [148] = "yp", [157] = "ipppp", [158] = "gp", [160] = "ip", [186] = "", [200] = "yz",
    [202] = "piitpi", [203] = "ynp", [204] = "ynp", [218] = "p", [219] = "", [234] = "iyz", [247] = "iipgp",
    [273] = "pn", [274] = "ypp", [297] = "iizp", [302] = "iipp", [309] = "ppp", [318] = "png", [324] = "igi",
    [334] = "pngi", [435] = "pn", [449] = "piitc",
    /* time and waiting */
    [23] = "ipppt", [35] = "tp", [96] = "pp", [201] = "p", [213] = "i", [222] = "cpp", [223] = "igpp",
    [224] = "ip", [225] = "i", [226] = "i", [227] = "cp", [228] = "cp", [229] = "cp", [230] = "citp",
    [232] = "dpii", [233] = "didp", [253] = "",
    [254] = "dsg", [255] = "di", [270] = "ipppt", [271] = "pitpi", [281] = "dpiipi", [282] = "dpi",
    [283] = "cg", [284] = "i", [286] = "digp", [287] = "dp", [289] = "dpig", [290] = "ig", [291] = "g",
    [294] = "g", [424] = "dzpg", [434] = "ig", [441] = "dpitpi",
};
// clang-format on

/* Returns the shape of a call's arguments; NULL if it is not known. */
static inline const char *call_shape(long number)
{
    static const long numbers[][2] = {
#define LOCAL(name, x86_64, ppc64, arguments, limits)     { MACHINE_NUMBER(x86_64, ppc64), x86_64 },
#define STUB(name, x86_64, ppc64, arguments, reason)      { MACHINE_NUMBER(x86_64, ppc64), x86_64 },
#define CONST(name, x86_64, ppc64, value, reason)         { MACHINE_NUMBER(x86_64, ppc64), x86_64 },
#define ALIAS(name, x86_64, ppc64, of, arguments, limits) { MACHINE_NUMBER(x86_64, ppc64), x86_64 },
#define REFUSED(name, x86_64, ppc64, reason)              { MACHINE_NUMBER(x86_64, ppc64), x86_64 },
#include "kernel/syscall/syscalls.def"
    };
    const long known = (long)(sizeof(call_shapes) / sizeof(call_shapes[0]));

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (number >= 0 && numbers[i][0] == number)
            return numbers[i][1] >= 0 && numbers[i][1] < known ? call_shapes[numbers[i][1]] : NULL;
    return NULL;
}

#endif

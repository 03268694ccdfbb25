# SPDX-License-Identifier: BSD-2-Clause
#
# bearssl.mk: BearSSL's sources, which are fetched once, and how they are compiled: for the kernel (Makefile),
# for the service programs (service/service.mk), and for tests (tests/host/host.mk).

BEARSSL := build/bearssl

# What kernel/lib/seal.c uses: portable C in constant time, and of several variants the smallest.
BEARSSL_C := ec/ec_c25519_m31.c symcipher/chacha20_ct.c symcipher/poly1305_ctmul.c codec/ccopy.c

# No code that depends on the machine or the system: no vector registers, no random numbers, no clock.
BEARSSL_DEFINES := $(addsuffix =0,$(addprefix -DBR_,AES_X86NI SSE2 POWER8 LE_UNALIGNED BE_UNALIGNED RDRAND \
	USE_URANDOM USE_GETENTROPY USE_WIN32_RAND USE_UNIX_TIME USE_WIN32_TIME))
BEARSSL_CFLAGS := $(BEARSSL_DEFINES) -isystem $(BEARSSL)/inc -iquote $(BEARSSL)/src -fno-strict-aliasing -w
# The kernel has no other string.h.
BEARSSL_KERNEL_CFLAGS := -isystem ports/bearssl/include $(BEARSSL_CFLAGS)

$(BEARSSL)/stamp: ports/bearssl/recipe ports/unpack.sh
	@echo "  PORT    BearSSL, unpacked, not installed"
	@ports/unpack.sh bearssl build
	@touch $@

# Sources and headers that dependencies name, if the folder was removed.
$(BEARSSL)/src/% $(BEARSSL)/inc/%: | $(BEARSSL)/stamp ;

# SPDX-License-Identifier: BSD-2-Clause
#
# service.mk: builds the programs of the service node for this machine: `make service`. A program is linked
# from its folder, service/lib/, and the sources of the kernel that both sides of a protocol share.

SERVICE_BUILD  := build/service
SERVICE_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) -iquote kernel -iquote .
SERVICE_PROGRAMS := $(addprefix $(SERVICE_BUILD)/,conductor conductorctl listener tacetrun tacet-launchd \
                                                 tacet-mpirun)
SERVICE_OF_KERNEL := $(patsubst %,kernel/beat/%.c,beat_frame answer_frame page_frame key_frame) \
                     $(patsubst %,kernel/beat/%.c,welcome global_clock) \
                     $(patsubst %,kernel/lib/%.c,format key seal siphash) kernel/launch/launch_request.c
service_objects = $(patsubst %.c,$(SERVICE_BUILD)/objects/%.o,$(1))

.PHONY: service
service: $(SERVICE_PROGRAMS)
define service_program
$(SERVICE_BUILD)/$(1): $(call service_objects,$(wildcard service/$(patsubst tacet-%,%,$(1))/*.c))
endef
$(foreach program,$(notdir $(SERVICE_PROGRAMS)),$(eval $(call service_program,$(program))))
# Static, for an initramfs without libraries. It resolves no host names, which would need shared libraries.
$(SERVICE_BUILD)/tacet-launchd: SERVICE_LINK := -static
$(SERVICE_PROGRAMS): $(SERVICE_BUILD)/lib.a
	@echo "  SERVICE $@"
	$(Q)$(CC) $(SERVICE_LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^)

ifndef BEARSSL
include ports/bearssl/bearssl.mk
endif
SERVICE_BEARSSL := $(BEARSSL_C:%.c=$(SERVICE_BUILD)/bearssl/%.o)
$(SERVICE_BUILD)/lib.a: $(call service_objects,$(wildcard service/lib/*.c) $(SERVICE_OF_KERNEL)) \
        $(SERVICE_BEARSSL)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^

$(SERVICE_BUILD).flags: FLAGS = $(CC) $(SERVICE_CFLAGS) $(wildcard service/*/*.c)
$(SERVICE_BUILD)/objects/%.o: %.c $(SERVICE_BUILD).flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVICE_CFLAGS) -MMD -MP -c -o $@ $<

$(SERVICE_BUILD)/objects/kernel/lib/seal.o: SERVICE_CFLAGS += -isystem $(BEARSSL)/inc
$(SERVICE_BUILD)/objects/kernel/lib/seal.o: $(BEARSSL)/stamp

$(SERVICE_BUILD)/bearssl/%.o: $(BEARSSL)/stamp $(SERVICE_BUILD).flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVICE_CFLAGS) $(BEARSSL_CFLAGS) -c -o $@ $(BEARSSL)/src/$*.c

-include $(wildcard $(SERVICE_BUILD)/objects/*/*/*.d)

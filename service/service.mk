# SPDX-License-Identifier: BSD-2-Clause
#
# service.mk: the programs of the service node, for this machine: `make service`.

SERVICE_BUILD  := build/service
SERVICE_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) -iquote kernel -iquote .
SERVICE_COMMON := service/control.c
CONDUCTOR_C    := service/conductor.c service/timeline.c service/wire.c service/key_file.c $(SERVICE_COMMON) \
                  kernel/lib/beat_frame.c kernel/lib/siphash.c

$(SERVICE_BUILD).flags: FLAGS = $(CC) $(SERVICE_CFLAGS)

.PHONY: service
service: $(SERVICE_BUILD)/conductor $(SERVICE_BUILD)/conductorctl
$(SERVICE_BUILD)/conductor: $(CONDUCTOR_C)
$(SERVICE_BUILD)/conductorctl: service/conductorctl.c $(SERVICE_COMMON)
SERVICE_PREREQUISITES := $(wildcard service/*.h kernel/lib/*.h) $(SERVICE_BUILD).flags
$(SERVICE_BUILD)/conductor $(SERVICE_BUILD)/conductorctl: $(SERVICE_PREREQUISITES)
	@mkdir -p $(@D)
	@echo "  SERVICE $@"
	$(Q)$(CC) $(SERVICE_CFLAGS) -o $@ $(filter %.c,$^)

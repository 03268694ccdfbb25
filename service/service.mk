# SPDX-License-Identifier: BSD-2-Clause
#
# service.mk: the programs of the service node, for this machine: `make service`.

SERVICE_BUILD  := build/service
SERVICE_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) -iquote kernel -iquote .
# A program is its folder, and what it uses of lib/ and of the kernel.
service_of      = $(wildcard service/$(1)/*.c) $(patsubst %,service/lib/%.c,$(2)) \
                  $(patsubst %,kernel/%.c,$(3))
SERVICE_WIRE   := service/lib/wire.c service/lib/key_file.c kernel/lib/siphash.c \
                  $(patsubst %,kernel/beat/%.c,beat_frame answer_frame page_frame welcome)
SERVICE_PROGRAMS := $(addprefix $(SERVICE_BUILD)/,conductor conductorctl listener tacetrun tacet-launchd \
                                                 tacet-mpirun)

$(SERVICE_BUILD).flags: FLAGS = $(CC) $(SERVICE_CFLAGS)

.PHONY: service
service: $(SERVICE_PROGRAMS)
$(SERVICE_BUILD)/conductor: $(call service_of,conductor,control json,launch/launch_request lib/format) \
                           $(SERVICE_WIRE)
$(SERVICE_BUILD)/conductorctl: $(call service_of,conductorctl,control json)
$(SERVICE_BUILD)/listener: $(call service_of,listener,,beat/global_clock) $(SERVICE_WIRE)
$(SERVICE_BUILD)/tacetrun: $(call service_of,tacetrun,event_loop pmi pmi_server control json key_file, \
                             launch/launch_request lib/siphash lib/format)
$(SERVICE_BUILD)/tacet-mpirun: $(call service_of,mpirun,pmi_server pmi event_loop descendants launch_cpus, \
                                 lib/format)
# Static: it runs where there is nothing but a kernel. It looks no names up.
$(SERVICE_BUILD)/tacet-launchd: $(call service_of,launchd,launch_cpus descendants event_loop, \
                                  launch/launch_request lib/format beat/global_clock) $(SERVICE_WIRE)
$(SERVICE_BUILD)/tacet-launchd: SERVICE_LINK := -static
$(SERVICE_PROGRAMS): $(wildcard service/*/*.h kernel/beat/*.h kernel/launch/*.h \
                     kernel/lib/siphash.h kernel/lib/format.h) $(SERVICE_BUILD).flags
	@mkdir -p $(@D)
	@echo "  SERVICE $@"
	$(Q)$(CC) $(SERVICE_CFLAGS) $(SERVICE_LINK) -o $@ $(filter %.c,$^)

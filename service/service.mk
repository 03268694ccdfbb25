# SPDX-License-Identifier: BSD-2-Clause
#
# service.mk: the programs of the service node, for this machine: `make service`. Each is its folder, what it
# uses of lib/, and what both sides of a protocol share with the kernel.

SERVICE_BUILD  := build/service
SERVICE_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) -iquote kernel -iquote .
SERVICE_PROGRAMS := $(addprefix $(SERVICE_BUILD)/,conductor conductorctl listener tacetrun tacet-launchd \
                                                 tacet-mpirun)

# Objects of a folder, of files of lib/, and of files of the kernel.
service_of = $(patsubst %.c,$(SERVICE_BUILD)/objects/%.o,$(wildcard service/$(1)/*.c) \
               $(patsubst %,service/lib/%.c,$(2)) $(patsubst %,kernel/%.c,$(3)))
SERVICE_WIRE := beat/beat_frame beat/answer_frame beat/page_frame beat/welcome lib/siphash

.PHONY: service
service: $(SERVICE_PROGRAMS)
$(SERVICE_BUILD)/conductor: $(call service_of,conductor,control json key_file say text wire, \
                              launch/launch_request lib/format $(SERVICE_WIRE))
$(SERVICE_BUILD)/conductorctl: $(call service_of,conductorctl,control json say text)
$(SERVICE_BUILD)/listener: $(call service_of,listener,key_file say text wire, \
                             beat/global_clock $(SERVICE_WIRE))
$(SERVICE_BUILD)/tacetrun: $(call service_of,tacetrun,event_loop pmi pmi_server control json key_file say text, \
                             launch/launch_request lib/siphash lib/format)
$(SERVICE_BUILD)/tacet-mpirun: $(call service_of,mpirun,pmi_server pmi event_loop descendants launch_cpus say \
                                 text,lib/format)
# Static: it runs where there is nothing but a kernel. It looks no names up.
$(SERVICE_BUILD)/tacet-launchd: $(call service_of,launchd,launch_cpus descendants event_loop key_file say text \
                                  wire, \
                                  launch/launch_request lib/format beat/global_clock $(SERVICE_WIRE))
$(SERVICE_BUILD)/tacet-launchd: SERVICE_LINK := -static

$(SERVICE_PROGRAMS):
	@echo "  SERVICE $@"
	$(Q)$(CC) $(SERVICE_LINK) -o $@ $^

$(SERVICE_BUILD).flags: FLAGS = $(CC) $(SERVICE_CFLAGS) $(wildcard service/*/*.c)
$(SERVICE_BUILD)/objects/%.o: %.c $(SERVICE_BUILD).flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SERVICE_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(SERVICE_BUILD)/objects/*/*/*.d)

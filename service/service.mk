# SPDX-License-Identifier: BSD-2-Clause
#
# service.mk: the programs of the service node, for this machine: `make service`.

SERVICE_BUILD  := build/service
SERVICE_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) -iquote kernel -iquote .
SERVICE_WIRE   := service/wire.c service/key_file.c kernel/beat/beat_frame.c kernel/beat/answer_frame.c \
                  kernel/beat/page_frame.c kernel/beat/welcome.c kernel/lib/siphash.c
SERVICE_PROGRAMS := $(addprefix $(SERVICE_BUILD)/,conductor conductorctl listener tacetrun tacet-launchd \
                                                 tacet-mpirun)

$(SERVICE_BUILD).flags: FLAGS = $(CC) $(SERVICE_CFLAGS)

.PHONY: service
service: $(SERVICE_PROGRAMS)
$(SERVICE_BUILD)/conductor: $(patsubst %,service/%.c,conductor beats answers requests orders pages jobs \
                              clients registry welcomes commands timeline control json) \
                           kernel/launch/launch_request.c kernel/lib/format.c $(SERVICE_WIRE)
$(SERVICE_BUILD)/conductorctl: $(patsubst %,service/%.c,conductorctl words conversation node_view \
                                 log_pull control json)
$(SERVICE_BUILD)/listener: service/listener.c kernel/beat/global_clock.c $(SERVICE_WIRE)
$(SERVICE_BUILD)/tacetrun: $(patsubst %,service/%.c,tacetrun $(addprefix tacetrun_,options names conductor \
                             nodes streams output pmi) event_loop pmi pmi_server launch_writer control \
                             json key_file) \
                           kernel/launch/launch_request.c $(addprefix kernel/lib/,siphash.c format.c)
$(SERVICE_BUILD)/tacet-mpirun: $(patsubst %,service/%.c,mpirun $(addprefix mpirun_,options rank streams) \
                                 pmi_server pmi event_loop descendants launch_cpus) kernel/lib/format.c
# Static: it runs where there is nothing but a kernel. It looks no names up.
$(SERVICE_BUILD)/tacet-launchd: $(patsubst %,service/%.c,launchd launch_client launch_job launch_rank \
                                  launch_beats launch_cpus descendants event_loop) \
                              $(addprefix kernel/,launch/launch_request.c lib/format.c beat/global_clock.c) \
                              $(SERVICE_WIRE)
$(SERVICE_BUILD)/tacet-launchd: SERVICE_LINK := -static
$(SERVICE_PROGRAMS): $(wildcard service/*.h kernel/beat/*.h kernel/launch/*.h \
                     kernel/lib/siphash.h kernel/lib/format.h) $(SERVICE_BUILD).flags
	@mkdir -p $(@D)
	@echo "  SERVICE $@"
	$(Q)$(CC) $(SERVICE_CFLAGS) $(SERVICE_LINK) -o $@ $(filter %.c,$^)

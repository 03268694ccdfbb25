# SPDX-License-Identifier: BSD-2-Clause
#
# lockstep.mk: builds what tools/lockstep-run loads (docs/lockstep.md): a plugin for QEMU 10, and the
# conductor.

LOCKSTEP_BUILD  := build/lockstep
LOCKSTEP_CFLAGS := -std=gnu11 -O2 -D_GNU_SOURCE $(WARNINGS) -fPIC -shared -fvisibility=hidden \
                   -iquote kernel -iquote .
LOCKSTEP_PARTS  := $(addprefix $(LOCKSTEP_BUILD)/,hold.so conductor.so)

$(LOCKSTEP_BUILD).flags: FLAGS = $(CC) $(LOCKSTEP_CFLAGS)

.PHONY: lockstep-parts
lockstep-parts: $(LOCKSTEP_PARTS)
$(LOCKSTEP_BUILD)/hold.so: tools/lockstep/hold.c tools/caches/qemu_plugin.h
$(LOCKSTEP_BUILD)/conductor.so: tools/lockstep/conductor.c \
        $(patsubst %,service/conductor/%.c,beats answers epochs epoch_file state_file orders pages registry) \
        $(patsubst %,service/conductor/%.c,welcomes commands timeline) \
        service/lib/json.c service/lib/say.c \
        $(patsubst %,kernel/%.c,beat/beat_frame beat/answer_frame beat/page_frame beat/welcome lib/siphash) \
        $(wildcard service/*/*.h kernel/beat/*.h kernel/lib/siphash.h kernel/lib/bytes.h)
# No undefined symbols in conductor.so; those of hold.so are in QEMU.
$(LOCKSTEP_BUILD)/conductor.so: LOCKSTEP_LINK := -Wl,-z,defs
$(LOCKSTEP_PARTS): $(LOCKSTEP_BUILD).flags
	@mkdir -p $(@D)
	@echo "  SHARED  $@"
	$(Q)$(CC) $(LOCKSTEP_CFLAGS) $(LOCKSTEP_LINK) -o $@ $(filter %.c,$^)

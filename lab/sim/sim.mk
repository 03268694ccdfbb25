# SPDX-License-Identifier: BSD-2-Clause
#
# sim.mk: the LogGOPS simulator build/lab/sim. Included by the top-level Makefile.
# Its C++ tests and fuzzers link SIM_LIBRARY, everything but the commands.

SIM          := build/lab/sim
SIM_CXX      ?= g++
SIM_BUILD    := build/lab/sim.d
SIM_WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(CI),-Werror)
SIM_CXXFLAGS := -std=c++20 -O3 -g $(SIM_WARNINGS) -pthread

SIM_COMMANDS := lab/sim/main.cpp lab/sim/bench.cpp lab/sim/options.cpp
SIM_LIBRARY  := $(filter-out $(SIM_COMMANDS),$(sort $(wildcard lab/sim/*.cpp)))
SIM_OBJECTS  := $(patsubst lab/sim/%.cpp,$(SIM_BUILD)/%.o,$(SIM_COMMANDS) $(SIM_LIBRARY))

.PHONY: sim
sim: $(SIM)

$(SIM): $(SIM_OBJECTS)
	@echo "  LD      $@"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -o $@ $^

$(SIM_BUILD)/%.o: lab/sim/%.cpp
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -MMD -MP -c -o $@ $<

-include $(SIM_OBJECTS:.o=.d)

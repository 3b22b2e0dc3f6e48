# SPDX-License-Identifier: GPL-2.0
#
# Host unit tests: every tests/unit/test-NAME.c is a program that speaks TAP,
# linked with what it uses of user/.  For a run with the sanitizers:
#
#	make unit-tests BUILD=build/san CFLAGS='-O1 -g -fsanitize=address,undefined'

UNIT_TESTS := $(patsubst tests/unit/test-%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test-*.c))
UNIT_LIBRARY := $(BUILD)/tests/unit/user.a

unit-tests: $(UNIT_TESTS)

$(UNIT_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/test-%.o $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lpthread

$(UNIT_LIBRARY): $(filter-out $(BUILD)/user/pg-collect.o,$(OBJ))
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) rc $@ $^

# Run the module's files.
$(BUILD)/tests/unit/test-emulate.o $(BUILD)/tests/unit/test-verdict-cache.o: override CPPFLAGS += -Itests/unit/kernel -Ikmod

# Makes compressed sections.
$(BUILD)/tests/unit/bombs: LDLIBS += -lz -llzma

# Makes profiles for tests/cli; serves metrics for tests/consumers.
MAKE_PROFILE := $(BUILD)/tests/unit/make-profile
SERVE_METRICS := $(BUILD)/tests/unit/serve-metrics

unit-tests: $(MAKE_PROFILE) $(SERVE_METRICS)

$(MAKE_PROFILE) $(SERVE_METRICS): %: %.o $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Fills spools for tests/consumers and make eval-fleet.
MAKE_SPOOL := $(BUILD)/tests/unit/make-spool

# A day of alerts for tests/cli and make eval-day.
REPLAY_DAY := $(BUILD)/tests/unit/replay-day

# How long a look for processes takes, for Documentation/service.md.
TIME_LOOK := $(BUILD)/tests/unit/time-look

unit-tests: $(MAKE_SPOOL) $(REPLAY_DAY) $(TIME_LOOK)

$(MAKE_SPOOL) $(REPLAY_DAY) $(TIME_LOOK): %: %.o $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Programs whose stacks test-unwind knows.  With and without frame pointers.
VICTIMS := $(addprefix $(BUILD)/tests/unit/,victim victim-fp)

$(BUILD)/tests/unit/unwind: | $(VICTIMS)
$(BUILD)/tests/unit/victim: VICTIM_FLAGS := -fomit-frame-pointer
$(BUILD)/tests/unit/victim-fp: VICTIM_FLAGS := -fno-omit-frame-pointer

$(VICTIMS): tests/unit/victim.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -rdynamic -s $(VICTIM_FLAGS) -o $@ $< -lpthread

# Programs whose code is analysed, each also stripped.  They are not run.
CODE_VICTIMS := $(addprefix $(BUILD)/tests/unit/,victim-code victim-throw)

$(addprefix $(BUILD)/tests/unit/,functions probe-site cfg code debug-file foreign-code): | $(CODE_VICTIMS:%=%.stripped)

$(BUILD)/tests/unit/victim-code: tests/unit/victim-code.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -Wno-missing-prototypes -O2 -o $@ $<

$(BUILD)/tests/unit/victim-throw: tests/unit/victim-throw.cc
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -Wall -Wextra -O2 -o $@ $<

$(CODE_VICTIMS:%=%.stripped): %.stripped: %
	$(Q)strip -s -o $@ $<

# A program of which there are two builds; the second is compiled by other options, too.
CARRIED := $(addprefix $(BUILD)/tests/unit/,carried-old carried-new)

$(BUILD)/tests/unit/carry: | $(CARRIED:%=%.stripped)
$(BUILD)/tests/unit/carried-new: CARRIED_FLAGS := -DNEW -fno-schedule-insns2

$(CARRIED): tests/unit/carried.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -fcf-protection $(CARRIED_FLAGS) -o $@ $<

$(CARRIED:%=%.stripped): %.stripped: %
	$(Q)strip -s -o $@ $<

-include $(wildcard $(BUILD)/tests/unit/*.d)

.PHONY: unit-tests
.SECONDARY: $(UNIT_TESTS:$(BUILD)/tests/unit/%=$(BUILD)/tests/unit/test-%.o)

# kmod/probe/emulate.c is kernel code: it pushes flags where the program may have put data.
$(BUILD)/tests/unit/test-emulate.o: override CFLAGS += -mno-red-zone

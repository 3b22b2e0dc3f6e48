# SPDX-License-Identifier: GPL-2.0
#
# Every tests/fuzz/fuzz-NAME.c is a reader of bytes that others wrote, fed by
# libFuzzer with the sanitizers of addresses and undefined behaviour:
#
#	make fuzz			RUNS inputs for each reader
#	make fuzz RUNS=1000000 FUZZ=trace	one of them for long
#	make fuzz RUNS=10000000 LEN=1024	short inputs, of which many go into an hour
#
# An input that fails is left in build/fuzz/NAME/.

RUNS ?= 20000
LEN ?= 131072
FUZZ ?= $(patsubst tests/fuzz/fuzz-%.c,%,$(wildcard tests/fuzz/fuzz-*.c))
FUZZ_DIR := build/fuzz
FUZZ_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
# The rooms that read what others wrote.
FUZZ_LIBRARY := $(BUILD)/tests/fuzz/readers.a
FUZZ_FLAGS := -O1 -g $(FUZZ_SANITIZE) -fsanitize=fuzzer-no-link

# The seeds are made here: programs, a profile and an empty trace.
fuzz: $(MAKE_PROFILE) $(CODE_VICTIMS:%=%.stripped)
	$(Q)scripts/setup --fuzz
	$(Q)$(MAKE) --no-print-directory BUILD=$(FUZZ_DIR) CC=clang CFLAGS='$(FUZZ_FLAGS)' fuzz-programs
	$(Q)scripts/fuzz '$(FUZZ_DIR)' '$(RUNS)' '$(LEN)' $(FUZZ)

fuzz-programs: $(FUZZ:%=$(BUILD)/tests/fuzz/%)

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/fuzz-%.o $(FUZZ_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(FUZZ_LIBRARY): $(filter $(addprefix $(BUILD)/user/,base/% data/% binary/% link/% store/% out/%),$(OBJ))
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) rc $@ $^

-include $(wildcard $(BUILD)/tests/fuzz/*.d)

.PHONY: fuzz fuzz-programs
.SECONDARY: $(FUZZ:%=$(BUILD)/tests/fuzz/fuzz-%.o)

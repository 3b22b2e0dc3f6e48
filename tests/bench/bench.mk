# SPDX-License-Identifier: GPL-2.0
#
# Benchmarks; one table each. Those of userland exit with 1 if a figure is missed.
#
#	make bench-training             clustering; takes minutes and 2 GiB
#	make bench-training QUICK=1     without the longest steps
#	make bench-reading FILES=...    reading the code of programs and libraries
#	make bench                      guarding compared with other tools, in the VM; half an hour
#	make bench PART=peers KERNEL=6.1

SCALE_PARTS := tests/bench/copy.c tests/bench/turns.c
SCALE_OBJ := $(SCALE_PARTS:%.c=$(BUILD)/%.o)
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,\
	$(filter-out $(BENCH_PARTS) $(SCALE_PARTS),$(wildcard tests/bench/*.c)))

bench-training: $(BUILD)/tests/bench/cluster
	$(Q)QUICK=$(QUICK) $<

# The largest libraries that scripts/setup installs.
FILES ?= $(wildcard /usr/lib/x86_64-linux-gnu/libLLVM-*.so.1)

bench-reading: $(BUILD)/tests/bench/reading
	$(Q)$< $(FILES)

$(BENCHES): $(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BENCH_OBJ) $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lpthread

$(BUILD)/tests/bench/scale: $(SCALE_OBJ)

# Without debugging information, in which perf probe would not find its functions.
$(BUILD)/tests/bench/units: override LDFLAGS += -Wl,--strip-debug

-include $(BENCHES:=.d) $(BENCH_OBJ:.o=.d) $(SCALE_OBJ:.o=.d)

# A module whose probes do nothing, for KERNEL.
bare:
	$(Q)mkdir -p $(MODULE_DIR)/bare
	$(Q)cp -sf $(CURDIR)/tests/bench/bare/* $(MODULE_DIR)/bare/
	$(Q)$(MAKE) --no-print-directory -C $(KERNELDIR) M=$(MODULE_DIR)/bare \
		ccflags-y="-I$(CURDIR)/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules

.PHONY: bench-training bench-reading bare
.SECONDARY: $(BENCHES:=.o)

# The cost of guarding, compared with bpftrace, perf and SystemTap; PART and KERNEL choose.
bench: all vm-programs paper-programs $(BUILD)/tests/bench/units $(BUILD)/tests/bench/arming \
		$(BUILD)/tests/bench/memory $(BUILD)/tests/bench/naming $(BUILD)/tests/bench/scale
	$(Q)scripts/setup --bench
	$(Q)for kernel in $(if $(filter-out file,$(origin KERNEL)),$(KERNEL),6.1 6.12); do \
		$(MAKE) --no-print-directory -s bare KERNEL=$$kernel || exit; \
	done
	$(Q)python3 -B tests/bench/bench.py $(PART:%=--part %) \
		$(if $(filter-out file,$(origin KERNEL)),$(KERNEL:%=--kernel %))

.PHONY: bench

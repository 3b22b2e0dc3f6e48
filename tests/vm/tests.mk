# SPDX-License-Identifier: GPL-2.0
# Programs that the tests in the VM run; they talk to the module by user/link.

VM_SRC := $(sort $(wildcard tests/vm/*.c))
VM_BIN := $(VM_SRC:tests/vm/%.c=$(BUILD)/tests/vm/%)
VM_OBJ := $(filter $(BUILD)/user/base/% $(BUILD)/user/data/% $(BUILD)/user/link/%,$(OBJ))

$(BUILD)/tests/vm/%: tests/vm/%.c $(VM_OBJ)
	$(call say,CCLD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -pthread -o $@ $< $(VM_OBJ) $(LDLIBS)

# It reads programs.
VM_SITES := $(filter $(BUILD)/user/base/% $(BUILD)/user/data/% $(BUILD)/user/binary/%,$(OBJ))
$(BUILD)/tests/vm/sites: VM_OBJ = $(VM_SITES)
$(BUILD)/tests/vm/sites: $(VM_SITES)

# They guard themselves.
VM_SELF := $(VM_OBJ) $(BUILD)/tests/bench/self.o
$(BUILD)/tests/vm/hits $(BUILD)/tests/vm/stacks: VM_OBJ = $(VM_SELF)
$(BUILD)/tests/vm/hits $(BUILD)/tests/vm/stacks: CPPFLAGS += -Itests/bench
$(BUILD)/tests/vm/hits $(BUILD)/tests/vm/stacks: $(VM_SELF)

# As real programs come: stripped, without frame pointers, with exported names.
VM_VICTIMS := $(addprefix $(BUILD)/tests/vm/,asked asleep busy connections datagrams flood generated guarded \
	hostile lives one-site scripted service victim)
$(VM_VICTIMS): $(BUILD)/tests/vm/%: tests/vm/%.c tests/vm/compute.h
	$(call say,CCLD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fomit-frame-pointer -rdynamic -s -pthread -o $@ $< -lm

# Modules for KERNEL that take a direct call, patch a call, delay a function, or make the kernel an
# older one.
taker:
	$(Q)mkdir -p $(MODULE_DIR)/taker
	$(Q)cp -sf $(CURDIR)/tests/vm/taker/* $(MODULE_DIR)/taker/
	$(Q)$(MAKE) --no-print-directory -C $(KERNELDIR) M=$(MODULE_DIR)/taker \
		ccflags-y="-I$(CURDIR)/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules

vm-programs: $(VM_BIN) $(BUILD)/tests/unit/make-profile

.PHONY: vm-programs taker

# SPDX-License-Identifier: GPL-2.0
#
#   make            pg-collect and, where kernel headers are, the module
#   make module     perfguard.ko for the running kernel, or KERNEL=6.1|6.12|7.2|7.3|debug
#   make demo       a slow request of a stripped server, found (VM; HOST=1: here)
#   make check      all tests; check-unit, check-vm, check-debug are its parts
#   make eval-training, eval-guards, eval-delays, eval-sensitivity
#                   how well it does, measured in the VM; these take long
#   make bench      what it costs, beside bpftrace, perf and SystemTap
#   make fuzz       readers of untrusted bytes, fed what libFuzzer makes up
#   make figures    Documentation/figures.md from what was measured last
#   make pictures   those of README, of a run in the VM
#   make check-page the page of pg-collect report, in a browser
#   make check-consumers
#                   what other programs read: metrics, exports, alerts
#   make install    into PREFIX and DESTDIR; make uninstall removes it
#   make deb        Debian packages; make check-deb tests them
#
# V=1 shows the commands.

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow
BUILD ?= build
ifneq ($(V),1)
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

LIBS := libnl-3.0 libnl-genl-3.0 libdw libelf capstone sqlite3 libsystemd jansson ncursesw zlib
# Loaded when they are needed (user/base/library.h), so not linked with.
LOADED := libmicrohttpd libnats libcurl
soname = $(shell objdump -p $$($(CC) -print-file-name=$(1).so) 2> /dev/null | sed -n 's/^ *SONAME *//p')
$(BUILD)/user/net/%.o $(BUILD)/user/http/%.o: override CPPFLAGS += -DLIBRARY_NATS='"$(call soname,libnats)"' \
	-DLIBRARY_CURL='"$(call soname,libcurl)"' -DLIBRARY_MICROHTTPD='"$(call soname,libmicrohttpd)"'
override CPPFLAGS += -D_GNU_SOURCE -Iinclude/uapi -Iinclude -Iuser
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(shell pkg-config --cflags $(LIBS) $(LOADED))
LDLIBS = $(shell pkg-config --libs $(LIBS)) -lm

SRC := $(sort $(wildcard user/*.c user/*/*.c user/*/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)

all: pg-collect

pg-collect: $(OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Nothing is exported: a library with names like ours, such as json_string(), calls its own.
$(BUILD)/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fvisibility=hidden -MMD -MP -c -o $@ $<

-include $(OBJ:.o=.d)

# The module is built in build/KERNEL from links to the sources, so that
# several kernels can be built side by side.
KERNEL ?= $(shell uname -r)
KERNELS := $(or $(PERFGUARD_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/perfguard)/kernels
KERNELDIR ?= $(firstword $(wildcard $(KERNELS)/$(KERNEL)/build /lib/modules/$(KERNEL)/build))
MODULE_DIR = $(CURDIR)/$(BUILD)/$(KERNEL)

module:
	$(Q)test -n "$(KERNELDIR)" || { echo "no headers of kernel $(KERNEL): scripts/setup" >&2; exit 1; }
	$(Q)mkdir -p $(MODULE_DIR)
	$(Q)cp -rsf $(CURDIR)/Kbuild $(CURDIR)/kmod $(CURDIR)/include $(MODULE_DIR)/
	$(Q)find $(MODULE_DIR) -xtype l -delete
	$(Q)$(MAKE) --no-print-directory -k -C $(KERNELDIR) M=$(MODULE_DIR) $(MODULE_FLAGS) \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules

# HOST=1: here, as root; else in the VM, with the KERNEL that was asked for.
demo:
	$(Q)scripts/demo $(if $(filter 1,$(HOST)),--host,$(if $(filter-out file,$(origin KERNEL)),-k $(KERNEL)))

-include tests/vm/tests.mk
-include tests/unit/tests.mk
-include tests/eval/eval.mk
-include tests/bench/bench.mk
-include tests/fuzz/fuzz.mk
include scripts/install.mk

# Tests speak TAP.  Two files at a time, as a VM keeps one processor busy; the
# long ones begin early.  Warnings of the module's build are errors.  The debug
# kernel is built on first use of check-debug, in about 10 minutes.
JOBS ?= 2
PROVE = MODULE_FLAGS=KCFLAGS=-Werror prove --timer -j $(JOBS) --exec tests/run-file
CHECK_HOST = tests/check/*.t tests/cli/*.t $(UNIT_TESTS)
LONG_VM = $(filter-out %-debug.t,$(sort $(wildcard tests/vm/module-*.t))) tests/vm/short-debug.t
CHECK_VM = $(LONG_VM) $(filter-out $(LONG_VM) %-debug.t,$(sort $(wildcard tests/vm/*.t)))

setup:
	$(Q)scripts/setup

check: setup
	$(Q)$(MAKE) -j $(JOBS) --no-print-directory all unit-tests vm-programs eval-programs \
		paper-programs
	$(Q)$(PROVE) $(CHECK_HOST) $(CHECK_VM)

check-unit: setup
	$(Q)$(MAKE) --no-print-directory all unit-tests
	$(Q)$(PROVE) $(CHECK_HOST)

check-vm: setup
	$(Q)$(MAKE) --no-print-directory all vm-programs
	$(Q)$(PROVE) $(CHECK_VM)

check-debug: setup
	$(Q)scripts/debug-kernel
	$(Q)$(MAKE) --no-print-directory all vm-programs
	$(Q)$(PROVE) tests/vm/module-debug.t

# As root; most of an hour on two busy processors.
check-deb: setup
	$(Q)scripts/setup --deb
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PROVE) -j 1 tests/deb/packages.t tests/deb/machine.t

pictures: all
	$(Q)scripts/pictures

# The page of 'pg-collect report' in a browser, which is large.
check-page:
	$(Q)scripts/setup --page
	$(Q)$(MAKE) --no-print-directory all unit-tests
	$(Q)$(PROVE) tests/page/*.t

# What is written for other programs, read by these: each test needs its own.
check-consumers:
	$(Q)scripts/setup --consumers
	$(Q)$(MAKE) --no-print-directory all unit-tests
	$(Q)$(PROVE) tests/consumers/*.t

clean:
	$(Q)rm -rf $(BUILD) pg-collect

.PHONY: all module demo setup pictures check check-unit check-vm check-debug check-deb check-page \
	check-consumers clean

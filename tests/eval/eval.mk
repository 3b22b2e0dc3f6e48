# SPDX-License-Identifier: GPL-2.0
# How well training does on real servers; PROGRAM=redis and KERNEL=6.1 choose a part.

PHASE ?=
eval-training: all
	$(Q)python3 -B tests/eval/run.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(PHASE:%=--phase %)

.PHONY: eval-training

# Programs of the evaluation of guards, in the guest and here; linked with all of user/.
EVAL_PROGRAMS := $(patsubst tests/eval/%.c,$(BUILD)/tests/eval/%,$(wildcard tests/eval/*-guards.c) \
	tests/eval/match-functions.c)
EVAL_OBJ := $(BUILD)/tests/eval/replay.o $(BUILD)/tests/eval/truth.o

eval-programs: $(EVAL_PROGRAMS)

$(EVAL_PROGRAMS): %: %.o $(EVAL_OBJ) $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# That they judge right is a unit test.
EVAL_TEST := $(BUILD)/tests/eval/test-judge
UNIT_TESTS += $(EVAL_TEST)

unit-tests: $(EVAL_TEST)

$(EVAL_TEST): %: %.o $(EVAL_OBJ) $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(EVAL_TEST).o: CPPFLAGS += -Itests/unit

-include $(wildcard $(BUILD)/tests/eval/*.d)

# How well the guards do on real servers; PROGRAM and KERNEL as above.
eval-guards: all eval-programs
	$(Q)python3 -B tests/eval/guards-servers.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL))

.PHONY: eval-programs eval-guards

# Injected delays and false alarms, in full; KERNEL as above.
eval-delays: all vm-programs
	$(Q)python3 -B tests/eval/guards-delays.py \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL))

.PHONY: eval-delays

# How much slower a unit has to be to be reported; PROGRAM and KERNEL as above, AGAIN=1 judges what
# was run before, INLINE=1 has guards jump.
eval-sensitivity: all vm-programs
	$(Q)$(MAKE) --no-print-directory taker KERNEL=$(if $(filter-out file,$(origin KERNEL)),$(KERNEL),6.12)
	$(Q)python3 -B tests/eval/sensitivity.py $(PROGRAM:%=--program %) $(if $(INLINE),--inline) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-sensitivity

# Whether a type that computes a twentieth more is found; KERNEL and AGAIN as above.
eval-regression: all vm-programs
	$(Q)python3 -B tests/eval/regression.py \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-regression

# Whether a profile is right on a machine of half the speed, once its limits were learnt there; PROGRAM,
# KERNEL and AGAIN as above.
eval-live: all vm-programs
	$(Q)$(MAKE) --no-print-directory taker KERNEL=$(if $(filter-out file,$(origin KERNEL)),$(KERNEL),6.12)
	$(Q)python3 -B tests/eval/live.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-live

# How much slower servers are while their structure is recorded, by traps and by jumps; PROGRAM, KERNEL and
# AGAIN as above.
eval-inline: all vm-programs
	$(Q)python3 -B tests/eval/inline.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-inline

# Whether recording by jumps finds the types that recording by traps finds; PROGRAM, KERNEL and AGAIN as
# above.
eval-same-types: all vm-programs
	$(Q)python3 -B tests/eval/same-types.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-same-types

# Whether units are recognised that are of no kind that training saw; PROGRAM, KERNEL and AGAIN as above.
eval-novel: all vm-programs
	$(Q)python3 -B tests/eval/novel.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-novel

# Whether a profile goes over to another build of its program; PROGRAM, KERNEL and AGAIN as above.
eval-carry: all vm-programs eval-programs
	$(Q)$(MAKE) --no-print-directory taker KERNEL=$(if $(filter-out file,$(origin KERNEL)),$(KERNEL),6.12)
	$(Q)python3 -B tests/eval/carry.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-carry

# Whether requests take what their clients wait; PROGRAM, KERNEL and AGAIN as above.
eval-requests: all
	$(Q)scripts/setup --eval
	$(Q)python3 -B tests/eval/requests.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-requests

# Whether late requests are named by their cause; PROGRAM=pool-nginx, KERNEL and AGAIN as above.
eval-causes: all
	$(Q)scripts/setup --eval
	$(Q)python3 -B tests/eval/causes.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

# Whether the threads that serve requests are the right ones; PROGRAM, KERNEL and AGAIN as above.
eval-handovers: all vm-programs
	$(Q)scripts/setup --eval
	$(Q)$(MAKE) --no-print-directory $(GLIB_POOL)
	$(Q)python3 -B tests/eval/handovers.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

# The only program here that is linked with GLib; as real ones come.
GLIB_POOL := $(BUILD)/tests/eval/glib-pool

$(GLIB_POOL): tests/eval/glib-pool.c tests/vm/compute.h
	$(call say,CCLD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $$(pkg-config --cflags gio-unix-2.0) -fomit-frame-pointer -s \
		-o $@ $< $$(pkg-config --libs gio-unix-2.0)

.PHONY: eval-causes eval-handovers

# Whether a slow statement's request is followed from nginx over php-fpm to MariaDB; KERNEL and AGAIN as
# above.
eval-chain: all
	$(Q)scripts/setup --eval
	$(Q)python3 -B tests/eval/chain.py \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-chain

# How many units are late that nothing delays; PROGRAM, KERNEL and AGAIN as above.
eval-alarms: all vm-programs
	$(Q)python3 -B tests/eval/false-alarms.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-alarms

# What a minute of training is worth on a program of each of ten kinds; PROGRAM=kind:slapd, KERNEL,
# AGAIN and INLINE as above.
eval-kinds: all
	$(Q)scripts/setup --eval
	$(Q)python3 -B tests/eval/ten-kinds.py $(PROGRAM:%=--program %) $(if $(INLINE),--inline) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-kinds

# What a unit of a server in CPython, Node.js and Java is; KERNEL and AGAIN as above.
eval-runtimes: all vm-programs
	$(Q)python3 -B tests/eval/runtimes.py \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(if $(AGAIN),--again)

.PHONY: eval-runtimes

# Real slow programs: BUG=nginx-regex or SUBJECT=nginx chooses some, KERNEL as above; TRAIN=1
# trains again, AGAIN=1 judges what was run before.
eval: all eval-programs
	$(Q)scripts/setup --eval
	$(Q)python3 -B tests/eval/slow-programs.py $(BUG:%=--bug %) $(SUBJECT:%=--subject %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) \
		$(PART:%=--part %) $(if $(TRAIN),--train) $(if $(AGAIN),--again)

.PHONY: eval

# Parts of tests/bench that they share.
BENCH_PARTS := tests/bench/self.c tests/bench/own-stack.c
BENCH_OBJ := $(BENCH_PARTS:%.c=$(BUILD)/%.o)

# The paper's other tables; PART and KERNEL choose.  Parts of it measure themselves.
PAPER_PROGRAMS := $(patsubst tests/eval/%.c,$(BUILD)/tests/eval/%,\
	tests/eval/paper-cost.c tests/eval/paper-walk.c)

$(PAPER_PROGRAMS): %: %.o $(BENCH_OBJ) $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# They measure themselves.
$(PAPER_PROGRAMS:=.o): CPPFLAGS += -Itests/bench

# Its own stack is to have frame pointers, too.
$(BUILD)/tests/eval/paper-walk.o: override CFLAGS += -fno-omit-frame-pointer

# Counters of instructions for figure 7: in QEMU, and in the guest.
GUEST_COUNT := $(BUILD)/tests/eval/guest-count.so $(BUILD)/tests/eval/guest-mark

$(BUILD)/tests/eval/guest-count.so: tests/eval/guest-count.c tests/eval/guest-count.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $<

$(BUILD)/tests/eval/guest-mark: $(BUILD)/tests/eval/guest-mark.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

paper-programs: $(PAPER_PROGRAMS) $(GUEST_COUNT)

.PHONY: paper-programs

PART ?=
eval-paper: all eval-programs paper-programs
	$(Q)for kernel in $(if $(filter-out file,$(origin KERNEL)),$(KERNEL),6.12); do \
		$(MAKE) --no-print-directory -s bare KERNEL=$$kernel || exit; \
	done
	$(Q)python3 -B tests/eval/paper.py $(PART:%=--part %) $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),$(KERNEL:%=--kernel %))

.PHONY: eval-paper

# Documentation/figures.md, from the results that are there.
figures:
	$(Q)python3 -B tests/eval/figures.py

.PHONY: figures

# Many machines' alerts in one stream, while all sorts of things fail; not in the VM.
eval-fleet: all unit-tests
	$(Q)scripts/setup --consumers
	$(Q)python3 -B tests/eval/fleet.py

.PHONY: eval-fleet

# A day of alerts through the service's outputs, as many as are usual, and a flood; not in the VM.
eval-day: all unit-tests
	$(Q)python3 -B tests/eval/day.py

.PHONY: eval-day

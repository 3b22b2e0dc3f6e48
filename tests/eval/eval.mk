# SPDX-License-Identifier: GPL-2.0
# How well training does on real servers; PROGRAM=redis and KERNEL=6.1 choose a part.

PHASE ?=
eval-training: all
	$(Q)python3 -B tests/eval/run.py $(PROGRAM:%=--program %) \
		$(if $(filter-out file,$(origin KERNEL)),--kernel $(KERNEL)) $(PHASE:%=--phase %)

.PHONY: eval-training

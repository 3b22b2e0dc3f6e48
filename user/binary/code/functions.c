// SPDX-License-Identifier: GPL-2.0

#include "binary/code/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/code/cfg.h"
#include "binary/file/object.h"

static bool has_parent(const struct range *range, const struct sweep_facts *facts)
{
	return range->kind == RANGE_COLD && facts->parent != SWEEP_NONE;
}

static void init_function(struct function *function, const struct range *range,
			  const struct sweep_facts *facts)
{
	*function = (struct function){
		.addr = range->addr,
		.offset = range->offset,
		.size = range->size,
		.nr_insns = facts->nr_insns,
		.is_plt = range->kind == RANGE_PLT,
		.is_cold = range->kind == RANGE_COLD,
		.is_leaf = !facts->has_call,
		.is_called = facts->is_called,
		.is_sound = facts->is_sound,
		.entry_is_target = facts->start_is_target && range->kind == RANGE_FUNCTION,
		.has_indirect_jump = facts->has_indirect_jump,
		.never_returns = !facts->has_exit,
	};
	memcpy(function->near, facts->near, sizeof(function->near));
}

static void join_part(struct function *function, const struct sweep_facts *facts)
{
	function->nr_insns += facts->nr_insns;
	function->is_leaf = function->is_leaf && !facts->has_call;
	function->has_indirect_jump = function->has_indirect_jump || facts->has_indirect_jump;
	function->never_returns = function->never_returns && !facts->has_exit;
}

static int make_functions(struct functions *functions, const struct sweep_facts *facts)
{
	struct range *ranges = functions->ranges.entries;
	uint32_t nr = functions->ranges.nr;

	if (array_new(functions->entries, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		if (has_parent(&ranges[i], &facts[i]))
			continue;
		ranges[i].function = functions->nr;
		ranges[i].next = RANGES_NONE;
		init_function(&functions->entries[functions->nr], &ranges[i], &facts[i]);
		functions->entries[functions->nr++].first_range = i;
	}
	for (uint32_t i = nr; i-- > 0;) { /* so that lists of parts rise */
		struct range *parent;

		if (!has_parent(&ranges[i], &facts[i]))
			continue;
		parent = &ranges[facts[i].parent];
		ranges[i].function = parent->function;
		ranges[i].next = parent->next;
		parent->next = i;
		join_part(&functions->entries[ranges[i].function], &facts[i]);
	}
	return 0;
}

/* Both are sorted; the last symbol of an address is the best one. */
static void add_names(struct functions *functions, const struct symbols *symbols)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < functions->nr; i++) {
		struct function *function = &functions->entries[i];

		while (at < symbols->nr && symbols->entries[at].start < function->addr)
			at++;
		for (; at < symbols->nr && symbols->entries[at].start == function->addr; at++)
			function->name = symbols->entries[at].name;
	}
}

int functions_read(struct object *object, struct functions *ret)
{
	struct sweep_facts *facts = NULL;
	const char *name;
	uint64_t start;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->view = &object->view;
	err = insn_decoder_init(&ret->decoder);
	if (!err)
		err = ranges_read(&object->view, &object->fdes, object->elf, &object->go,
				  &ret->ranges);
	if (!err)
		err = sweep(&object->view, &ret->ranges, &facts);
	if (!err)
		err = make_functions(ret, facts);
	if (!err)
		err = noreturn_read(&object->view, object->elf, &ret->noreturn);
	if (!err)
		err = cfg_note_tables(ret);
	if (!err)
		err = object_function(object, object->entry, &start, &name); /* reads symbols */
	if (!err)
		add_names(ret, &object->symbols);
	free(facts);
	if (err)
		functions_deinit(ret);
	return err;
}

void functions_deinit(struct functions *functions)
{
	ranges_deinit(&functions->ranges);
	noreturn_deinit(&functions->noreturn);
	insn_decoder_deinit(&functions->decoder);
	free(functions->entries);
	memset(functions, 0, sizeof(*functions));
}

const struct function *functions_find(const struct functions *functions, uint64_t addr)
{
	const struct range *range = ranges_find(&functions->ranges, addr);

	return range ? &functions->entries[range->function] : NULL;
}

const struct function *functions_at(const struct functions *functions, uint64_t addr)
{
	const struct function *function = functions_find(functions, addr);

	return function && function->addr == addr ? function : NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinding goes from frame to frame by the unwind rules.  Two things can stop it
 * before the thread's start in code that works:
 *
 *  - code without rules: made at run time (a regular expression compiled by
 *    its library), or hand-written;
 *  - a rule that needs a register whose value is unknown, as in a snapshot.
 *
 * In both cases the return address is on the stack, some words further up, and
 * is searched for there.  Stale return addresses lie on the stack as well.  A
 * word is a candidate only if it follows a call instruction of a file, and is
 * accepted only if unwinding from there comes to the thread's start.  Where the
 * call names its target, and that is not the function to return from, the word
 * is tried after all others (a tail call may have been in between).
 *
 * A stack copy that was cut has no way to the start.  Then the word that most
 * frames follow is accepted, if they are several: from a stale one the rules
 * soon fail, or lead to the frames that the true one leads to.  Accepted, too,
 * is the first word that several frames and more than there is room for follow.
 */

#include "binary/stack/unwind.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/time.h"
#include "binary/helper/files.h"
#include "binary/stack/rule.h"
#include "binary/stack/snapshot.h"

enum {
	MAX_GUESSES = 3, /* in one stack */
	MAX_STEPS = 8192, /* of all attempts for one stack copy */
	MIN_FOLLOWING = 4, /* frames after a guess that does not come to the start */
	SEARCH_BYTES = 16384,
	MAX_NAMES = 65536,
};

struct mapped_file {
	struct foreign_file *file; /* NULL: cannot be read */
	bool is_valid; /* else it was not opened yet */
};

struct unwinder {
	struct files files;
	void *names; /* of frames, see tsearch(): they outlive the files */
	uint32_t nr_names;
	struct mapped_file *mapped; /* by mapping of the current stack copy */
	uint32_t nr_mapped;
};

struct unwind {
	struct unwinder *unwinder;
	const struct slice *slice;
	uint32_t pid;
	struct frame *frames;
	uint32_t nr;
	uint32_t max;
	uint32_t steps;
	bool is_return[UNWIND_MAX_FRAMES]; /* not interrupted there, by a signal */
};

/* Where a frame's code is. */
struct code_place {
	const struct mapping *mapping;
	struct foreign_file *file; /* NULL: cannot be read */
	const struct code_facts *facts; /* of addr, unless file is NULL */
	uint64_t bias;
	uint64_t addr; /* of the file; in the call for a return address */
};

struct unwinder *unwinder_create(void)
{
	return calloc(1, sizeof(struct unwinder));
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	files_deinit(&unwinder->files);
	tdestroy(unwinder->names, free);
	free(unwinder->mapped);
	free(unwinder);
}

bool unwinder_is_full(const struct unwinder *unwinder)
{
	return unwinder->nr_names >= MAX_NAMES;
}

void unwinder_forget(struct unwinder *unwinder)
{
	tdestroy(unwinder->names, free);
	unwinder->names = NULL;
	unwinder->nr_names = 0;
}

static struct foreign_file *mapping_file(const struct unwind *unwind, uint32_t index)
{
	struct mapped_file *its = &unwind->unwinder->mapped[index];

	if (!its->is_valid)
		*its = (struct mapped_file){
			files_get(&unwind->unwinder->files, unwind->pid,
				  &unwind->slice->mappings[index]), true };
	return its->file;
}

/* Read what the file of @ret has about its address, @addr in the process. */
static void find_facts(struct code_place *ret, uint64_t addr)
{
	if (ret->file && foreign_file_bias(ret->file, ret->mapping, &ret->bias)) {
		ret->addr = addr - ret->bias;
		ret->facts = foreign_file_facts(ret->file, ret->addr);
		if (ret->facts)
			return;
	}
	ret->file = NULL;
	ret->addr = 0;
}

/* Returns false if no mapping covers @pc. */
static bool find_place(const struct unwind *unwind, uint64_t pc, bool is_return,
		       struct code_place *ret)
{
	uint64_t addr = pc - is_return;
	const struct mapping *mapping = slice_mapping(unwind->slice, addr);

	if (!mapping)
		return false;
	ret->mapping = mapping;
	ret->file = mapping_file(unwind, (uint32_t)(mapping - unwind->slice->mappings));
	find_facts(ret, addr);
	return true;
}

/* Code that nothing calls, in files whose start code has no unwind rules. */
static bool is_start_code(const struct code_place *place)
{
	static const char *const names[] = { "_start", "clone", "__clone", "thread_start" };
	const char *name = place->facts->name;

	if (foreign_file_is_entry(place->file, place->addr))
		return true;
	if (!name)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The last @length bytes of the code up to @place, or NULL. */
static const uint8_t *code_before(const struct code_place *place, uint32_t length)
{
	const struct code_facts *facts = place->facts;

	return length <= facts->nr_code ? facts->code + WIRE_CODE - length : NULL;
}

/* The length of the call that ends at @place's return address, or 0. */
static unsigned int call_length(const struct code_place *place)
{
	const uint8_t *code = code_before(place, 5);

	if (code && code[0] == 0xe8)
		return 5;
	/* ff /2 with 0 to 5 bytes of address after the ModRM byte */
	for (unsigned int length = 2; length <= 7; length++) {
		code = code_before(place, length);
		if (code && code[0] == 0xff && (code[1] & 0x38) == 0x10)
			return length;
	}
	return 0;
}

/* True if @place follows a direct call of another function than the one at @callee. */
static bool calls_other(const struct code_place *place, const struct code_place *callee)
{
	const uint8_t *code = code_before(place, 5);
	const struct code_facts *facts;
	int32_t distance;
	uint64_t target;

	if (!code || code[0] != 0xe8)
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	target = place->addr + 1 + (uint64_t)(int64_t)distance;
	/* the linker's stubs share one FDE, which begins before them */
	facts = foreign_file_facts(place->file, target);
	if (!facts || !facts->fde_end || facts->fde_start != target)
		return false;
	return callee->file != place->file || !callee->facts->fde_end ||
	       callee->facts->fde_start != target;
}

static enum unwind_end unwind_from(struct unwind *unwind, struct registers registers,
				   bool is_return, unsigned int guesses);

/* Go on as if the word at @slot were the return address of the frame at @place. */
static enum unwind_end try_slot(struct unwind *unwind, const struct code_place *place,
				bool has_rule, const struct registers *registers,
				uint64_t slot, unsigned int guesses)
{
	const struct rule *rule = has_rule ? &place->facts->rule : NULL;
	struct registers caller = { .known = 0 };
	uint64_t pc;

	if (!stack_word(unwind->slice, slot, &pc))
		return UNWIND_BROKEN;
	/* the rule knows where other registers are, relative to the slot */
	if (!rule || rule->is_signal || rule->kinds[SLICE_REG_RIP] != RULE_SAVED ||
	    rule_apply_cfa(rule, registers, unwind->slice, place->bias,
			   slot - (uint64_t)(int64_t)rule->offsets[SLICE_REG_RIP],
			   &caller) != RULE_STEPPED) {
		registers_set(&caller, SLICE_REG_RIP, pc);
		registers_set(&caller, SLICE_REG_RSP, slot + 8);
	}
	return unwind_from(unwind, caller, true, guesses - 1);
}

/* True if @pc follows a call, in code with rules; @ret is where that call is. */
static bool is_candidate(const struct unwind *unwind, uint64_t pc, struct code_place *ret)
{
	return find_place(unwind, pc, true, ret) && ret->file && call_length(ret) &&
	       !ret->facts->rule.is_missing;
}

/* The longest attempt that ended at a cut. */
struct attempt {
	uint64_t slot;
	uint32_t nr; /* frames */
	uint32_t steps;
};

/* Search the caller of the frame at @place; returns @end if there is none. */
static enum unwind_end guess(struct unwind *unwind, const struct code_place *place, bool has_rule,
			     const struct registers *registers, unsigned int guesses,
			     enum unwind_end end)
{
	uint64_t sp = (registers->values[SLICE_REG_RSP] + 7) & -8ull;
	struct attempt best = { .nr = 0 };
	uint32_t nr = unwind->nr;

	if (!guesses)
		return end;
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t slot = sp; slot - sp < SEARCH_BYTES; slot += 8) {
			uint32_t steps = unwind->steps;
			enum unwind_end other;
			struct code_place caller;
			uint64_t pc;

			if (!stack_word(unwind->slice, slot, &pc) || steps >= MAX_STEPS)
				break;
			if (!is_candidate(unwind, pc, &caller) ||
			    calls_other(&caller, place) != (pass == 1))
				continue;
			other = try_slot(unwind, place, has_rule, registers, slot, guesses);
			if (other == UNWIND_COMPLETE ||
			    (other == UNWIND_TOO_DEEP && unwind->nr - nr >= MIN_FOLLOWING))
				return other;
			if (other == UNWIND_TRUNCATED && unwind->nr - nr > best.nr)
				best = (struct attempt){ slot, unwind->nr - nr,
							 unwind->steps - steps };
			unwind->nr = nr;
		}
	}
	if (best.nr < MIN_FOLLOWING)
		return end;
	unwind->steps -= best.steps; /* they are made once more */
	return try_slot(unwind, place, has_rule, registers, best.slot, guesses);
}

static enum unwind_end memory_end(const struct unwind *unwind)
{
	return unwind->slice->size < unwind->slice->full_size ? UNWIND_TRUNCATED : UNWIND_BROKEN;
}

static enum unwind_end unwind_from(struct unwind *unwind, struct registers registers,
				   bool is_return, unsigned int guesses)
{
	bool guessed = is_return; /* the first return address is a guess */

	for (;;) {
		uint64_t sp = registers.values[SLICE_REG_RSP];
		struct registers caller;
		const struct rule *rule;
		struct code_place place;

		if (unwind->nr == unwind->max)
			return UNWIND_TOO_DEEP;
		unwind->frames[unwind->nr++] = (struct frame){
			.pc = registers.values[SLICE_REG_RIP],
			.sp = sp,
			.guessed = guessed,
		};
		unwind->is_return[unwind->nr - 1] = is_return;
		guessed = false;
		if (unwind->steps++ >= MAX_STEPS)
			return UNWIND_BROKEN;
		if (!find_place(unwind, registers.values[SLICE_REG_RIP], is_return, &place))
			return UNWIND_BROKEN;
		if (!place.file)
			return guess(unwind, &place, false, &registers, guesses,
				     place.mapping->path ? UNWIND_NO_FILE : UNWIND_NO_RULE);
		rule = &place.facts->rule;
		if (rule->is_missing)
			return is_start_code(&place) ? UNWIND_COMPLETE :
				guess(unwind, &place, false, &registers, guesses, UNWIND_NO_RULE);
		switch (rule_apply(rule, &registers, unwind->slice, place.bias, &caller)) {
		case RULE_START:
			return UNWIND_COMPLETE;
		case RULE_NO_CFA:
			return guess(unwind, &place, true, &registers, guesses, UNWIND_BROKEN);
		case RULE_NO_MEMORY:
			return memory_end(unwind);
		case RULE_STEPPED:
			break;
		}
		if (!caller.values[SLICE_REG_RIP])
			return UNWIND_COMPLETE;
		if (caller.values[SLICE_REG_RIP] == SLICE_MISSING)
			return UNWIND_TRUNCATED;
		if (caller.values[SLICE_REG_RSP] <= sp)
			return UNWIND_BROKEN;
		is_return = !rule->is_signal;
		registers = caller;
	}
}

/* The first of its code: symbols and unwind rules are read whole, whichever is asked for. */
static void read_mapping(struct unwinder *unwinder, uint32_t pid, const struct mapping *mapping)
{
	struct foreign_file *file = files_get(&unwinder->files, pid, mapping);
	uint64_t bias;

	if (file && foreign_file_bias(file, mapping, &bias))
		foreign_file_facts(file, mapping->start - bias);
}

void unwinder_prepare(struct unwinder *unwinder, uint32_t pid, uint64_t end_ns)
{
	struct slice slice = { 0 };

	if (snapshot_mappings(pid, &slice))
		return;
	files_trim(&unwinder->files);
	for (uint32_t i = 0; i < slice.nr_mappings && time_now_ns() < end_ns; i++)
		read_mapping(unwinder, pid, &slice.mappings[i]);
	slice_clear(&slice);
}

void unwinder_enter_background(struct unwinder *unwinder)
{
	files_enter_background(&unwinder->files);
}

static int prepare(struct unwinder *unwinder, uint32_t nr)
{
	if (nr > unwinder->nr_mapped) {
		free(unwinder->mapped);
		unwinder->nr_mapped = 0;
		if (array_new(unwinder->mapped, nr))
			return -ENOMEM;
		unwinder->nr_mapped = nr;
	} else if (nr) {
		memset(unwinder->mapped, 0, nr * sizeof(*unwinder->mapped));
	}
	files_trim(&unwinder->files);
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* The unwinder's copy of @text, or NULL if there is no memory. */
static const char *add_name(struct unwinder *unwinder, const char *text)
{
	char *const *found = tfind(text, &unwinder->names, compare_names);
	char *copy;

	if (found)
		return *found;
	copy = strdup(text);
	if (copy && tsearch(copy, &unwinder->names, compare_names)) {
		unwinder->nr_names++;
		return copy;
	}
	free(copy);
	return NULL;
}

/* Fill in the names of @place in @frame. */
static int describe(struct unwinder *unwinder, const struct code_place *place, bool is_return,
		    struct frame *frame)
{
	const struct mapping *mapping = place->mapping;
	const struct foreign_file *file = place->file;
	const struct code_facts *facts = place->facts;

	if (!file && !mapping->path) {
		frame->region = mapping->start;
		return 0;
	}
	frame->module = add_name(unwinder, file ? file->path : mapping->path);
	if (!frame->module)
		return -ENOMEM;
	if (!file) {
		frame->offset = frame->pc - mapping->start + mapping->offset;
		return 0;
	}
	frame->offset = place->addr + is_return;
	if (file->about->build_id[0]) {
		frame->build_id = add_name(unwinder, file->about->build_id);
		if (!frame->build_id)
			return -ENOMEM;
	}
	frame->start = facts->function_start ? facts->function_start + place->bias : 0;
	if (facts->name) {
		frame->function = add_name(unwinder, facts->name);
		frame->function_offset = frame->offset - facts->function_start;
		if (!frame->function)
			return -ENOMEM;
	}
	return 0;
}

int unwind_slice(struct unwinder *unwinder, uint32_t pid, const struct slice *slice,
		 struct frame *frames, uint32_t max, enum unwind_end *ret_end)
{
	struct registers registers = { .known = ((1u << SLICE_NR_REGS) - 1) & ~slice->unknown_regs };
	struct unwind unwind = {
		.unwinder = unwinder,
		.slice = slice,
		.pid = pid,
		.frames = frames,
		.max = max < UNWIND_MAX_FRAMES ? max : UNWIND_MAX_FRAMES,
	};
	int err = prepare(unwinder, slice->nr_mappings);

	if (err)
		return err;
	memcpy(registers.values, slice->regs, sizeof(registers.values));
	*ret_end = unwind_from(&unwind, registers, false, MAX_GUESSES);
	for (uint32_t i = 0; i < unwind.nr; i++) {
		struct code_place place;

		if (!find_place(&unwind, frames[i].pc, unwind.is_return[i], &place))
			continue;
		err = describe(unwinder, &place, unwind.is_return[i], &frames[i]);
		if (err)
			return err;
	}
	return (int)unwind.nr;
}

const char *unwind_end_name(enum unwind_end end)
{
	static const char *const names[] = {
		[UNWIND_COMPLETE] = "complete", [UNWIND_TRUNCATED] = "truncated",
		[UNWIND_TOO_DEEP] = "too deep", [UNWIND_NO_FILE] = "no file",
		[UNWIND_NO_RULE] = "no unwind rule", [UNWIND_BROKEN] = "broken",
	};

	return names[end];
}

int unwind_describe(struct unwinder *unwinder, uint32_t pid, const struct mapping *mapping,
		    uint64_t addr, bool is_return, struct frame *ret)
{
	struct code_place place = { .mapping = mapping };

	*ret = (struct frame){ .pc = addr };
	files_trim(&unwinder->files);
	place.file = files_get(&unwinder->files, pid, mapping);
	find_facts(&place, addr - is_return);
	return describe(unwinder, &place, is_return, ret);
}

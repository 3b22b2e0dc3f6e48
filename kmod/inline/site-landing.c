// SPDX-License-Identifier: GPL-2.0

#include "inline/site-landing.h"

#include "target/hit-ring.h"

#include <linux/errno.h>
#include <linux/string.h>

enum {
	RED_ZONE = 128,
};

/*
 * The note of a hit, in three pieces.  The head of the ring counts down, so that one instruction
 * that leaves flags alone finds it full; it is of 16 bits, so that whatever the program has written
 * there leads to its areas.  It is written before the entry is: a signal whose handler comes by sites and makes system calls in between costs hits, and
 * doubles none.
 */
static const u8 note_begin[] = {
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -128(%rsp), %rsp */
	0x51,						/* push %rcx */
	0x65, 0x0f, 0xb7, 0x0c, 0x25, 0, 0, 0, 0,	/* movzwl %gs:HEAD, %ecx */
	0xe3, 0,					/* jrcxz to note_end */
	0x66, 0x8d, 0x49, 0xfe,				/* lea -2(%rcx), %cx */
	0x65, 0x89, 0x0c, 0x25, 0, 0, 0, 0,		/* mov %ecx, %gs:HEAD */
	0x65, 0x48, 0x89, 0x24, 0xcd, 0, 0, 0, 0,	/* mov %rsp, %gs:PAIR(, %rcx, 8) */
	0x65, 0xc7, 0x04, 0xcd, 0, 0, 0, 0, 0, 0, 0, 0,	/* movl $WHAT, %gs:PAIR + 8(, %rcx, 8) */
};

/* Of a site to record: where the function returns to. */
static const u8 note_value[] = {
	0xff, 0xb4, 0x24, 0, 0, 0, 0,			/* push ENTRY(%rsp) */
	0x65, 0x8f, 0x04, 0x8d, 0, 0, 0, 0,		/* pop %gs:VALUE(, %rcx, 4) */
};

static const u8 note_end[] = {
	0x59,						/* pop %rcx */
	0x48, 0x8d, 0xa4, 0x24, RED_ZONE, 0, 0, 0,	/* lea 128(%rsp), %rsp */
};

/* Where the fields of the pieces are. */
enum {
	BEGIN_HEAD_READ = 11,
	BEGIN_FULL = 16,
	BEGIN_HEAD_WRITTEN = 25,
	BEGIN_SP = 34,
	BEGIN_WHAT_AT = 42,
	BEGIN_WHAT = 46,
	VALUE_ENTRY = 3,
	VALUE_AT = 11,
};

static_assert(PGUARD_NOTED_BELOW == RED_ZONE + 8);
static_assert(sizeof(note_begin) == 50 && sizeof(note_value) == 15);
static_assert(sizeof(note_begin) + sizeof(note_value) + sizeof(note_end) + EMULATE_MAX_LENGTH +
		      2 * PGUARD_LANDING_HEAD <=
	      PGUARD_LANDING_SIZE);

static void put_u32(u8 *at, u32 value)
{
	memcpy(at, &value, sizeof(value));
}

/* A displacement of 32 bits at @field, of an instruction that ends at @end, to @target. */
static int put_target(u8 *field, unsigned long end, unsigned long target)
{
	s64 distance = (s64)(target - end);

	if (distance != (s32)distance)
		return -ERANGE;
	put_u32(field, (u32)distance);
	return 0;
}

/* Returns its length. */
static u32 put_note(u8 *code, const struct pguard_landing_spec *spec)
{
	u32 pairs = spec->areas + PGUARD_RING_PAIRS;
	u8 *value = code + sizeof(note_begin);
	u8 *end = value + (spec->has_value ? sizeof(note_value) : 0);

	memcpy(code, note_begin, sizeof(note_begin));
	put_u32(code + BEGIN_HEAD_READ, spec->areas + PGUARD_RING_HEAD);
	code[BEGIN_FULL] = end - (code + BEGIN_FULL + 1);
	put_u32(code + BEGIN_HEAD_WRITTEN, spec->areas + PGUARD_RING_HEAD);
	put_u32(code + BEGIN_SP, pairs);
	put_u32(code + BEGIN_WHAT_AT, pairs + offsetof(struct pguard_noted_hit, what));
	put_u32(code + BEGIN_WHAT, spec->what);
	if (spec->has_value) {
		memcpy(value, note_value, sizeof(note_value));
		put_u32(value + VALUE_ENTRY, PGUARD_NOTED_BELOW + spec->sp_delta);
		put_u32(value + VALUE_AT, spec->areas + PGUARD_RING_VALUES);
	}
	memcpy(end, note_end, sizeof(note_end));
	return end + sizeof(note_end) - code;
}

/* jmp @target, at @code, which is to run at @at; returns how long it is, or an error. */
static int put_jump(u8 *code, unsigned long at, unsigned long target)
{
	code[0] = 0xe9;
	return put_target(code + 1, at + PGUARD_LANDING_HEAD, target) ?: PGUARD_LANDING_HEAD;
}

/* The same of a branch on condition. */
static int put_branch(u8 *code, unsigned long at, u8 condition, unsigned long target)
{
	code[0] = 0x0f;
	code[1] = 0x80 | condition;
	return put_target(code + 2, at + 6, target) ?: 6;
}

static int put_plain(u8 *code, unsigned long at, const struct pguard_landing_spec *spec)
{
	const struct pguard_window *window = spec->window;
	s32 disp;

	memcpy(code, spec->insn, window->length);
	if (!window->disp_at)
		return window->length;
	memcpy(&disp, spec->insn + window->disp_at, sizeof(disp));
	return put_target(code + window->disp_at, at + window->length,
			  spec->site + window->length + disp) ?: window->length;
}

/* What comes behind the note: the instruction, unless it is a jump or a call itself. */
static int put_insn(u8 *code, unsigned long at, const struct pguard_landing_spec *spec)
{
	const struct pguard_window *window = spec->window;
	unsigned long target = spec->site + window->length + window->target;

	switch (window->kind) {
	case WINDOW_PLAIN:
		return put_plain(code, at, spec);
	case WINDOW_BRANCH:
		return put_branch(code, at, window->condition, target);
	default:
		return 0;
	}
}

/**
 * pguard_landing_make() - write a landing
 * @code: takes it; what it does not fill is left alone
 * @spec: what it is made of
 *
 * Context: any.
 * Return: 0; -ERANGE if something is too far away.
 */
int pguard_landing_make(u8 code[PGUARD_LANDING_SIZE], const struct pguard_landing_spec *spec)
{
	const struct pguard_window *window = spec->window;
	unsigned long behind = spec->site + window->length;
	u32 size = put_note(code, spec);
	int ret;

	ret = put_insn(code + size, spec->at + size, spec);
	if (ret < 0)
		return ret;
	size += ret;
	if (window->kind == WINDOW_CALL || window->kind == WINDOW_JUMP)
		behind += window->target;
	ret = put_jump(code + size, spec->at + size, behind);
	return min(ret, 0);
}

/**
 * pguard_landing_head() - the bytes that lead there from the site
 * @head: takes them; they are the first ones of the window
 * @window: the instruction
 * @site: where it stands
 * @at: where the landing stands
 *
 * A call stays one, so that the return address is the program's own.
 *
 * Context: any.
 * Return: 0; -ERANGE if it is too far away.
 */
int pguard_landing_head(u8 head[PGUARD_LANDING_HEAD], const struct pguard_window *window,
			unsigned long site, unsigned long at)
{
	int ret = put_jump(head, site, at);

	if (window->kind == WINDOW_CALL)
		head[0] = 0xe8;
	return min(ret, 0);
}

// SPDX-License-Identifier: GPL-2.0

#include "inline/site-landing.h"

#include "inline/area.h"

#include <linux/errno.h>
#include <linux/string.h>

enum {
	RED_ZONE = 128,
	SAVED = 16,		/* two registers */
	RETURN_ADDRESS = 8,	/* what a call has pushed before its landing */
	NOWHERE = -1,		/* a field that does not go into the template */
};

/*
 * The note of a hit.  The head of the ring counts down, so that one instruction that leaves
 * flags alone finds it full; of it 16 bits are taken, so that whatever the program has written there
 * leads to its areas.  It is written before the entry is: a signal whose handler comes by
 * sites and makes system calls in between costs hits, and doubles none.
 */
static const u8 note[] = {
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -128(%rsp), %rsp */
	0x51,						/* push %rcx */
	0x65, 0x0f, 0xb7, 0x0c, 0x25, 0, 0, 0, 0,	/* movzwl %gs:HEAD, %ecx */
	0xe3, 54,					/* jrcxz 1f */
	0x50,						/* push %rax */
	0x8d, 0x49, 0xff,				/* lea -1(%rcx), %ecx */
	0x65, 0x89, 0x0c, 0x25, 0, 0, 0, 0,		/* mov %ecx, %gs:HEAD */
	0x48, 0x8d, 0x84, 0x24, 0, 0, 0, 0,		/* lea ENTRY(%rsp), %rax */
	0x65, 0x48, 0x89, 0x04, 0xcd, 0, 0, 0, 0,	/* mov %rax, %gs:SP(, %rcx, 8) */
	0x48, 0x8b, 0x00,				/* mov (%rax), %rax */
	0x65, 0x48, 0x89, 0x04, 0xcd, 0, 0, 0, 0,	/* mov %rax, %gs:VALUE(, %rcx, 8) */
	0x65, 0xc7, 0x04, 0x8d, 0, 0, 0, 0, 0, 0, 0, 0,	/* movl $ID, %gs:SITE(, %rcx, 4) */
	0x58,						/* pop %rax */
	0x59,						/* 1: pop %rcx */
	0x48, 0x8d, 0xa4, 0x24, RED_ZONE, 0, 0, 0,	/* lea 128(%rsp), %rsp */
};

/* Where the fields of the template are. */
enum {
	NOTE_HEAD_READ = 11,
	NOTE_HEAD_WRITTEN = 25,
	NOTE_ENTRY = 33,
	NOTE_SP = 42,
	NOTE_VALUE = 54,
	NOTE_SITE = 62,
	NOTE_ID = 66,
};

static_assert(sizeof(note) == 80);
static_assert(sizeof(note) + EMULATE_MAX_LENGTH + 2 * PGUARD_LANDING_HEAD <= PGUARD_LANDING_SIZE);

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

static void put_note(u8 *code, const struct pguard_landing_spec *spec)
{
	u32 entry = RED_ZONE + SAVED + spec->sp_delta;

	/* The call in the site's place has pushed by now. */
	if (spec->window->kind == WINDOW_CALL)
		entry += RETURN_ADDRESS;
	memcpy(code, note, sizeof(note));
	put_u32(code + NOTE_HEAD_READ, spec->areas + PGUARD_AREA_HEAD);
	put_u32(code + NOTE_HEAD_WRITTEN, spec->areas + PGUARD_AREA_HEAD);
	put_u32(code + NOTE_ENTRY, entry);
	put_u32(code + NOTE_SP, spec->areas + PGUARD_AREA_SPS);
	put_u32(code + NOTE_VALUE, spec->areas + PGUARD_AREA_VALUES);
	put_u32(code + NOTE_SITE, spec->areas + PGUARD_AREA_SITES);
	put_u32(code + NOTE_ID, spec->id);
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
	u32 size = sizeof(note);
	int ret;

	put_note(code, spec);
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

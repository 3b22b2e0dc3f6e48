/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One instruction, run by the processor itself between two states of all
 * registers and flags.  The stack pointer may be anything: nothing is on the
 * stack meanwhile, and no signal may come.
 */
#ifndef _PGUARD_TEST_PROCESSOR_H
#define _PGUARD_TEST_PROCESSOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Registers by the processor's numbers. */
struct processor_state {
	uint64_t regs[16];
	uint64_t flags;
};

/* What the code finds apart from itself. */
struct processor_frame {
	struct processor_state before;
	struct processor_state after;
	uint64_t sp;
};

struct processor {
	uint8_t *code;
	uint8_t *insn; /* where the instruction is run */
	struct processor_frame *frame;
	uint8_t *leave;
	uint8_t *at;
};

enum {
	PROCESSOR_CODE = 4096, /* bytes; the frame is behind them */
	PROCESSOR_LEAVE = 2048, /* where the code goes on after the instruction */
};

static inline void processor_emit(struct processor *processor, const char *bytes, size_t size)
{
	memcpy(processor->at, bytes, size);
	processor->at += size;
}

#define PROCESSOR_EMIT(processor, bytes) processor_emit(processor, bytes, sizeof(bytes) - 1)

/* What is behind the instruction that begins with @bytes is relative to its end. */
static inline void processor_emit_place(struct processor *processor, const char *bytes, size_t size,
					const void *place)
{
	int32_t distance;

	processor_emit(processor, bytes, size);
	distance = (int32_t)((const uint8_t *)place - (processor->at + 4));
	processor_emit(processor, (const char *)&distance, sizeof(distance));
}

/* mov of register @number from (8b) or to (89) @place */
static inline void processor_emit_move(struct processor *processor, uint8_t opcode, uint8_t number,
				       const void *place)
{
	const uint8_t bytes[] = {
		0x48 | (number >> 3) << 2, opcode, (uint8_t)((number & 7) << 3 | 5),
	};

	processor_emit_place(processor, (const char *)bytes, sizeof(bytes), place);
}

enum {
	PROCESSOR_FROM = 0x8b,
	PROCESSOR_TO = 0x89,
	PROCESSOR_SP = 4,
};

static inline void processor_init(struct processor *processor)
{
	struct processor_frame *frame;

	/* In the lower 2 GiB, so that an instruction can have the address. */
	processor->code = mmap(NULL, PROCESSOR_CODE + sizeof(*frame),
			       PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (processor->code == MAP_FAILED)
		abort();
	frame = (struct processor_frame *)(processor->code + PROCESSOR_CODE);
	processor->frame = frame;
	processor->at = processor->code;
	PROCESSOR_EMIT(processor, "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57"); /* push */
	processor_emit_move(processor, PROCESSOR_TO, PROCESSOR_SP, &frame->sp);
	processor_emit_place(processor, "\xff\x35", 2, &frame->before.flags); /* push */
	PROCESSOR_EMIT(processor, "\x9d"); /* popf */
	for (uint8_t i = 0; i < 16; i++)
		if (i != PROCESSOR_SP)
			processor_emit_move(processor, PROCESSOR_FROM, i, &frame->before.regs[i]);
	processor_emit_move(processor, PROCESSOR_FROM, PROCESSOR_SP,
			    &frame->before.regs[PROCESSOR_SP]);
	processor->insn = processor->at;

	processor->at = processor->leave = processor->code + PROCESSOR_LEAVE;
	for (uint8_t i = 0; i < 16; i++)
		processor_emit_move(processor, PROCESSOR_TO, i, &frame->after.regs[i]);
	processor_emit_move(processor, PROCESSOR_FROM, PROCESSOR_SP, &frame->sp);
	PROCESSOR_EMIT(processor, "\x9c"); /* pushf */
	processor_emit_place(processor, "\x8f\x05", 2, &frame->after.flags); /* pop */
	PROCESSOR_EMIT(processor, "\xfc\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc3"); /* cld, pop */
}

/* From now on, the instruction is this one. */
static inline void processor_set(struct processor *processor, const uint8_t *insn, size_t size)
{
	processor->at = processor->insn;
	processor_emit(processor, (const char *)insn, size);
	processor_emit_place(processor, "\xe9", 1, processor->leave); /* jmp */
}

/* Run it in frame->before; the result is in frame->after. */
static inline void processor_run(struct processor *processor)
{
	void (*run)(void);

	memcpy(&run, &processor->code, sizeof(run));
	run();
}

#endif /* _PGUARD_TEST_PROCESSOR_H */

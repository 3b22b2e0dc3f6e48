/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile of the running program, made of plain lists, so that it can measure
 * the cost of guards itself: run under scripts/vm --icount, where a
 * nanosecond of CLOCK_MONOTONIC is one instruction.
 *
 * A unit begins at self_unit().  The contexts of the profile are each guard at
 * each of the depths that self_note_depth() noted before.
 */
#ifndef _PGUARD_SELF_H
#define _PGUARD_SELF_H

#include <stdbool.h>
#include <stdint.h>

enum { SELF_MAX_DEPTHS = 64 };

/* A guard in @function, at its first instruction by default. */
struct self_guard {
	void (*function)(void);
	uint32_t candidates; /* types of each of its contexts; 0: it has none */
	uint32_t at; /* bytes from the entry */
	uint32_t sp_delta; /* bytes that SP is lower there */
};

struct self_profile {
	const struct self_guard *guards;
	uint32_t nr_guards;
	uint32_t nr_types;
	uint64_t threshold_ns; /* of all types */
	int16_t least_final; /* the same: so many contexts a unit that fits has met */
	uint32_t flags; /* enum perfguard_profile_flags */
	uint32_t target_flags; /* enum perfguard_target_flags */
	bool has_events; /* self_event() begins one */
	bool has_site; /* so does the first guard */
	bool has_empty; /* what comes to a wait without one was no unit */
	bool sheds_last; /* the last guard is shed when it is hit often */
};

/* Instructions since the boot. */
uint64_t self_now(void);

/* The wait call alone, as bare as it can be; it returns at once, with an event. */
void self_unit(void);

/* A call that begins an event of the unit, alone as well. */
void self_event(void);

/* The same call on other paths, which begins none; the first is made at the same depth. */
void self_alike(void);
void self_other(void);

/* Calls nothing: the stack pointer at its entry is kept for self_note_depth(). */
void self_mark(void);

/* self_mark() was called where a guard will be, in the unit that runs. */
void self_note_depth(void);

/* How many of the noted depths differ. */
uint32_t self_nr_depths(void);

/* All end the program with a message if they fail. */
void self_init(void);
void self_arm(const struct self_profile *profile);
/* In two steps: load it into the module, and arm it. */
void self_load(const struct self_profile *profile);
void self_arm_loaded(const struct self_profile *profile);
void self_disarm(void);

/* Where @function is in this program's file. */
uint64_t self_offset(void (*function)(void));

/* Counters of the module since the profile was armed. */
struct self_counts {
	uint64_t units;
	uint64_t hits;
	uint64_t stray_hits; /* outside of units */
	uint64_t unknown_hits; /* in contexts that the profile does not have */
	uint64_t stepped;
	uint64_t late;
	uint64_t novel;
	uint32_t shed; /* guards that are, now */
};

struct self_counts self_counts(void);

/* Load the module @bare_ko, whose probe at @function does nothing; and unload it. */
void self_bare_on(const char *bare_ko, void (*function)(void));
void self_bare_off(void);

/* The middle one of some figures, which are sorted. */
uint64_t self_middle(uint64_t *figures, uint32_t nr);

/* "name figure" on the standard output. */
void self_tell(const char *name, double figure);

#endif /* _PGUARD_SELF_H */

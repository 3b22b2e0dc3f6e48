/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes samples over to new builds of the program and its libraries.
 *
 * Functions that are certain to be the same take the others' place.  What is not certain is
 * left out: a function that is not found is taken out of the call trees, and one whose depth
 * below the loop frame cannot be known has no hits any more, so that it carries no guard.  A
 * loop of which a wait, or what begins its events, cannot be known is dropped.
 */
#ifndef _USER_TRAIN_CARRY_CARRY_H
#define _USER_TRAIN_CARRY_CARRY_H

#include "data/fingerprint.h"
#include "data/samples.h"
#include "train/carry/function-match.h"

/* A file of the samples, and what is in its place now. */
struct carry_object {
	struct fingerprints old; /* nr is 0 if none are kept */
	struct fingerprints new;
	struct function_match match; /* unless it is the same build */
	struct samples_function *functions; /* of the new file that can carry a site, by offset */
	uint32_t nr_functions;
	bool is_same; /* build */
	bool is_gone; /* there is no such file, or it cannot be read */
};

/* What became of a function of the samples. */
enum carry_fate {
	CARRY_FOUND,
	CARRY_LOST, /* is not certain */
	CARRY_NO_SITE, /* is found, and can carry no guard in the new build */
	CARRY_NO_DEPTH, /* is found, and how deep it is called is not certain */
};

enum carry_wait_fate {
	CARRY_WAIT_FOUND,
	CARRY_WAIT_FUNCTION, /* the function that waits, or begins events, is not certain */
	CARRY_WAIT_CALL, /* in it the call is not */
	CARRY_WAIT_DISTANCE, /* where the return address is on the stack is not */
	CARRY_WAIT_FRAME, /* how far the loop's frame is is not */
};

struct carry_report {
	enum carry_fate *functions; /* by function, before */
	enum carry_wait_fate *loops; /* by loop, before: CARRY_WAIT_FOUND if it stays */
	uint32_t nr_loops_left;
};

/*
 * @objects are by the samples' object.  Paths, build ids and fingerprints of the samples'
 * objects are the caller's to replace, after @samples is as before except that functions,
 * loops and what refers to them are those of the new builds; it is not unified yet.  Returns
 * 0, -EINVAL if the samples are not sound, or -ENOMEM; carry_report_deinit() in any case.
 */
int carry_samples(struct samples *samples, const struct carry_object *objects,
		  struct carry_report *report);
void carry_report_deinit(struct carry_report *report);

/* The function of the new file that is number @function of the old; FUNCTION_MATCH_NONE. */
uint32_t carry_function(const struct carry_object *object, uint32_t function);

/* The fingerprints of what is in the object's place now. */
static inline const struct fingerprints *carry_new(const struct carry_object *object)
{
	return object->is_same ? &object->old : &object->new;
}

#endif /* _USER_TRAIN_CARRY_CARRY_H */

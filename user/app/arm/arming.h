/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile on its way into the module: read, compared with the files of this
 * machine, made into the module's tables, armed.
 */
#ifndef _USER_APP_ARM_ARMING_H
#define _USER_APP_ARM_ARMING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "data/armed.h"
#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"
#include "train/guards/novelty-floor.h"
#include "train/model/loading.h"

struct foreign_code;
struct limit_options;
struct link;

enum { ARMING_ROOT_MAX = 32 };

struct arming {
	const char *asked; /* lent: the profile as it was given, for messages */
	char *path; /* of the profile, absolute */
	uint64_t hash; /* of its bytes */
	bool is_paper; /* by the paper's rule of inference */
	bool is_inline; /* guards become jumps where they can */
	char root[ARMING_ROOT_MAX]; /* where the paths of files begin; "" usually */
	struct samples samples;
	struct model model;
	struct training training;
	struct novelty_floors floors;
	struct loading loading;
	int *fds; /* by object of the loading; -1 beyond nr_fds */
	uint32_t nr_fds;
	dev_t dev; /* of the program's file, like the next */
	ino_t inode;
	uint32_t id; /* the module's, once it is armed, like the next two */
	uint32_t target_id;
	uint32_t processes;
};

/*
 * Read the profile at @path.  Asks nothing of the module.  Returns 0 or an exit code, reported in
 * one line; arming_deinit() in either case.
 */
int arming_read(struct arming *arming, const char *path, bool is_paper);

/*
 * Check that the program and the libraries that carry its guards are below its root, of the build
 * it was trained with.  Returns as above.
 */
int arming_open(struct arming *arming);

/*
 * If its guards are to be jumps: read its files, move guards to their functions' windows, and leave
 * that where a file uses the base of gs, with a warning; guards moved by then stay there
 * (arming-inline.c).  Takes some seconds for large files.  Returns as above.
 */
int arming_judge_inline(struct arming *arming);

/*
 * Move the guards of this object of @samples to their functions' windows in @code: where a function
 * can have a breakpoint there need not be room for a jump.  Those where events begin stay.
 */
void arming_move_guards(struct loading *loading, const struct samples *samples, uint32_t object,
			const struct foreign_code *code);

/* Set limits of all of a unit's time, in place of the profile's.  Returns as above. */
int arming_limit(struct arming *arming, const struct limit_options *limits);

/* Load it into the module and arm it: all or nothing.  Returns as above. */
int arming_arm(struct arming *arming, struct link *link, const struct armed_prices *prices,
	       const struct armed_scope *scope);

/*
 * Whether its clients' requests are followed, and from when on one is late whatever was learnt; 0:
 * no such limit.  After arming_arm().  Returns 0 or an exit code; the error was reported.
 */
int arming_follow_requests(const struct arming *arming, struct link *link, bool are_followed,
			   uint64_t limit_ns);

void arming_deinit(struct arming *arming);

/*
 * Add all of a loading to profile @id, which is new; @fds are its objects, open.
 * Returns as link.h does.
 */
int arming_upload(struct link *link, uint32_t id, const struct loading *loading, const int *fds);

/* The profiles that were armed before. */
struct armed_before {
	struct armed_profile *profiles;
	uint32_t nr;
};

/* Print what a profile that was just armed guards, and what to expect of it (armed-text.c). */
void armed_text(const struct arming *arming, const struct armed_before *before,
		const struct armed_prices *prices, const struct armed_scope *scope,
		struct link *link);

/*
 * Disarm the targets that @name means: an id, a file or a process; all if it is
 * NULL (disarming.c).  Returns 0 or an exit code; the error was reported.
 */
int disarm(const char *name);

#endif /* _USER_APP_ARM_ARMING_H */

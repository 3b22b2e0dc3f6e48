/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a record to an alert: the program and the type named, the stacks of the
 * unit weighed, its time and its contexts compared with what is usual.
 */
#ifndef _USER_APP_WATCH_DIAGNOSIS_H
#define _USER_APP_WATCH_DIAGNOSIS_H

#include <stdint.h>

#include "app/common/identity.h"
#include "app/watch/late-units.h"
#include "app/watch/profile-cache.h"
#include "data/alert-record.h"
#include "out/alert/alert.h"

struct unwinder;

enum {
	EXPLANATION_MAX_MET = 64, /* contexts of a unit; the module tells no more */
	EXPLANATION_MAX_UNUSUAL = 3,
};

/* An alert and what it points to: not to be moved. */
struct explanation {
	struct alert alert;
	struct alert_type type;
	struct alert_lock lock;
	struct alert_met met[EXPLANATION_MAX_MET];
	uint32_t unusual[EXPLANATION_MAX_UNUSUAL];
	struct hotpath hotpath;
	struct reason reason;
	const struct known_type *known; /* NULL if the type is not known */
	char *cgroup;
};

/*
 * What is known without its stacks.  @record and what @known holds must outlive
 * it; with the next record of another program @identities may change, so one is
 * made and used at a time.  Returns 0 or -ENOMEM; explanation_deinit() in both
 * cases.
 */
int explanation_init(struct explanation *why, struct identities *identities,
		     const struct known *known, const struct record *record);
void explanation_deinit(struct explanation *why);

/*
 * Add the record's stacks to those of @unit, and tell from all of them where its
 * time went.  Returns 0 or -ENOMEM.
 */
int explanation_add(struct explanation *why, struct unwinder *unwinder, struct late_unit *unit);

#endif /* _USER_APP_WATCH_DIAGNOSIS_H */

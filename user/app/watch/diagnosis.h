/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a record to an alert: the program and the type named, the stacks of the
 * unit weighed, its time and its contexts compared with the normal ones.
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
	DIAGNOSIS_MAX_MET = 64, /* contexts of a unit; the module sends no more */
	DIAGNOSIS_MAX_UNUSUAL = 3,
};

/* An alert and what it points to: not to be moved. */
struct diagnosis {
	struct alert alert;
	struct alert_type type;
	struct alert_lock lock;
	char tracer[16];
	struct alert_met met[DIAGNOSIS_MAX_MET];
	uint32_t unusual[DIAGNOSIS_MAX_UNUSUAL];
	struct hotpath hotpath;
	struct reason reason;
	const struct cached_type *type_now; /* NULL if the type is not known */
	char *cgroup;
};

/*
 * What is known without its stacks.  @record and what @known holds must outlive
 * it; with the next record of another program @identities may change, so one is
 * made and used at a time.  Returns 0 or -ENOMEM; diagnosis_deinit() in both
 * cases.
 */
int diagnosis_init(struct diagnosis *diagnosis, struct identities *identities,
		     const struct profile_cache *cache, const struct record *record);
void diagnosis_deinit(struct diagnosis *diagnosis);

/*
 * Add the record's stacks to those of @unit, and find from all of them where its
 * time went.  Returns 0 or -ENOMEM.
 */
int diagnosis_add(struct diagnosis *diagnosis, struct unwinder *unwinder, struct late_unit *unit);

#endif /* _USER_APP_WATCH_DIAGNOSIS_H */

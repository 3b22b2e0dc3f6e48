/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the module as functions, answers as plain data.  The terms are
 * those of Documentation/netlink/specs/perfguard.yaml.
 *
 * Functions return 0 or a negative errno; link_error() then has a sentence for
 * the operator, the kernel's own where there is one.  A link is used by one
 * thread only.
 */
#ifndef _USER_LINK_LINK_H
#define _USER_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perfguard.h>

#include "data/alert-record.h"
#include "data/armed.h"
#include "data/loop.h"
#include "data/requests.h"

struct link;

struct target {
	uint32_t id;
	uint32_t pid; /* 0 for a target by executable */
	uint32_t flags; /* enum perfguard_target_flags */
	uint32_t dev;
	uint32_t processes;
	uint32_t threads;
	uint64_t inode;
	uint64_t threshold_ns;
	uint64_t units;
	uint64_t late;
	uint64_t waits;
	uint64_t suppressed;
	uint64_t untracked;
	uint64_t ended_threads;
	uint64_t request_limit_ns; /* 0: none */
	uint64_t late_requests;
	uint64_t starved_requests; /* late only by what they waited for a CPU */
	uint64_t suppressed_requests;
	uint32_t sites;
	char *path; /* never NULL */
	bool has_uid; /* only processes of @uid */
	uint32_t uid;
	char *cgroup; /* only processes in it; NULL: any */
	char *scope_args; /* only processes with this in their arguments; NULL: any */
	uint32_t nr_scope_pids; /* only these processes; 0: any */
	uint32_t scope_pids[ARMED_SCOPE_MAX_PIDS];
	uint32_t inline_refusal; /* enum perfguard_inline_refusal, of the last process; 0: none */
	uint32_t inline_refused_pid;
};

/* A threshold for who wants to have no unit late. */
#define LINK_NEVER_LATE_NS (UINT64_C(1) << 62)

struct process {
	uint32_t pid;
	uint32_t target_id;
	uint32_t image_id;
	uint32_t ns_pid; /* in its pid namespace; 0: that is the first one */
	uint64_t units; /* of the threads that it has */
	uint32_t jumps; /* of its guards or sites */
	char comm[16];
};

struct hook {
	uint32_t syscall;
	bool is_direct;
	uint64_t missed;
	char name[32];
};

struct stats {
	uint32_t targets;
	uint32_t threads;
	bool is_alive;
	uint32_t ring_bytes;
	uint64_t next_alert;
	uint64_t next_wait;
	uint64_t lost_memory;
	uint64_t lost_overwritten;
	uint64_t torn_stacks;
	uint64_t crowded_stacks;
	uint32_t sites; /* of all targets */
	uint32_t trial; /* enum perfguard_trial */
	uint32_t trial_error;
	uint64_t stream_lost; /* events, since the module was loaded */
	uint64_t stream_unread; /* return addresses that were not in memory */
	uint32_t nr_hooks;
	struct hook *hooks;
};

/*
 * Connect.  -ENOENT: the module is not loaded; -ENOSYS: the kernel is too old
 * for it; -EPERM: not permitted.  *@ret must be closed on failure, too, and
 * holds the error's text until then.
 */
int link_open(struct link **ret);
void link_close(struct link *link);
const char *link_error(const struct link *link);

/*
 * Watch the processes in @scope that execute the open file @exe_fd or, if that is -1,
 * process @pid, then @scope is NULL.  *@ret_processes is the number of running ones.  Closing the
 * link removes a target with the owned flag.
 */
int link_target_new(struct link *link, int exe_fd, uint32_t pid, const struct armed_scope *scope,
		    uint32_t flags, uint64_t threshold_ns, uint32_t *ret_id,
		    uint32_t *ret_processes);
int link_target_set_threshold(struct link *link, uint32_t id,
			      uint64_t threshold_ns);
int link_target_set_flags(struct link *link, uint32_t id, uint32_t flags);
/* From when on a request is late; 0: never.  The target needs the flag requests. */
int link_target_set_request_limit(struct link *link, uint32_t id, uint64_t limit_ns);
/* Remove a target; @id 0 removes all. */
int link_target_del(struct link *link, uint32_t id);

/* All targets; link_targets_free() them. */
int link_targets(struct link *link, struct target **ret, uint32_t *ret_nr);
void link_targets_free(struct target *targets, uint32_t nr);

/* The processes of a target, or of all with @target_id 0; free() them. */
int link_processes(struct link *link, uint32_t target_id, struct process **ret,
		   uint32_t *ret_nr);
/* The target that watches a process; 0 if none does, or it cannot be found out. */
uint32_t link_target_of(struct link *link, uint32_t pid);

/* Replace all loops of an image; without wait points it has none. */
int link_loop_set(struct link *link, uint32_t image_id,
		  const struct context *contexts, uint32_t nr);
/* The loops of an image, or of all with @image_id 0; link_loops_free() them. */
int link_loops(struct link *link, uint32_t image_id, struct loop **ret,
	       uint32_t *ret_nr);
void link_loops_free(struct loop *loops, uint32_t nr);

/* The requests that came to a target; -ENOENT if they are not followed. */
int link_requests(struct link *link, uint32_t target_id, struct requests *ret);

/*
 * Called for each record.  The callback may modify the record, and take
 * ownership of it by copying and zeroing it; else it is cleared afterwards.  The
 * callback must not make other requests.  An error ends the calls and is
 * returned.
 */
typedef int (*link_record_fn)(struct record *record, void *arg);

/* From now on records have what they came as, too. */
void link_keep_messages(struct link *link);

/*
 * A record from the @size bytes of record.messages, aligned as malloc() does it.  Its at_ns is not
 * known.  Returns 0, -ENOMEM or what @fn does, which is not called if they are of no record.
 */
int link_record_decode(uint8_t *messages, uint32_t size, link_record_fn fn, void *arg);

/* The records with sequence numbers from @seq on; complete ones only. */
int link_alerts(struct link *link, uint64_t seq, link_record_fn fn, void *arg);
int link_waits(struct link *link, uint64_t seq, link_record_fn fn, void *arg);

/*
 * Probe the @sites of the open file @fd for a target: their hits are read from
 * the stream (stream-reader.h).  @flags is enum perfguard_site_flags.  Any
 * number of sites, which are sent in several requests of about 4000 sites.
 *
 * A site that cannot be probed does not stop the others: it is listed in
 * *@ret_refused, an array of *@ret_nr_refused with positive errnos, to be
 * freed by the caller.  Both are set on failure too; sites of requests before
 * the failed one remain (link_sites_del()).
 */
int link_sites_add(struct link *link, uint32_t target_id, int fd,
		   uint32_t flags, const struct perfguard_site *sites,
		   uint32_t nr, struct perfguard_site_refusal **ret_refused,
		   uint32_t *ret_nr_refused);

/* Remove all sites of a target. */
int link_sites_del(struct link *link, uint32_t target_id);

/*
 * Load a profile, in pieces, and arm it as a whole.  The module drops a profile
 * that is not armed when the link is closed.  The arrays are of the spec's
 * structures and may be of any length; they are appended to those added before.
 */
int link_profile_new(struct link *link, const char *name, uint64_t hash,
		     uint32_t flags, uint32_t *ret_id);
/* The open file @fd becomes the next object; the first is the executable. */
int link_profile_add_object(struct link *link, uint32_t id, int fd);
/* The attributes are LOOPS, BOUNDARIES, GUARDS, TYPES, CONTEXTS and WEIGHTS. */
#define link_profile_add(link, id, attr, elements, nr) \
	link_profile_add_array(link, id, PERFGUARD_A_PROFILE_##attr, elements, nr, sizeof(*(elements)))
int link_profile_add_array(struct link *link, uint32_t id, int attr, const void *elements,
			   uint32_t nr, size_t size);
/* On an error nothing changes; link_profiles() may identify the refused guard. */
int link_profile_arm(struct link *link, uint32_t id, const struct armed_prices *prices,
		     const struct armed_scope *scope, uint32_t *ret_target_id,
		     uint32_t *ret_processes);
/* For a target that this link created and that is not guarded, whatever it watches. */
int link_profile_arm_target(struct link *link, uint32_t id, uint32_t target_id);
/* Drop a profile that this link loads, or has armed for a target by its id. */
int link_profile_del(struct link *link, uint32_t id);

/* All profiles, armed or being loaded; link_profiles_free() them. */
int link_profiles(struct link *link, struct armed_profile **ret, uint32_t *ret_nr);
void link_profiles_free(struct armed_profile *profiles, uint32_t nr);
/* The guards and the types of a profile; free() them. */
int link_guards(struct link *link, uint32_t profile_id, struct armed_guard **ret,
		uint32_t *ret_nr);
int link_times(struct link *link, uint32_t profile_id, struct armed_times **ret,
		    uint32_t *ret_nr);
int link_types(struct link *link, uint32_t profile_id, struct armed_type **ret,
	       uint32_t *ret_nr);

/* Free stats.hooks with link_stats_clear(). */
int link_stats(struct link *link, struct stats *ret);
void link_stats_clear(struct stats *stats);

/*
 * Wakeups for alerts: link_wakeup_fd() becomes readable when there are new ones,
 * and link_wakeup_clear() makes it unreadable again.  There may be one wakeup for
 * many alerts and, rarely, one for none: call link_alerts().
 */
int link_wakeup_open(struct link *link);
int link_wakeup_fd(const struct link *link);
void link_wakeup_clear(struct link *link);

#endif /* _USER_LINK_LINK_H */

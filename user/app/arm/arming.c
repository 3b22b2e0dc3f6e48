// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arming.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/identity.h"
#include "app/common/limit-options.h"
#include "app/common/scope-processes.h"
#include "app/common/watched.h"
#include "base/container-id.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/open-in-root.h"
#include "binary/file/elf.h"
#include "link/link.h"
#include "out/profile/profile-view.h"
#include "store/profile-file.h"

enum {
	MAX_NAME = 1023, /* bytes of a profile's name, as the netlink spec has it */
	MAX_LABEL = 60,
	NOT_SUPPORTED = 524, /* the kernel's ENOTSUPP, which libc does not know */
};

static int no_memory(const struct arming *arming)
{
	log_error("%s: out of memory", arming->asked);
	return CMD_FAILED;
}

static int read_profile(struct arming *arming, const char *path)
{
	char why[PROFILE_WHY_MAX];

	/* The name by which others look for it later, whatever links there are. */
	arming->path = realpath(path, NULL);
	if (!arming->path) {
		log_error("cannot open %s: %s", path, strerror(errno));
		return CMD_FAILED;
	}
	if (strlen(arming->path) > MAX_NAME) {
		log_error("%s: the path is longer than the module takes (%d bytes)", path,
			  MAX_NAME);
		return CMD_FAILED;
	}
	if (profile_hash(arming->asked, &arming->hash, why) ||
	    profile_load_hashed(arming->asked, arming->hash, &arming->samples, &arming->model,
				&arming->training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	return 0;
}

static int make_tables(struct arming *arming)
{
	const char *why = NULL;
	int error = 0;

	if (arming->model.nr_types)
		error = novelty_floors_init(&arming->floors, &arming->samples, &arming->model);
	if (!error)
		error = loading_init(&arming->loading, &arming->samples, &arming->model,
				     arming->floors.least_final, &why);
	if (error == -ENOMEM)
		return no_memory(arming);
	if (error)
		log_error("%s %s", arming->asked, why ? why : "contradicts itself");
	return error ? CMD_FAILED : 0;
}

static const char *id_of(const char *build_id)
{
	return *build_id ? build_id : "(none)";
}

/* A process that runs the program, in another root than ours as it seems; 0: there is none. */
static uint32_t find_elsewhere(const char *program)
{
	const struct armed_scope any = { .cgroup = NULL };
	struct scope_processes processes;
	const struct scope_process *found = NULL;
	uint32_t ret;

	if (!scope_processes_get(&any, &processes))
		found = scope_processes_find(&processes, program);
	ret = found ? found->pid : 0;
	scope_processes_free(&processes);
	return ret;
}

/* Where else the program is, and the option that chooses it. */
static void describe_elsewhere(const struct arming *arming, char *text, size_t size)
{
	uint32_t pid = find_elsewhere(arming->samples.objects[0].path);
	char *cgroup = pid ? identity_cgroup(pid) : NULL;
	char id[CONTAINER_ID_MAX] = "";

	if (cgroup)
		container_id(cgroup, id);
	free(cgroup);
	container_id_cut(id);
	text[0] = '\0';
	if (pid && id[0])
		snprintf(text, size, "; process %" PRIu32 " has it in its container: use --container %s, "
			 "or --root-of %" PRIu32 " for all that run this file", pid, id, pid);
	else if (pid)
		snprintf(text, size, "; process %" PRIu32 " has it in a root of its own: use --root-of %"
			 PRIu32, pid, pid);
}

static int open_failed(const struct arming *arming, const char *path, int error)
{
	char elsewhere[CONTAINER_ID_MAX + 160] = "";

	if (error == ENOENT && !*arming->root)
		describe_elsewhere(arming, elsewhere, sizeof(elsewhere));
	log_error("%s needs %s, which cannot be opened: %s%s", arming->asked, path, strerror(error),
		  elsewhere);
	return error == EACCES || error == EPERM ? CMD_IMPOSSIBLE : CMD_FAILED;
}

/* Check that the file is what the profile was trained with.  Returns 0 or an exit code. */
static int check_object(const struct arming *arming, const struct samples_object *object,
			const char *path, int fd)
{
	struct elf_identity identity;
	const char *why;
	int error = elf_identify(fd, &identity, &why);

	if (error) {
		log_error("%s needs %s, which is %s", arming->asked, path,
			  why ? why : strerror(-error));
		return CMD_FAILED;
	}
	if (!strcmp(identity.build_id, object->build_id))
		return 0;
	log_error("%s was trained with %s of build id %s, but here it has build id %s; "
		  "'pg-collect learn --carry %s -o NEW' takes it over", arming->asked, path,
		  id_of(object->build_id), id_of(identity.build_id), arming->asked);
	return CMD_FAILED;
}

static int open_object(struct arming *arming, const struct samples_object *object)
{
	char path[2 * PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", arming->root, object->path);
	fd = open_in_root(*arming->root ? arming->root : "/", object->path,
			  O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return open_failed(arming, path, errno);
	arming->fds[arming->nr_fds++] = fd;
	return check_object(arming, object, path, fd);
}

int arming_open(struct arming *arming)
{
	const struct loading *loading = &arming->loading;
	struct stat st;

	arming->fds = calloc((size_t)loading->nr_objects + 1, sizeof(*arming->fds));
	if (!arming->fds)
		return no_memory(arming);
	for (uint32_t i = 0; i < loading->nr_objects; i++) {
		int ret = open_object(arming, &arming->samples.objects[loading->objects[i]]);

		if (ret)
			return ret;
	}
	if (fstat(arming->fds[0], &st))
		return open_failed(arming, arming->samples.objects[0].path, errno);
	arming->dev = st.st_dev;
	arming->inode = st.st_ino;
	return 0;
}

int arming_read(struct arming *arming, const char *path, bool is_paper)
{
	int ret;

	*arming = (struct arming){ .asked = path, .is_paper = is_paper };
	ret = read_profile(arming, path);
	if (ret)
		return ret;
	long_step_begin("making the tables of the profile");
	ret = make_tables(arming);
	long_step_end();
	return ret;
}

int arming_limit(struct arming *arming, const struct limit_options *limits)
{
	for (uint32_t i = 0; i < limits->nr; i++) {
		const struct limit_option *limit = &limits->of[i];
		uint32_t nr = 0;

		for (uint32_t j = 0; j < arming->loading.nr_types; j++) {
			struct perfguard_type *type = &arming->loading.types[j];

			if (limit->type && limit->type != type->id)
				continue;
			type->threshold_ns = limit->limit_ns;
			nr++;
		}
		if (!nr) {
			log_error("%s has no type %" PRIu32, arming->asked, limit->type);
			return CMD_FAILED;
		}
	}
	return 0;
}

int arming_upload(struct link *link, uint32_t id, const struct loading *loading, const int *fds)
{
	int error = 0;

	for (uint32_t i = 0; i < loading->nr_objects && !error; i++)
		error = link_profile_add_object(link, id, fds[i]);
	return error ?: link_profile_add(link, id, LOOPS, loading->courses, loading->nr_courses) ?:
	       link_profile_add(link, id, GUARDS, loading->guards, loading->nr_guards) ?:
	       link_profile_add(link, id, BOUNDARIES, loading->boundaries,
					   loading->nr_boundaries) ?:
	       link_profile_add(link, id, TYPES, loading->types, loading->nr_types) ?:
	       link_profile_add(link, id, CONTEXTS, loading->contexts, loading->nr_contexts) ?:
	       link_profile_add(link, id, WEIGHTS, loading->weights, loading->nr_weights);
}

static const char *guard_error(uint32_t error)
{
	if (error == NOT_SUPPORTED || error == EOPNOTSUPP)
		return "the kernel does not take the instruction there";
	return strerror((int)(error < INT_MAX ? error : INT_MAX));
}

/* Say of the guard that could not be put on, if it was one; the profile is still there. */
static void describe_guard(const struct arming *arming, struct link *link, char *text, size_t size)
{
	const struct loading *loading = &arming->loading;
	struct armed_profile *profiles;
	char label[PROFILE_LABEL_MAX];
	uint32_t nr, object;

	if (link_profiles(link, &profiles, &nr))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		const struct armed_profile *profile = &profiles[i];

		if (profile->id != arming->id || !profile->is_refused ||
		    profile->refused_guard >= loading->nr_guards)
			continue;
		profile_function_label(&arming->samples, loading->functions[profile->refused_guard],
				       MAX_LABEL, label);
		object = loading->objects[loading->guards[profile->refused_guard].object];
		snprintf(text, size, "the guard at %s in %s cannot be put on: %s", label,
			 arming->samples.objects[object].path, guard_error(profile->refused_error));
	}
	link_profiles_free(profiles, nr);
}

/* Report that somebody audits the program, or trains on it, if it is so. */
static bool is_held(const struct arming *arming, struct link *link, const char *what)
{
	const struct watched_subject subject = {
		.dev = arming->dev,
		.inode = arming->inode,
		.path = arming->samples.objects[0].path,
		.is_held = true, /* what is armed in another scope is the module's to explain */
	};

	return watched_report(link, &subject, what);
}

static int arm_failed(const struct arming *arming, struct link *link, int error)
{
	char what[PATH_MAX + 32], why[PATH_MAX + 512];

	snprintf(what, sizeof(what), "cannot arm %s", arming->asked);
	if (!arming->id)
		return cmd_link_failed(link, error, what);
	/* Further requests of the link have errors of their own. */
	snprintf(why, sizeof(why), "%s", link_error(link));
	if (error == -EEXIST && is_held(arming, link, what))
		return CMD_FAILED;
	describe_guard(arming, link, why, sizeof(why));
	log_error("%s: %s", what, why);
	/* Of a request, ENOENT means its object, not the module. */
	return error == -ENOENT ? CMD_FAILED : cmd_exit_of(error);
}

int arming_arm(struct arming *arming, struct link *link, const struct armed_prices *prices,
	       const struct armed_scope *scope)
{
	uint32_t flags = (arming->is_paper ? PERFGUARD_PROFILE_FLAGS_PAPER : 0) |
			 (arming->is_inline ? PERFGUARD_PROFILE_FLAGS_INLINE : 0);
	int error = link_profile_new(link, arming->path, arming->hash, flags, &arming->id);

	if (!error)
		error = arming_upload(link, arming->id, &arming->loading, arming->fds);
	if (!error)
		error = link_profile_arm(link, arming->id, prices, scope, &arming->target_id,
					 &arming->processes);
	if (error)
		return arm_failed(arming, link, error);
	if (!scope->nr_pids || arming->processes)
		return 0;
	link_target_del(link, arming->target_id);
	log_error("%s: process %" PRIu32 " does not run %s, or is watched already", arming->path,
		  scope->pids[0], arming->samples.objects[0].path);
	return CMD_FAILED;
}

/* Change what is wanted of the target's requests; without the flag it has no limit. */
static int set_requests(struct link *link, const struct target *target, bool are_followed,
			uint64_t limit_ns)
{
	uint32_t flags = target->flags & ~(uint32_t)PERFGUARD_TARGET_FLAGS_REQUESTS;
	int error = 0;

	if (are_followed)
		flags |= PERFGUARD_TARGET_FLAGS_REQUESTS;
	if (flags != target->flags)
		error = link_target_set_flags(link, target->id, flags);
	if (!error && are_followed)
		error = link_target_set_request_limit(link, target->id, limit_ns);
	return error;
}

static bool has_request_limits(const struct model *model)
{
	for (uint32_t i = 0; i < model->nr_types; i++)
		if (model->types[i].request_ns[REQUEST_PART_ALL])
			return true;
	return false;
}

int arming_follow_requests(const struct arming *arming, struct link *link, bool are_followed,
			   uint64_t limit_ns)
{
	struct target *targets;
	uint32_t nr;
	int error = link_targets(link, &targets, &nr);

	if (error)
		return cmd_link_failed(link, error, "cannot ask for the target");
	for (uint32_t i = 0; i < nr && !error; i++)
		if (targets[i].id == arming->target_id)
			error = set_requests(link, &targets[i], are_followed, limit_ns);
	link_targets_free(targets, nr);
	if (are_followed && !limit_ns && !has_request_limits(&arming->model))
		log_warning("%s: it has no limits of requests, so none is late: train with --requests, or give --request-limit",
			    arming->asked);
	return error ? cmd_link_failed(link, error, "cannot follow the program's requests") : 0;
}

void arming_deinit(struct arming *arming)
{
	for (uint32_t i = 0; i < arming->nr_fds; i++)
		close(arming->fds[i]);
	free(arming->fds);
	free(arming->path);
	loading_deinit(&arming->loading);
	novelty_floors_deinit(&arming->floors);
	samples_deinit(&arming->samples);
	model_deinit(&arming->model);
	memset(arming, 0, sizeof(*arming));
}

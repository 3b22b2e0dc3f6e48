// SPDX-License-Identifier: GPL-2.0
/* The service's configuration: what is taken, and what is refused in which line. */

#include "app/serve/service-config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/watch/alert-sink.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "tap.h"

static char path[] = "/tmp/test-config-XXXXXX";
static struct service_config config;
static char said[8192];

static void hear(enum log_level level, const char *line)
{
	size_t len = strlen(said);

	(void)level;
	snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static int read_text(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	said[0] = '\0';
	service_config_deinit(&config);
	return service_config_read(path, &config);
}

/* Refused in this line, with these words. */
static void refused(const char *text, const char *line, const char *words, const char *name)
{
	char begin[64];
	int ret = read_text(text);

	snprintf(begin, sizeof(begin), "%s:%s: ", path, line);
	if (!ok(ret == CMD_USAGE && strstr(said, begin) && strstr(said, words), "%s", name))
		diag("%d: %s", ret, said);
}

static void defaults(void)
{
	ok(!read_text("# nothing\n\n   \n") && !*said, "an empty one");
	ok(!strcmp(config.profiles, "/etc/perfguard/profiles.d") && config.all.is_armed &&
		   config.all.budget_ppm == 20000 && !config.all.limits.nr && !config.keeps_armed &&
		   config.window_ns == 10 * NSEC_PER_SEC &&
		   !strcmp(config.spool, "/var/lib/perfguard/spool") &&
		   config.bounds.bytes == 256 << 20 && config.bounds.alerts == 100000 &&
		   config.spools_stacks && !config.hook.command && !config.nr_silences &&
		   !config.metrics.size,
	   "has the defaults");
	service_config_deinit(&config);
	ok(service_config_read("/nowhere/perfguard.conf", &config) == CMD_FAILED &&
		   strstr(said, "cannot open /nowhere/perfguard.conf"), "one that is not there");
}

static void taken(void)
{
	const struct service_settings *one;

	ok(!read_text("budget=1.5\n limit = 500ms \nlimit = 3=2s\nrequests = yes\ninline = yes\nspool = none\n"
		      "spool-size = 2G\nspool-alerts = 7\nwindow = none\nkeep-armed = yes\nmetrics = [::1]:9959\n"
		      "on-alert = /bin/mail -s 'a = b' root\non-alert-timeout = 5s\n"
		      "[profile a.pgp]\nbudget = none\nlimit = 4=1s\ninline = no\n"
		      "[profile  b.pgp ]\narm = no"), "all that there is");
	ok(config.all.budget_ppm == 15000 && config.all.limits.nr == 2 &&
		   config.all.limits.of[1].type == 3 &&
		   config.all.limits.of[1].limit_ns == 2 * NSEC_PER_SEC &&
		   config.all.follows_requests && config.all.is_inline && !config.spool && config.bounds.bytes == 2ull << 30 &&
		   config.bounds.alerts == 7 && !config.window_ns && config.keeps_armed &&
		   config.metrics.at.ss_family == AF_INET6 &&
		   !strcmp(config.hook.command, "/bin/mail -s 'a = b' root") &&
		   config.hook.timeout_ns == 5 * NSEC_PER_SEC, "is what it says");
	one = service_config_find(&config, "a.pgp");
	ok(one != &config.all && !one->budget_ppm && one->limits.nr == 3 && one->follows_requests &&
		   !one->is_inline && one->is_armed, "a profile has what all have, and its own");
	one = service_config_find(&config, "b.pgp");
	ok(!one->is_armed && one->budget_ppm == 15000 && one->limits.nr == 2 &&
		   service_config_find(&config, "c.pgp") == &config.all, "each of them");
}

static bool is_text(const char *text, const char *wanted)
{
	return wanted ? text && !strcmp(text, wanted) : !text;
}

static bool has_scope(const char *name, const struct service_scope *wanted)
{
	return service_scope_is_same(&service_config_find(&config, name)->scope, wanted);
}

/* Whose processes: one profile has what all have, except what it says otherwise. */
static void scopes(void)
{
	ok(!read_text("cgroup = /a\nuser = www\n[profile a]\n[profile b]\nunit = web\nargs = --app=one two\n"
		      "[profile c]\ncgroup = none\nuid = none\n[profile d]\ncontainer = 3f2a\nuid = 33\n"),
	   "keys that choose processes");
	ok(has_scope("a", &(struct service_scope){ .cgroup = "/a", .user = "www" }) &&
		   is_text(config.all.scope.user, "www"), "one has those of all");
	ok(has_scope("b", &(struct service_scope){ .unit = "web", .user = "www", .args = "--app=one two" }),
	   "a unit takes the place of the cgroup of all");
	ok(service_scope_is_any(&service_config_find(&config, "c")->scope), "none lifts it");
	ok(!read_text("unit = none\ncontainer = none\ncgroup = /a\nuid = none\nargs = none\n") &&
		   has_scope("a", &(struct service_scope){ .cgroup = "/a" }), "beside another one, too");
	ok(!read_text("cgroup = /a\n[profile d]\ncontainer = 3f2a\nuid = 33\n") &&
	   has_scope("d", &(struct service_scope){ .container = "3f2a", .user = "33" }),
	   "a container of a user");
	refused("unit = a\nuid = b\ncontainer = c\n", "3",
		"unit and container are both given: each is a cgroup, and only one can be meant",
		"two that are a cgroup");
	refused("[profile a]\ncgroup = a\nunit = b\n", "3", "cgroup and unit are both given", "of a profile, too");
	refused("args =\n", "1", "args is none, or from 1 to 255 bytes, not ''", "no arguments");
	refused("user = a\nuid = b\n", "2", "uid is given twice", "a user by both names");
	refused("unit = \n", "1", "unit is none, or a unit of systemd", "no unit");
}

/* Where nobody is there, and where what they run is another file. */
static void sightings(void)
{
	struct service_sighting before = { "/a", 1, 2 }, now = { "/a", 1, 2 }, nobody = { "/a", 0, 0 },
				other = { "/a", 1, 3 }, moved = { "/b", 1, 2 };

	ok(service_sighting_has_same(&before, &now) && service_sighting_has_same(&before, &nobody) &&
		   !service_sighting_has_same(&before, &other) &&
		   !service_sighting_has_same(&before, &moved) &&
		   !service_sighting_has_same(&nobody, &now), "what changes is the file, or the cgroup");
	ok(service_sighting_take(&(struct service_scope){ .unit = "nosuch-unit" }, NULL, &now) == CMD_FAILED &&
		   strstr(said, "there is no unit 'nosuch-unit.service'"), "a unit that is not there");
	service_sighting_clear(&now);
	said[0] = '\0';
	ok(service_sighting_take(&(struct service_scope){ .user = "nosuch-user" }, NULL, &now) == CMD_FAILED &&
		   strstr(said, "there is no user 'nosuch-user'"), "a user that is not there");
	service_sighting_clear(&now);
	ok(!service_sighting_take(&(struct service_scope){ .args = "no command line has this" }, "/bin/sh",
				  &now) && !now.inode, "nobody has these arguments, who may come");
	service_sighting_clear(&now);
}

static void refusals(void)
{
	refused("\nbugdet = 2\n", "2", "no key 'bugdet'; there are profiles, arm, budget", "an unknown key");
	refused("budget = 0\n", "1", "budget is none, or a number above 0 and up to 100, in per cent, not '0'",
		"a budget of nothing");
	refused("budget = 2\nbudget = 3\n", "2", "budget is given twice", "a key that is given twice");
	refused("spool = spool\n", "1", "spool is none, or a file, from / on, not 'spool'", "a relative path");
	refused("spool-size = 1000\n", "1", "spool-size is", "a spool that is too small");
	refused("spool-size = 1T\n", "1", "spool-size is", "a unit that there is not");
	refused("spool-size = 99999999999G\n", "1", "spool-size is", "more than there is");
	refused("spool-alerts = -1\n", "1", "a number from 1 up", "a negative number");
	refused("limit = 5\nlimit = x=1s\n", "2", "limit is TIME", "a limit of no type");
	refused("keep-armed = maybe\n", "1", "keep-armed is yes or no, not 'maybe'", "a flag that is neither");
	refused("on-alert =\n", "1", "on-alert is a command, not ''", "no command");
	refused("hello\n", "1", "neither KEY = VALUE nor [profile NAME]", "a line that is neither");
	refused("[profile a]\nspool = none\n", "2", "no key 'spool' for one profile",
		"a key of the service for a profile");
	refused("[profile a]\n[profile a]\n", "2", "[profile a] is there twice", "a section twice");
	refused("[profile a/b]\n", "1", "a section is [profile NAME]", "a path for a section");
	refused("[ profile a]\n", "1", "a section is [profile NAME]", "a blank before its word");
	refused("[service]\n", "1", "a section is [profile NAME]", "another section");
	refused("silence = tomorrow nginx\n", "1", "silence is UNTIL PROGRAM [TYPE]", "a silence until whenever");
	refused("silence = 2026-12-31T08:00Z nginx x\n", "1", "silence is", "a silence of no type");
	refused("silence = 2026-02-30 nginx\n", "1", "silence is", "a day that there is not");
	read_text("a = 1\nb = 2\n");
	ok(strstr(said, ":1: ") && strstr(said, ":2: "), "each error is reported");
}

static void silences(void)
{
	struct sunk_alert alert = { .kind = "late", .exe = "/usr/sbin/nginx", .type = 5 };
	uint64_t until_ns;

	time_parse("2026-12-31T08:00Z", &until_ns);
	ok(!read_text("silence = 2026-12-31T08:00Z nginx\nsilence = 2026-12-31 /usr/sbin/nginx 5\n"
		      "silence = 2026-12-31 *\nsilence = 2026-12-31 redis-server\n") &&
		   config.nr_silences == 4 && config.silences[0].until_ns == until_ns, "silences");
	ok(silence_covers(&config.silences[0], &alert, until_ns - 1), "one covers its program");
	ok(!silence_covers(&config.silences[0], &alert, until_ns), "until it ends");
	ok(silence_covers(&config.silences[1], &alert, 0), "by path and type");
	alert.type = 6;
	ok(!silence_covers(&config.silences[1], &alert, 0), "no other type");
	ok(silence_covers(&config.silences[2], &alert, 0) &&
		   !silence_covers(&config.silences[3], &alert, 0), "any program, or another one");
	alert.exe = NULL;
	ok(!silence_covers(&config.silences[0], &alert, 0) &&
		   silence_covers(&config.silences[2], &alert, 0), "one that is not known is any");
}

int main(void)
{
	plan(50);
	close(mkstemp(path));
	log_set_writer(hear, true);
	defaults();
	taken();
	scopes();
	sightings();
	refusals();
	silences();
	service_config_deinit(&config);
	unlink(path);
	return tap_status();
}

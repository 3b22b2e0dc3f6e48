// SPDX-License-Identifier: GPL-2.0
/* What the service itself has done, and the module. */

#include <stddef.h>

#include "out/metrics/families.h"

static void put_build(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, "version", metrics->version, 1);
}

static void put_alive(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, NULL, NULL, metrics->is_alive);
}

static void put_profiles(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, "state", "armed", metrics->nr_armed);
	exposition_u64(text, "state", "waiting", metrics->nr_waiting);
	exposition_u64(text, "state", "not_armed",
		       metrics->nr_profiles - metrics->nr_armed - metrics->nr_waiting);
}

static void put_others(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, NULL, NULL, metrics->reading->nr_others);
}

static void put_kinds(struct exposition *text, const char *label, const struct metrics_kind *kinds,
		      uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		exposition_u64(text, label, kinds[i].name, kinds[i].nr);
}

static void put_alerts(struct exposition *text, const struct metrics *metrics)
{
	put_kinds(text, "kind", metrics->alerts, metrics->nr_kinds);
}

static void put_reported(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, NULL, NULL, metrics->reported);
}

static void put_silenced(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, NULL, NULL, metrics->silenced);
}

static void put_commands(struct exposition *text, const struct metrics *metrics)
{
	put_kinds(text, "event", metrics->commands, metrics->nr_commands);
}

static void put_lost(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, "cause", "memory", metrics->lost_memory);
	exposition_u64(text, "cause", "overwritten", metrics->lost_overwritten);
}

static void put_lost_stacks(struct exposition *text, const struct metrics *metrics)
{
	exposition_u64(text, "cause", "torn", metrics->torn_stacks);
	exposition_u64(text, "cause", "crowded", metrics->crowded_stacks);
}

static void put_spooled(struct exposition *text, const struct metrics *metrics)
{
	if (metrics->spool.is_there)
		exposition_u64(text, NULL, NULL, metrics->spool.alerts);
}

static void put_spool_bytes(struct exposition *text, const struct metrics *metrics)
{
	if (metrics->spool.is_there)
		exposition_u64(text, NULL, NULL, metrics->spool.bytes);
}

static void put_dropped(struct exposition *text, const struct metrics *metrics)
{
	if (metrics->spool.is_there)
		exposition_u64(text, NULL, NULL, metrics->spool.dropped);
}

static void put_unsaved(struct exposition *text, const struct metrics *metrics)
{
	if (metrics->spool.is_there)
		exposition_u64(text, NULL, NULL, metrics->spool.unsaved);
}

#define AT(member) offsetof(struct metrics_output, member)

static void put_outputs(struct exposition *text, const struct metrics *metrics, size_t at)
{
	for (uint32_t i = 0; i < metrics->nr_outputs; i++) {
		const struct metrics_output *output = &metrics->outputs[i];

		exposition_u64(text, "output", output->name, *(const uint64_t *)((const char *)output + at));
	}
}

static void put_forwarded(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(passed));
}

static void put_refused(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(refused));
}

static void put_left_out(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(left_out));
}

static void put_forward_lost(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(lost));
}

static void put_waiting(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(waiting));
}

static void put_retries(struct exposition *text, const struct metrics *metrics)
{
	put_outputs(text, metrics, AT(retries));
}

const struct metrics_family service_families[] = {
	{ { "perfguard_build", NULL, "The version of pg-collect.", EXPOSITION_INFO },
	  .service = put_build },
	{ { "perfguard_module_alive", NULL, "Whether hooked calls reach the module.",
	    EXPOSITION_GAUGE }, .service = put_alive },
	{ { "perfguard_profiles", NULL, "Profiles of the service's directory.", EXPOSITION_GAUGE },
	  .service = put_profiles },
	{ { "perfguard_other_targets", NULL, "Targets that are watched without a profile.",
	    EXPOSITION_GAUGE }, .service = put_others },
	{ { "perfguard_alerts", NULL, "Alerts since the service began, folded and silenced ones, too.",
	    EXPOSITION_COUNTER }, .service = put_alerts },
	{ { "perfguard_alerts_reported", NULL, "Alerts that went to the journal.",
	    EXPOSITION_COUNTER }, .service = put_reported },
	{ { "perfguard_alerts_silenced", NULL, "Alerts that a silence kept from the journal.",
	    EXPOSITION_COUNTER }, .service = put_silenced },
	{ { "perfguard_alerts_lost", NULL,
	    "Alerts that the module has lost since it was loaded.", EXPOSITION_COUNTER },
	  .service = put_lost },
	{ { "perfguard_stacks_lost", NULL, "Copies of stacks that the module has dropped.",
	    EXPOSITION_COUNTER }, .service = put_lost_stacks },
	{ { "perfguard_alert_commands", NULL, "Runs of the command for alerts.",
	    EXPOSITION_COUNTER }, .service = put_commands },
	{ { "perfguard_spool_alerts", NULL, "Alerts in the spool.", EXPOSITION_GAUGE },
	  .service = put_spooled },
	{ { "perfguard_spool_bytes", "bytes", "Size of the spool.", EXPOSITION_GAUGE },
	  .service = put_spool_bytes },
	{ { "perfguard_spool_dropped", NULL,
	    "Old alerts that made room for others since the spool was made.", EXPOSITION_COUNTER },
	  .service = put_dropped },
	{ { "perfguard_spool_unsaved", NULL, "Alerts that could not be written to the spool.",
	    EXPOSITION_COUNTER }, .service = put_unsaved },
	{ { "perfguard_forward_passed", NULL,
	    "Alerts that an output has passed on and that were acknowledged.", EXPOSITION_COUNTER },
	  .service = put_forwarded },
	{ { "perfguard_forward_refused", NULL, "Alerts that the other side of an output has refused.",
	    EXPOSITION_COUNTER }, .service = put_refused },
	{ { "perfguard_forward_left_out", NULL, "Alerts that are not meant for an output.",
	    EXPOSITION_COUNTER }, .service = put_left_out },
	{ { "perfguard_forward_lost", NULL,
	    "Alerts that the spool dropped before an output had passed them on.",
	    EXPOSITION_COUNTER }, .service = put_forward_lost },
	{ { "perfguard_forward_waiting", NULL, "Alerts that wait in the spool for an output, at most.",
	    EXPOSITION_GAUGE }, .service = put_waiting },
	{ { "perfguard_forward_retries", NULL, "How often an output had to try again.",
	    EXPOSITION_COUNTER }, .service = put_retries },
	{ .family.name = NULL },
};

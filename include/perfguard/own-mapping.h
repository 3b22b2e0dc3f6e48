/* SPDX-License-Identifier: GPL-2.0 */
/* What the list of a process' mappings calls those that the module has made in it. */
#ifndef _PERFGUARD_OWN_MAPPING_H
#define _PERFGUARD_OWN_MAPPING_H

#define PERFGUARD_LANDINGS	"perfguard-landings"
#define PERFGUARD_AREAS		"perfguard-areas"

/* As /proc/PID/maps shows a file that has no name in any directory. */
#define PERFGUARD_MAPPED(name)	"/" name " (deleted)"

#endif /* _PERFGUARD_OWN_MAPPING_H */

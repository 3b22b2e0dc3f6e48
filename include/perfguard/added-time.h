/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What interrupts and batches add to a unit's time; the same in training and in the module.
 */
#ifndef _PERFGUARD_ADDED_TIME_H
#define _PERFGUARD_ADDED_TIME_H

#include <linux/types.h>

/**
 * added_time_is_most() - whether more than the half of a unit may have been added to it
 * @ns: its time, or its CPU time
 * @added_ns: what is usually added to that
 *
 * Return: 1 or 0
 */
static inline int added_time_is_most(__u64 ns, __u64 added_ns)
{
	return added_ns > ns / 2;
}

/**
 * added_time_take_off() - what a unit to which something was added took itself
 * @ns: its time, or its CPU time
 * @added_ns: what is usually added to that
 *
 * Return: ns; at least half of @ns, as it may have been less.
 */
static inline __u64 added_time_take_off(__u64 ns, __u64 added_ns)
{
	return ns - (added_time_is_most(ns, added_ns) ? ns / 2 : added_ns);
}

#endif /* _PERFGUARD_ADDED_TIME_H */

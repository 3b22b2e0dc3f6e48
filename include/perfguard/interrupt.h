/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an interrupt adds to a unit's time; the same in training and in the module.
 */
#ifndef _PERFGUARD_INTERRUPT_H
#define _PERFGUARD_INTERRUPT_H

#include <linux/types.h>

/**
 * interrupt_is_most() - whether an interrupt may have been more than the half of a unit
 * @ns: its time, or its CPU time
 * @interrupt_ns: what interrupts usually add to that
 *
 * Return: 1 or 0
 */
static inline int interrupt_is_most(__u64 ns, __u64 interrupt_ns)
{
	return interrupt_ns > ns / 2;
}

/**
 * interrupt_take_off() - what a unit that was interrupted took itself
 * @ns: its time, or its CPU time
 * @interrupt_ns: what interrupts usually add to that
 *
 * Return: ns; at least half of @ns, as the interrupt may have been a short one.
 */
static inline __u64 interrupt_take_off(__u64 ns, __u64 interrupt_ns)
{
	return ns - (interrupt_is_most(ns, interrupt_ns) ? ns / 2 : interrupt_ns);
}

#endif /* _PERFGUARD_INTERRUPT_H */

// SPDX-License-Identifier: GPL-2.0

#include "request/signal-sender.h"

#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/signalfd.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

/**
 * pguard_signal_sender() - the process that sent the first signal that current has read
 * @regs: current's, of the read from a signalfd
 *
 * The program's memory says it, which another of its threads may have changed: then it is some
 * other process, or none.
 *
 * Context: current, in the call; does not sleep.
 * Return: its id in the first pid namespace; 0: a timer, the kernel, current's own process, or
 * one that is gone.
 */
u32 pguard_signal_sender(const struct pt_regs *regs)
{
	struct signalfd_siginfo info;
	struct pid *pid;
	u32 ret = 0;

	if ((u32)regs->orig_ax != __NR_read ||
	    copy_from_user_nofault(&info, (const void __user *)regs->si, sizeof(info)) ||
	    info.ssi_code > 0)
		return 0;
	rcu_read_lock();
	pid = find_vpid(info.ssi_pid);
	if (pid)
		ret = pid_nr(pid);
	rcu_read_unlock();
	return ret == current->tgid ? 0 : ret;
}

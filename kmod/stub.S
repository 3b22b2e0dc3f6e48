/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stub that ftrace calls directly at the entry of a hooked wait call.
 *
 *	rdi	user registers of the call (the function's only argument)
 *	(rsp)	where the function goes on after its ftrace nop
 *	8(rsp)	return to the system-call dispatcher
 *
 * A bystander passes after one look at a byte chosen by its thread group id.
 * For a watched thread the stub asks pguard_wait_enter().  If that returns
 * NULL the call goes on as if there were no hook.  Else the stub calls the
 * rest of the function itself, so that it sees the return without touching
 * the return address, tells pguard_wait_leave(), and returns to the
 * dispatcher with what that returns.
 *
 * Registers: at a function's entry only rdi and the callee-saved ones are
 * live.  Functions compiled with -mfentry expect all caller-saved ones to be
 * clobbered by a call (no -fipa-ra).
 *
 * Unwinding: to objtool the stub is a function whose return address is
 * (rsp), so a backtrace shows the stub, then the hooked function, then the
 * dispatcher.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

#include "compat.h"
#include "offsets.h"

	.text

/*
 * Go on at rdx.  By return and not by jump: with IBT an indirect jump may
 * only go to an endbr64, and there is none after the nop.
 */
SYM_FUNC_START_LOCAL(pguard_hook_resume)
	pushq	%rdx
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(pguard_hook_resume)

SYM_FUNC_START(pguard_hook_stub)
	ANNOTATE_NOENDBR
	movq	PGUARD_ASM_CURRENT, %rax
	movzwl	PGUARD_TASK_TGID(%rax), %eax
	btl	%eax, pguard_process_slots(%rip)
	jc	.Lwatched
	RET

.Lwatched:
	pushq	%rdi
	call	pguard_wait_enter
	popq	%rdi
	testq	%rax, %rax
	jnz	.Lfollow
	RET

.Lfollow:
	movq	(%rsp), %rdx
	pushq	%rax
	call	pguard_hook_resume
	popq	%rdi
	movq	%rax, %rsi
	call	pguard_wait_leave
	addq	$8, %rsp
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(pguard_hook_stub)

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stubs that ftrace calls directly at the entry of a hooked call.
 *
 *	rdi	user registers of the call (the function's only argument)
 *	(rsp)	where the function goes on after its ftrace nop
 *	8(rsp)	return to the system-call dispatcher
 *
 * A bystander passes after one look at a byte chosen by its thread group id.
 * For a watched thread the stub asks pguard_wait_enter().  If that returns
 * NULL the call goes on as if there were no hook.  Else the stub calls the
 * rest of the function itself, so that it sees the return without touching
 * the return address, and ends in pguard_wait_leave(), which returns to the
 * dispatcher.
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
 * Go on where pguard_hook_stub was to return to.  By return and not by jump: with
 * IBT an indirect jump may only go to an endbr64, and there is none after the nop.
 * Nothing comes here, or to the stub, by an indirect jump either.
 */
SYM_START(pguard_hook_resume, SYM_L_LOCAL, PGUARD_ASM_ALIGN)
	pushq	16(%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(pguard_hook_resume)

/* Return at once for a bystander; else go to @watched, with the task in rsi. */
.macro pass_bystander watched
	movq	PGUARD_ASM_CURRENT, %rsi
	movzwl	PGUARD_TASK_TGID(%rsi), %eax
	btl	%eax, pguard_process_slots(%rip)
	jc	\watched
	RET
.endm

SYM_START(pguard_hook_stub, SYM_L_GLOBAL, PGUARD_ASM_ALIGN)
	ANNOTATE_NOENDBR
	pass_bystander .Lwatched

.Lwatched:
	pushq	%rdi
	call	pguard_wait_enter
	popq	%rdi
	testq	%rax, %rax
	jnz	.Lfollow
	RET

.Lfollow:
	pushq	%rax
	call	pguard_hook_resume
	popq	%rdi
	movq	%rax, %rsi
	addq	$8, %rsp
	UNWIND_HINT_FUNC
	jmp	pguard_wait_leave
SYM_FUNC_END(pguard_hook_stub)

/* The same of a call that writes: its return does not matter. */
SYM_START(pguard_write_stub, SYM_L_GLOBAL, PGUARD_ASM_ALIGN)
	ANNOTATE_NOENDBR
	pass_bystander .Lwrites

.Lwrites:
	pushq	%rdi
	call	pguard_write_enter
	popq	%rdi
	RET
SYM_FUNC_END(pguard_write_stub)

// SPDX-License-Identifier: GPL-2.0

#include "train/trace/trace-pass.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* Nor does a thread go far beyond its loop's frame but to leave it. */
#define OUTSIDE_BYTES (UINT64_C(1) << 20)

/* Results of a system call that no program sees: linux/errno.h. */
enum {
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

int trace_pass_input_init(struct trace_pass_input *input, const struct trace *trace)
{
	int error;

	*input = (struct trace_pass_input){ .trace = trace };
	error = context_classes_init(&input->contexts, trace);
	if (!error)
		error = trace_threads(trace, &input->threads, &input->nr_threads);
	if (!error)
		error = loop_frames_find(&input->contexts, input->threads, input->nr_threads,
					 &input->levels);
	if (error)
		trace_pass_input_deinit(input);
	return error;
}

void trace_pass_input_deinit(struct trace_pass_input *input)
{
	context_classes_deinit(&input->contexts);
	loop_frames_deinit(&input->levels);
	free(input->threads);
	*input = (struct trace_pass_input){ 0 };
}

bool trace_pass_is_called_from(const struct trace_pass *pass, const struct trace_context *context)
{
	const struct call_frame *frame =
		call_stack_frame_at(&pass->stack, pass->event->sp + context->distance);

	return frame && frame->object == context->object &&
	       frame->return_offset == context->return_offset;
}

uint32_t trace_pass_context(const struct trace_pass *pass)
{
	const struct trace *trace = pass->input->trace;
	uint32_t syscall = trace_syscall(pass->event);
	uint32_t image = pass->input->threads[pass->thread].image;
	const struct context_classes *contexts = &pass->input->contexts;
	uint32_t found = TRACE_NONE;

	for (uint32_t i = context_classes_find(contexts, image, 0); i < trace->nr_contexts; i++) {
		const struct trace_context *context = &trace->contexts[contexts->order[i]];

		if (context->image != image)
			break;
		if (context->syscall != syscall ||
		    contexts->loop_of[contexts->order[i]] != pass->loop)
			continue;
		if (trace_pass_is_called_from(pass, context))
			return contexts->order[i];
		if (found == TRACE_NONE)
			found = contexts->order[i];
	}
	return found;
}

bool trace_pass_reads(uint32_t syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	}
	return false;
}

bool trace_pass_wake_begins(uint32_t syscall, int64_t value)
{
	switch (value) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return syscall == SYS_rt_sigsuspend || syscall == SYS_pause;
	case -EAGAIN:
		return !trace_pass_reads(syscall);
	}
	return true;
}

static int call_op(int (*fn)(struct trace_pass *, void *), struct trace_pass *pass, void *arg)
{
	return fn ? fn(pass, arg) : 0;
}

static int leave(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	int error = pass->loop == TRACE_NONE ? 0 : call_op(ops->leave, pass, arg);

	pass->loop = TRACE_NONE;
	pass->loop_sp = 0;
	pass->is_waiting = false;
	pass->is_whole = false;
	return error;
}

/* Events are missing: what is known of the stack may be wrong. */
static int lose(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	int error = leave(pass, ops, arg);

	pass->enter = NULL;
	pass->was_lost = true;
	call_stack_reset(&pass->stack);
	return error;
}

/* True if this is on another stack than that of the loop's frame. */
static bool is_foreign(const struct trace_pass *pass, uint64_t sp)
{
	return pass->loop_sp &&
	       (sp >= pass->loop_sp || pass->loop_sp - sp > LOOP_FRAME_STACK_BYTES);
}

static int on_hit(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	uint64_t sp = pass->event->sp;
	int error = 0;

	if (trace_number(pass->event) >= pass->input->trace->nr_functions)
		return -EBADMSG;
	/* Where the frame is not known, neither are the calls from there on. */
	if (pass->loop != TRACE_NONE && !pass->loop_sp)
		return 0;
	if (pass->loop_sp && sp >= pass->loop_sp && sp - pass->loop_sp < OUTSIDE_BYTES)
		error = leave(pass, ops, arg);
	if (is_foreign(pass, sp))
		return call_op(ops->foreign, pass, arg);
	if (!error)
		error = call_stack_call(&pass->stack, &pass->input->threads[pass->thread],
					pass->index);
	if (error || pass->loop == TRACE_NONE)
		return error;
	pass->is_whole |= sp == pass->loop_sp - CALL_PUSH_BYTES;
	return call_op(ops->call, pass, arg);
}

/*
 * The first wait after the thread's begin, a loss or a way out of the loop: true
 * if all calls that lead to it were seen.  The stack has to begin with what the loop
 * called; if it has no frames, that may carry no site.
 */
static bool begins_whole(const struct trace_pass *pass)
{
	if (!pass->loop_sp)
		return false;
	if (!pass->stack.nr_frames)
		return !pass->was_lost;
	return pass->stack.frames[0].sp == pass->loop_sp - CALL_PUSH_BYTES;
}

static int on_enter(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	const struct trace_pass_input *input = pass->input;
	uint32_t loop = context_classes_loop(&input->contexts, input->threads[pass->thread].image,
					     pass->event);
	int error = 0;

	/* The last one never returned. */
	if (pass->enter)
		error = lose(pass, ops, arg);
	pass->enter = pass->event;
	if (error || (loop == TRACE_NONE && is_foreign(pass, pass->event->sp)))
		return error;
	call_stack_syscall(&pass->stack, pass->event->sp);
	if (loop == TRACE_NONE)
		return 0;
	if (loop != pass->loop) {
		error = leave(pass, ops, arg);
		pass->loop = loop;
		pass->loop_sp = loop_frames_sp(&input->levels, pass->thread, loop);
		call_stack_below(&pass->stack, pass->loop_sp);
		pass->is_whole = begins_whole(pass);
		pass->was_lost = !pass->loop_sp;
	}
	pass->is_waiting = true;
	return error ? error : call_op(ops->wait, pass, arg);
}

static int on_leave(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	const struct perfguard_event *enter = pass->enter;
	int error;

	/* A call that began before we looked, or whose begin was lost. */
	if (!enter || trace_number(enter) != trace_number(pass->event))
		return lose(pass, ops, arg);
	if (pass->is_waiting) {
		pass->is_waiting = false;
		error = call_op(ops->wake, pass, arg);
	} else if (pass->loop == TRACE_NONE || is_foreign(pass, enter->sp)) {
		error = 0;
	} else {
		error = call_op(ops->syscall, pass, arg);
	}
	pass->enter = NULL;
	return error;
}

static int on_event(struct trace_pass *pass, const struct trace_pass_ops *ops, void *arg)
{
	switch (trace_kind(pass->event)) {
	case PERFGUARD_EVENT_KIND_HIT:
		return on_hit(pass, ops, arg);
	case PERFGUARD_EVENT_KIND_ENTER:
		return on_enter(pass, ops, arg);
	case PERFGUARD_EVENT_KIND_LEAVE:
		return on_leave(pass, ops, arg);
	case PERFGUARD_EVENT_KIND_END:
		pass->enter = NULL;
		return leave(pass, ops, arg);
	default:
		return 0;
	}
}

int trace_pass_run(const struct trace_pass_input *input, const struct trace_pass_ops *ops,
		   void *arg)
{
	struct trace_pass pass = { .input = input };
	int error = call_stack_init(&pass.stack, input->trace);

	for (uint32_t i = 0; i < input->nr_threads && !error; i++) {
		const struct trace_thread *thread = &input->threads[i];

		pass.thread = i;
		pass.loop = TRACE_NONE;
		pass.loop_sp = 0;
		pass.is_waiting = pass.is_whole = pass.was_lost = false;
		pass.enter = NULL;
		call_stack_reset(&pass.stack);
		trace_losses_init(&pass.losses, input->trace, &input->trace->events[thread->begin]);
		for (size_t j = thread->begin; j < thread->end && !error; j++) {
			pass.index = j;
			pass.event = &input->trace->events[j];
			if (trace_losses_before(&pass.losses, pass.event))
				error = lose(&pass, ops, arg);
			if (!error)
				error = on_event(&pass, ops, arg);
		}
		if (!error)
			error = leave(&pass, ops, arg);
	}
	call_stack_deinit(&pass.stack);
	return error;
}

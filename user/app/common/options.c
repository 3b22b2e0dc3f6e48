// SPDX-License-Identifier: GPL-2.0

#include "app/common/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "base/duration.h"
#include "base/guess.h"
#include "base/log.h"
#include "out/line.h"
#include "out/text.h"

enum {
	MAX_OPTIONS = 48,
	OPTION_LONG = 256, /* of getopt, plus the number of the option */
};

int option_flag(const struct option_use *use, void *to)
{
	(void)use;
	*(bool *)to = true;
	return 0;
}

int option_no_flag(const struct option_use *use, void *to)
{
	(void)use;
	*(bool *)to = false;
	return 0;
}

int option_string(const struct option_use *use, void *to)
{
	*(const char **)to = use->text;
	return 0;
}

int option_count(const struct option_use *use, void *to)
{
	const char *text = use->text;
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || !value || value > INT32_MAX)
		return cmd_usage(use->verb, "%s '%s' is no number from 1 up", use->name, text);
	if (use->spec->most && (double)value > use->spec->most)
		return cmd_usage(use->verb, "%s is at most %g, not %s", use->name, use->spec->most,
				 text);
	*(uint32_t *)to = (uint32_t)value;
	return 0;
}

int option_duration(const struct option_use *use, void *to)
{
	if (!duration_parse(use->text, to) && *(uint64_t *)to)
		return 0;
	return cmd_usage(use->verb, "%s '%s' is no length of time such as 50ms or 2s", use->name,
			 use->text);
}

int option_number(const struct option_use *use, void *to)
{
	double value, most = use->spec->most;
	char *end;

	errno = 0;
	value = strtod(use->text, &end);
	if (errno || end == use->text || *end || !(value > 0) || !isfinite(value))
		return cmd_usage(use->verb, "%s wants a number above 0, not '%s'", use->name,
				 use->text);
	if (most && value > most)
		return cmd_usage(use->verb, "%s wants a number above 0 and up to %g, not '%s'",
				 use->name, most, use->text);
	*(double *)to = value;
	return 0;
}

int option_percent(const struct option_use *use, void *to)
{
	int ret = option_number(use, to);

	if (!ret)
		*(double *)to /= 100;
	return ret;
}

int option_choice(const struct option_use *use, void *to)
{
	const char *const *choices = use->spec->choices;
	char all[160] = "";

	for (unsigned int i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], use->text)) {
			*(unsigned int *)to = i;
			return 0;
		}
		text_append(all, sizeof(all), "%s%s", i ? " or " : "", choices[i]);
	}
	return cmd_usage(use->verb, "%s is %s, not '%s'", use->name, all, use->text);
}

static int option_verbose(const struct option_use *use, void *to)
{
	(void)use;
	(void)to;
	log_set_verbose(true);
	return 0;
}

const struct option_spec options_verbose[] = {
	{ 'v', "verbose", NULL, option_verbose, 0,
	  .help = "print progress, also when stderr is no terminal" },
	{ 0 },
};

/* --help, and the short one, which it does not mention. */
static const struct option_spec help_options[] = {
	{ 0, "help", NULL, option_flag, 0, .help = "print this text" },
	{ .letter = 'h', .parse = option_flag },
	{ 0 },
};

/* "-v, --verbose", "--duration TIME", or an operand. */
static size_t head_of(const struct option_spec *spec, char *head, size_t size)
{
	char letter[3] = { '-', spec->letter, '\0' };

	return (size_t)snprintf(head, size, "%s%s%s%s%s%s", spec->letter ? letter : "",
				spec->letter && spec->name ? ", " : "",
				spec->name && spec->parse ? "--" : "", spec->name ? spec->name : "",
				spec->value ? " " : "", spec->value ? spec->value : "");
}

static bool is_end(const struct option_spec *spec)
{
	return !spec->letter && !spec->name;
}

static size_t widest_of(const struct option_spec *specs, size_t widest)
{
	char head[64];

	for (; !is_end(specs); specs++) {
		size_t len = specs->help ? head_of(specs, head, sizeof(head)) : 0;

		widest = len > widest ? len : widest;
	}
	return widest;
}

static void print_specs(const struct option_spec *specs, size_t widest)
{
	char head[64];

	for (; !is_end(specs); specs++) {
		if (!specs->help)
			continue;
		head_of(specs, head, sizeof(head));
		printf("  %-*s  ", (int)widest, head);
		paragraph_wrap(stdout, specs->help, (int)widest + 4, (int)widest + 4);
	}
}

static void print_help(const struct verb *verb)
{
	size_t widest = widest_of(help_options, 0);
	const char *line = verb->usage;

	for (int i = 0; *line; i++) {
		size_t len = strcspn(line, "\n");

		printf("%s pg-collect %s %.*s\n", i ? "      " : "usage:", verb->name, (int)len,
		       line);
		line += len + (line[len] == '\n');
	}
	putchar('\n');
	paragraph_wrap(stdout, verb->about, 0, 0);
	putchar('\n');
	for (const struct option_group *group = verb->groups; group->specs; group++)
		widest = widest_of(group->specs, widest);
	for (const struct option_group *group = verb->groups; group->specs; group++)
		print_specs(group->specs, widest);
	print_specs(help_options, widest);
	putchar('\n');
	if (verb->notes) {
		paragraph_wrap(stdout, verb->notes, 0, 0);
		putchar('\n');
	}
	fputs("Exit status: ", stdout);
	paragraph_wrap(stdout, verb->exit ? verb->exit : VERB_EXIT, 13, 0);
}

static void list_option(const char *verb, const char *option, const struct option_spec *spec)
{
	printf("%s\t%s\t%s\t", verb, option, spec->value ? spec->value : "");
	for (const char *const *choice = spec->choices; choice && *choice; choice++)
		printf("%s%s", choice == spec->choices ? "" : " ", *choice);
	printf("\t%s\n", spec->help);
}

static void list_specs(const char *verb, const struct option_spec *specs)
{
	char text[64];

	for (; !is_end(specs); specs++) {
		if (!specs->help || !specs->parse)
			continue;
		snprintf(text, sizeof(text), "-%c", specs->letter);
		if (specs->letter)
			list_option(verb, text, specs);
		snprintf(text, sizeof(text), "--%s", specs->name);
		if (specs->name)
			list_option(verb, text, specs);
	}
}

/* "FILE" of "[OPTION...] FILE...": the name of what an operand is. */
static void list_operand(const struct verb *verb)
{
	size_t len = strcspn(verb->usage, "\n");
	const char *end = verb->usage + len, *name;

	while (end > verb->usage && strchr(".]", end[-1]))
		end--;
	for (name = end; name > verb->usage && !strchr(" [", name[-1]);)
		name--;
	printf("%s\t\t%.*s\t\t\n", verb->name, (int)(end - name), name);
}

void verb_list_options(const struct verb *verb)
{
	printf("\t%s\t\t\t%s\n", verb->name, verb->summary);
	if (verb->operands == VERB_OPERANDS)
		list_operand(verb);
	for (const struct option_group *group = verb->groups; group->specs; group++)
		list_specs(verb->name, group->specs);
	list_specs(verb->name, help_options);
	if (verb->operands == VERB_COMMAND)
		printf("%s\t--\tCMD\t\tstart a program\n", verb->name);
}

/* The options as getopt_long() wants them. */
struct parser {
	bool wants_help;
	const struct option_spec *specs[MAX_OPTIONS];
	void *objects[MAX_OPTIONS];
	bool is_given[MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 3];
	int nr;
	int nr_longs;
};

static void add_spec(struct parser *parser, const struct option_spec *spec, void *object)
{
	size_t len = strlen(parser->shorts);

	parser->specs[parser->nr] = spec;
	parser->objects[parser->nr] = object;
	if (spec->letter)
		snprintf(parser->shorts + len, sizeof(parser->shorts) - len, "%c%s", spec->letter,
			 spec->value ? ":" : "");
	if (spec->name)
		parser->longs[parser->nr_longs++] = (struct option){
			.name = spec->name,
			.has_arg = spec->value ? required_argument : no_argument,
			.val = OPTION_LONG + parser->nr,
		};
	parser->nr++;
}

static void add_specs(struct parser *parser, const struct option_spec *specs, void *object)
{
	for (; !is_end(specs); specs++)
		if (specs->parse && parser->nr < MAX_OPTIONS)
			add_spec(parser, specs, object);
}

static void parser_init(struct parser *parser, const struct verb *verb)
{
	*parser = (struct parser){ 0 };
	strcpy(parser->shorts, verb->operands == VERB_COMMAND ? "+:" : ":");
	add_specs(parser, help_options, &parser->wants_help);
	for (const struct option_group *group = verb->groups; group->specs; group++)
		add_specs(parser, group->specs, group->object);
}

/* A long option that there is not, with the one that may be meant. */
static int refuse_name(const struct parser *parser, char **argv, const char *given)
{
	char name[64] = "";
	struct guess guess = { .wanted = name };

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given + 2, "="), given + 2);
	for (int i = 0; i < parser->nr; i++)
		if (parser->specs[i]->name && parser->specs[i]->help)
			guess_offer(&guess, parser->specs[i]->name);
	if (!guess.word)
		return cmd_usage(argv[0], "unknown option %s", given);
	return cmd_usage(argv[0], "unknown option %s, is it --%s?", given, guess.word);
}

/* Explain '?' or ':' of getopt_long(). */
static int refuse_option(const struct parser *parser, char **argv, int option)
{
	const char *last = argv[optind - 1];
	/* A long option leaves no letter, but it was the last one looked at. */
	bool is_letter = optopt && last[1] != '-';

	if (is_letter)
		return cmd_usage(argv[0], option == ':' ? "option -%c wants a value" :
							  "unknown option -%c", optopt);
	if (option != ':' && !optopt)
		return refuse_name(parser, argv, last);
	return cmd_usage(argv[0], option == ':' ? "option %s wants a value" : "option %s takes no value",
			 last);
}

static int take_option(struct parser *parser, char **argv, int option)
{
	int index = option - OPTION_LONG;
	struct option_use use = { .verb = argv[0], .text = optarg };

	if (option == '?' || option == ':')
		return refuse_option(parser, argv, option);
	for (int i = 0; option < OPTION_LONG && i < parser->nr; i++)
		if (parser->specs[i]->letter == option)
			index = i;
	use.spec = parser->specs[index];
	if (option < OPTION_LONG)
		snprintf(use.name, sizeof(use.name), "-%c", option);
	else
		snprintf(use.name, sizeof(use.name), "--%s", use.spec->name);
	if (use.spec->is_once && parser->is_given[index])
		return cmd_usage(argv[0], "%s was given twice; %s takes one", use.name, argv[0]);
	parser->is_given[index] = true;
	return use.spec->parse(&use, (char *)parser->objects[index] + use.spec->at);
}

/* The arguments as they were given, cut where there is no room. */
static const char *join(char **argv, char text[80])
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; argv[i] && used < 80; i++)
		used += (size_t)snprintf(text + used, 80 - used, "%s%s", i ? " " : "", argv[i]);
	return text;
}

/*
 * Only what follows -- is started: who forgets an option's letter must not
 * start a server by it.
 */
static int refuse_command(const struct parser *parser, char **argv)
{
	const char *first = argv[optind];
	char text[80];

	for (int i = 0; i < parser->nr; i++)
		if (parser->is_given[i] && parser->specs[i]->is_once && !parser->specs[i]->name &&
		    strchr("pe", parser->specs[i]->letter))
			return cmd_usage(argv[0], "unexpected argument '%s'", first);
	if (first[0] && !first[strspn(first, "0123456789")])
		return cmd_usage(argv[0], "process %.40s is given by '-p %.40s'", first, first);
	return cmd_usage(argv[0],
			 "neither -p, -e nor -- is before '%.40s': '-e %.40s' is for the processes that run it, '-- %s' starts it (options of %s before that)",
			 first, first, join(argv + optind, text), argv[0]);
}

static int parse(struct parser *parser, const struct verb *verb, int argc, char **argv)
{
	int option, at = optind, ret = 0;

	while (!ret && !parser->wants_help &&
	       (option = getopt_long(argc, argv, parser->shorts, parser->longs, NULL)) != -1) {
		ret = take_option(parser, argv, option);
		at = optind;
	}
	if (ret || parser->wants_help || optind >= argc)
		return ret;
	if (verb->operands == VERB_NO_OPERANDS)
		return cmd_usage(argv[0], "unexpected argument '%s'", argv[optind]);
	/* The -- that ends the options is not at @at if it is the value of one. */
	if (verb->operands == VERB_COMMAND && (optind == at || strcmp(argv[at], "--")))
		return refuse_command(parser, argv);
	return 0;
}

/*
 * Messages are JSON, too, where the output is; also that an option before or behind it is wrong.
 * Of a command's own options nothing is asked.
 */
static bool wants_json(const struct parser *parser, char **argv)
{
	bool has_json = false;

	for (int i = 0; i < parser->nr_longs; i++)
		has_json |= !strcmp(parser->longs[i].name, "json");
	for (char **word = argv + 1; has_json && *word && strcmp(*word, "--") != 0; word++)
		if (!strcmp(*word, "--json"))
			return true;
	return false;
}

int verb_run(const struct verb *verb, int argc, char **argv)
{
	struct parser parser;
	int ret;

	if (verb->init)
		verb->init();
	parser_init(&parser, verb);
	opterr = 0;
	if (wants_json(&parser, argv))
		line_take_log();
	ret = parse(&parser, verb, argc, argv);
	if (ret)
		return ret;
	if (parser.wants_help) {
		print_help(verb);
		return CMD_OK;
	}
	return verb->run(argc, argv);
}

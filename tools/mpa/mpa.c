// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The command line, and what is printed. See mpa.8. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mpa.h"

#define MPA_VERSION	"0.1"

#define STATUS_FAILED	1
#define STATUS_USAGE	2

/**
 * struct output - how to print, and what has been printed
 * @json: as JSON
 * @pretty: with line breaks
 * @nr: number of connections printed
 * @table: rows to print, without @json
 */
struct output {
	bool		json;
	bool		pretty;
	size_t		nr;
	struct table	*table;
};

static void print_usage(FILE *to)
{
	fputs("usage: mpa [-j] [-p] [show] [FILTER]...\n"
	      "       mpa [-j] monitor [FILTER]...\n"
	      "       mpa help\n"
	      "       mpa -V\n"
	      "FILTER: sport PORT, dport PORT or sk COOKIE\n"
	      "-j: JSON; -p: with line breaks; -V: the version. See mpa(8).\n",
	      to);
}

static int mistake(const char *what, const char *word)
{
	fprintf(stderr, "mpa: %s '%s'\n", what, word);
	print_usage(stderr);
	return STATUS_USAGE;
}

void *or_die(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "mpa: no memory\n");
	exit(STATUS_FAILED);
}

/* Returns false unless @text is a number from 1 to @max, with nothing after. */
static bool number(const char *text, int base, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return !errno && *text != '-' && end != text && !*end && *value &&
	       *value <= max;
}

/* Returns 0, or the status after a mistake. */
static int parse_filter(char **words, struct filter *filter)
{
	uint64_t value;

	for (; *words; words += 2) {
		bool sk = !strcmp(*words, "sk");

		if (!sk && strcmp(*words, "sport") && strcmp(*words, "dport"))
			return mistake("unknown word", *words);
		if (!words[1])
			return mistake("a number is missing after", *words);
		if (!number(words[1], sk ? 16 : 10, sk ? UINT64_MAX : 65535,
			    &value))
			return mistake("not a number for this:", words[1]);
		if (sk)
			filter->cookie = value;
		else if (**words == 's')
			filter->sport = value;
		else
			filter->dport = value;
	}
	return 0;
}

static void show_conn(uint8_t cmd, const struct conn *conn, void *arg)
{
	struct output *out = arg;

	(void)cmd;
	if (!out->json) {
		table_add(out->table, conn);
		return;
	}
	printf("%s%s", out->nr++ ? "," : "", out->pretty ? "\n  " : "");
	json_conn(stdout, conn, NULL, out->pretty ? "\n    " : "");
}

static bool show(struct netlink *nl, const struct filter *filter,
		 struct output *out)
{
	bool good;

	if (out->json)
		putchar('[');
	else
		out->table = table_new();
	good = netlink_show(nl, filter, show_conn, out);
	if (out->json)
		printf("%s]\n", out->pretty && out->nr ? "\n" : "");
	else
		table_print(out->table);
	return good;
}

static void show_event(uint8_t cmd, const struct conn *conn, void *arg)
{
	const struct output *out = arg;
	const char *event;

	if (cmd == MPA_CMD_CONN_ESTABLISHED_NTF)
		event = "established";
	else if (cmd == MPA_CMD_CONN_ENDED_NTF)
		event = "ended";
	else
		return;
	if (out->json) {
		json_conn(stdout, conn, event, "");
		putchar('\n');
	} else {
		event_print(conn, event);
	}
	fflush(stdout);
}

/* Returns the status of the command. */
static int finish(bool good)
{
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "mpa: writing: %s\n", strerror(errno));
		return STATUS_FAILED;
	}
	return good ? 0 : STATUS_FAILED;
}

int main(int argc, char **argv)
{
	struct filter filter = {};
	struct output out = {};
	bool monitor, good;
	struct netlink *nl;
	int opt, status;

	while ((opt = getopt(argc, argv, "+hjpV")) != -1) {
		switch (opt) {
		case 'j':
			out.json = true;
			break;
		case 'p':
			out.pretty = true;
			break;
		case 'h':
			print_usage(stdout);
			return finish(true);
		case 'V':
			puts("mpa " MPA_VERSION);
			return finish(true);
		default:
			print_usage(stderr);
			return STATUS_USAGE;
		}
	}
	argv += optind;
	if (*argv && !strcmp(*argv, "help")) {
		print_usage(stdout);
		return finish(true);
	}
	monitor = *argv && !strcmp(*argv, "monitor");
	if (monitor || (*argv && !strcmp(*argv, "show")))
		argv++;
	status = parse_filter(argv, &filter);
	if (status)
		return status;

	nl = netlink_open();
	if (!nl)
		return STATUS_FAILED;
	if (monitor)
		good = netlink_monitor(nl, &filter, show_event, &out);
	else
		good = show(nl, &filter, &out);
	netlink_close(nl);
	return finish(good);
}

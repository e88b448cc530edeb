// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections as a table, columns as wide as needed, and events as lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "mpa.h"

enum {
	STATE, ROLE, REV, LOCAL, PEER, FLAGS, EMSS, MULPDU, TX_ULPDUS,
	TX_OCTETS, RX_ULPDUS, RX_OCTETS, OOO, PINNED, END, SK, COLUMNS,
};

static const struct {
	const char	*title;
	int		attr;	/* of a number, aligned to the right */
} columns[COLUMNS] = {
	[STATE]		= { "STATE" },
	[ROLE]		= { "ROLE" },
	[REV]		= { "REV", MPA_A_CONN_REVISION },
	[LOCAL]		= { "LOCAL" },
	[PEER]		= { "PEER" },
	[FLAGS]		= { "FLAGS" },
	[EMSS]		= { "EMSS", MPA_A_CONN_EMSS },
	[MULPDU]	= { "MULPDU", MPA_A_CONN_MULPDU },
	[TX_ULPDUS]	= { "TX-ULPDUS", MPA_A_CONN_TX_ULPDUS },
	[TX_OCTETS]	= { "TX-OCTETS", MPA_A_CONN_TX_OCTETS },
	[RX_ULPDUS]	= { "RX-ULPDUS", MPA_A_CONN_RX_ULPDUS },
	[RX_OCTETS]	= { "RX-OCTETS", MPA_A_CONN_RX_OCTETS },
	[OOO]		= { "OOO", MPA_A_CONN_OOO_ULPDUS },
	[PINNED]	= { "PINNED", MPA_A_CONN_RX_PINNED },
	[END]		= { "END" },
	[SK]		= { "SK" },
};

struct row {
	char	*cell[COLUMNS];
};

/**
 * struct table - rows to print
 * @row: the rows; the first has the titles
 * @nr: number of rows
 * @room: size of @row, in rows
 * @width: characters of the widest cell of each column
 */
struct table {
	struct row	*row;
	size_t		nr;
	size_t		room;
	size_t		width[COLUMNS];
};

static struct row *table_row(struct table *table)
{
	if (table->nr == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->row = or_die(realloc(table->row, table->room *
						sizeof(*table->row)));
	}
	return &table->row[table->nr++];
}

static void table_set(struct table *table, struct row *row, int column,
		      const char *text)
{
	size_t len;

	if (!text || !*text)
		text = "-";
	len = strlen(text);
	row->cell[column] = or_die(strdup(text));
	if (table->width[column] < len)
		table->width[column] = len;
}

struct table *table_new(void)
{
	struct table *table = or_die(calloc(1, sizeof(*table)));
	struct row *row = table_row(table);
	int i;

	for (i = 0; i < COLUMNS; i++)
		table_set(table, row, i, columns[i].title);
	return table;
}

static void cell_text(const struct conn *conn, int column, char *to,
		      size_t size)
{
	const char *word = NULL;

	switch (column) {
	case STATE:
		word = conn_word(conn, MPA_A_CONN_STATE);
		break;
	case ROLE:
		word = conn_word(conn, MPA_A_CONN_ROLE);
		break;
	case END:
		word = conn_word(conn, MPA_A_CONN_END_REASON);
		break;
	case LOCAL:
	case PEER:
		conn_end(conn, to, size, column == PEER);
		return;
	case FLAGS:
		conn_flags(conn, ",", to, size);
		return;
	case SK:
		snprintf(to, size, "%" PRIx64, conn->num[MPA_A_CONN_COOKIE]);
		return;
	default:
		if (conn->has[columns[column].attr])
			snprintf(to, size, "%" PRIu64,
				 conn->num[columns[column].attr]);
		return;
	}
	if (word)
		snprintf(to, size, "%s", word);
}

void table_add(struct table *table, const struct conn *conn)
{
	struct row *row = table_row(table);
	int i;

	for (i = 0; i < COLUMNS; i++) {
		char text[TEXT_MAX] = "";

		cell_text(conn, i, text, sizeof(text));
		table_set(table, row, i, text);
	}
}

void table_print(const struct table *table)
{
	size_t r;
	int i;

	for (r = 0; r < table->nr; r++)
		for (i = 0; i < COLUMNS; i++) {
			int width = table->width[i];

			/* No blanks at the end of a line */
			if (i == COLUMNS - 1)
				printf("%s\n", table->row[r].cell[i]);
			else
				printf("%*s ", columns[i].attr ? width : -width,
				       table->row[r].cell[i]);
		}
}

static void print_number(const struct conn *conn, const char *name, int attr)
{
	if (conn->has[attr])
		printf(" %s %" PRIu64, name, conn->num[attr]);
}

/* One line for an event */
void event_print(const struct conn *conn, const char *event)
{
	const char *role = conn_word(conn, MPA_A_CONN_ROLE);
	const char *reason = conn_word(conn, MPA_A_CONN_END_REASON);
	char local[TEXT_MAX], peer[TEXT_MAX], flags[TEXT_MAX];

	conn_end(conn, local, sizeof(local), false);
	conn_end(conn, peer, sizeof(peer), true);
	printf("%s sk %" PRIx64 " local %s peer %s", event,
	       conn->num[MPA_A_CONN_COOKIE], local, peer);
	if (role)
		printf(" role %s", role);
	print_number(conn, "rev", MPA_A_CONN_REVISION);
	conn_flags(conn, ",", flags, sizeof(flags));
	if (*flags)
		printf(" flags %s", flags);
	if (reason) {
		printf(" reason %s", reason);
		print_number(conn, "code", MPA_A_CONN_END_CODE);
		print_number(conn, "errno", MPA_A_CONN_END_ERRNO);
		print_number(conn, "tx-octets", MPA_A_CONN_TX_OCTETS);
		print_number(conn, "rx-octets", MPA_A_CONN_RX_OCTETS);
	}
	putchar('\n');
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A connection as a JSON object */
#include <inttypes.h>
#include "mpa.h"

static const struct {
	int		attr;
	const char	*key;
} numbers[] = {
	{ MPA_A_CONN_LOCAL_PORT, "local_port" },
	{ MPA_A_CONN_PEER_PORT, "peer_port" },
	{ MPA_A_CONN_REVISION, "revision" },
	{ MPA_A_CONN_PEER_REVISION, "peer_revision" },
	{ MPA_A_CONN_EMSS, "emss" },
	{ MPA_A_CONN_MULPDU, "mulpdu" },
	{ MPA_A_CONN_TX_ULPDUS, "tx_ulpdus" },
	{ MPA_A_CONN_TX_OCTETS, "tx_octets" },
	{ MPA_A_CONN_RX_ULPDUS, "rx_ulpdus" },
	{ MPA_A_CONN_RX_OCTETS, "rx_octets" },
	{ MPA_A_CONN_OOO_ULPDUS, "ooo_ulpdus" },
	{ MPA_A_CONN_OOO_OCTETS, "ooo_octets" },
	{ MPA_A_CONN_OOO_DELIVERED, "ooo_delivered" },
	{ MPA_A_CONN_RX_PINNED, "rx_pinned" },
	{ MPA_A_CONN_IRD, "ird" },
	{ MPA_A_CONN_ORD, "ord" },
	{ MPA_A_CONN_END_CODE, "end_code" },
	{ MPA_A_CONN_END_ERRNO, "end_errno" },
};

static const struct {
	int		attr;
	const char	*key;
} words[] = {
	{ MPA_A_CONN_STATE, "state" },
	{ MPA_A_CONN_ROLE, "role" },
	{ MPA_A_CONN_END_REASON, "end_reason" },
};

/*
 * Addresses alone may need an escape, for the name of their interface: the
 * words and flags are ours.
 */
static void json_string(FILE *to, const char *text)
{
	const char *c;

	fputc('"', to);
	for (c = text; *c; c++) {
		if ((unsigned char)*c < 0x20)
			fprintf(to, "\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

/*
 * Print @conn, each member after @indent; the first one is @event unless that
 * is NULL. A member that the kernel did not give is left out.
 */
void json_conn(FILE *to, const struct conn *conn, const char *event,
	       const char *indent)
{
	char text[TEXT_MAX];
	size_t i;

	fputc('{', to);
	if (event)
		fprintf(to, "%s\"event\":\"%s\",", indent, event);
	fprintf(to, "%s\"cookie\":%" PRIu64, indent,
		conn->num[MPA_A_CONN_COOKIE]);
	conn_address(conn, false, text, sizeof(text));
	fprintf(to, ",%s\"local_addr\":", indent);
	json_string(to, text);
	conn_address(conn, true, text, sizeof(text));
	fprintf(to, ",%s\"peer_addr\":", indent);
	json_string(to, text);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (conn->has[words[i].attr])
			fprintf(to, ",%s\"%s\":\"%s\"", indent, words[i].key,
				conn_word(conn, words[i].attr));
	conn_flags(conn, "\",\"", text, sizeof(text));
	fprintf(to, *text ? ",%s\"flags\":[\"%s\"]" : ",%s\"flags\":[%s]",
		indent, text);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (conn->has[numbers[i].attr])
			fprintf(to, ",%s\"%s\":%" PRIu64, indent,
				numbers[i].key, conn->num[numbers[i].attr]);
	fprintf(to, "%s}", *indent ? "\n  " : "");
}

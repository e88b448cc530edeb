// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The text of steps. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Good until the next call */
const char *to_hex(const uint8_t *octets, size_t len)
{
	static char text[2 * 65536 + 1];
	size_t i;

	for (i = 0; i < len && i < 65536; i++)
		sprintf(text + 2 * i, "%02x", octets[i]);
	text[2 * i] = 0;
	return text;
}

bool field_next(char **rest, char **name, char **value)
{
	char *field = strsep(rest, ",");

	if (!field)
		return false;
	*name = strsep(&field, "=");
	*value = field;
	return true;
}

long field_number(const char *name, const char *value, long max)
{
	char *end;
	long number;

	if (!value || !*value)
		misused("%s: a number is missing", name);
	number = strtol(value, &end, 0);
	if (*end || number < 0 || number > max)
		misused("%s=%s: not a number up to %ld", name, value, max);
	return number;
}

/* Octets of a received ULPDU, by a letter */
static struct {
	uint8_t	octets[8];
	size_t	len;
} kept[26];

void field_keep(char name, const uint8_t *octets, size_t len)
{
	if (name < 'a' || name > 'z' || len > sizeof(kept[0].octets))
		misused("keep: a letter, and up to 8 octets");
	memcpy(kept[name - 'a'].octets, octets, len);
	kept[name - 'a'].len = len;
}

/*
 * "{k+0001}": the octets kept as k, as a number, plus 1. It has as many
 * characters as the octets have digits. Returns how many octets these are.
 */
static size_t put_kept(const char *text, uint8_t *to)
{
	size_t len, i;
	uint64_t sum;
	char *end;

	sum = strtoll(text + (text[1] ? 2 : 1), &end, 10);
	len = (end + 1 - text) / 2;
	if (text[1] < 'a' || text[1] > 'z' || *end != '}' ||
	    (end + 1 - text) % 2 || kept[text[1] - 'a'].len != len)
		misused("%.20s: nothing kept of that name and length", text);
	for (i = len; i-- > 0; sum >>= 8) {
		sum += kept[text[1] - 'a'].octets[i];
		to[i] = sum;
	}
	return len;
}

size_t field_hex(const char *name, const char *value, uint8_t *to, size_t max)
{
	size_t digits = value ? strlen(value) : 0, i;

	if (!value || digits % 2 || digits / 2 > max)
		misused("%s: not hexadecimal, or too long", name);
	for (i = 0; i < digits / 2;) {
		const char *text = value + 2 * i;

		if (*text == '{') {
			i += put_kept(text, to + i);
			continue;
		}
		if (!isxdigit(text[0]) || !isxdigit(text[1]))
			misused("%s: not hexadecimal", name);
		sscanf(text, "%2hhx", &to[i++]);
	}
	return i;
}

/* In milliseconds */
int field_seconds(const char *name, const char *value)
{
	double seconds;
	char *end;

	if (!value || !*value)
		misused("%s: how many seconds?", name);
	seconds = strtod(value, &end);
	if (*end || !(seconds >= 0 && seconds < 1000))
		misused("%s: %s are not seconds", name, value);
	return seconds * 1000;
}

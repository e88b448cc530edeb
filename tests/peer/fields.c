// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The text of steps. */
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

size_t field_hex(const char *name, const char *value, uint8_t *to, size_t max)
{
	size_t digits = value ? strlen(value) : 0, i;

	if (!value || digits % 2 || digits / 2 > max ||
	    strspn(value, "0123456789abcdefABCDEF") != digits)
		misused("%s: not hexadecimal, or too long", name);
	for (i = 0; i < digits / 2; i++)
		sscanf(value + 2 * i, "%2hhx", &to[i]);
	return digits / 2;
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

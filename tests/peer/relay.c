// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Two connections, with a bit flipped between them. */
#include <poll.h>
#include <string.h>

#include "peer.h"

/* One direction */
struct way {
	struct conn	*from;
	struct conn	*to;
	size_t		passed;
	long		altered;	/* octet; below 0: none */
	bool		over;
};

static void alter(struct way *w, uint8_t *octets, size_t len)
{
	if (w->altered < 0 || (size_t)w->altered < w->passed ||
	    (size_t)w->altered >= w->passed + len)
		return;
	octets[w->altered - w->passed] ^= 1 << w->altered % 8;
	say("octet %ld of %zu altered", w->altered, w->passed + len);
}

static void pass(struct way *w)
{
	struct conn *from = w->from;
	uint8_t *octets = from->in + from->in_from;
	size_t len = from->in_to - from->in_from;

	alter(w, octets, len);
	conn_send(w->to, octets, len);
	from->in_from = from->in_to;
	w->passed += len;
	if (from->ended == OPEN)
		return;
	conn_act(w->to, from->ended == FIN ? SEND_FIN : SEND_RST);
	w->over = true;
}

static bool reset(const struct way *w)
{
	return w->from->ended == RESET || w->to->ended == GONE || w->to->reset;
}

/* Wait for octets of either; false if none come. */
static bool wait_both(const struct way *there, const struct way *back)
{
	struct pollfd pfd[2] = {
		{ .fd = there->over ? -1 : there->from->fd, .events = POLLIN },
		{ .fd = back->over ? -1 : back->from->fd, .events = POLLIN },
	};

	return poll(pfd, 2, there->from->timeout) > 0;
}

static void pass_ready(struct way *w)
{
	if (!w->over && conn_wait(w->from, 0))
		pass(w);
}

/* Until both have ended it, one has reset it, or nothing comes. */
void relay_run(struct conn *client, struct conn *server, const char *what)
{
	struct way there = { .from = client, .to = server, .altered = -1 };
	struct way back = { .from = server, .to = client, .altered = -1 };

	if (!strncmp(what, "there:", 6))
		there.altered = field_number("there", what + 6, 1 << 30);
	else if (!strncmp(what, "back:", 5))
		back.altered = field_number("back", what + 5, 1 << 30);
	else
		misused("there:N or back:N, not %s", what);
	while (!there.over || !back.over) {
		if (!wait_both(&there, &back))
			break;
		pass_ready(&there);
		pass_ready(&back);
		if (reset(&there) || reset(&back))
			break;
	}
	if (there.over && back.over)
		return;
	conn_act(client, SEND_RST);
	conn_act(server, SEND_RST);
}

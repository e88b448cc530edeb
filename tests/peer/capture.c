// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Captures of tcpdump: TCP connections from their SYN on. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "peer.h"

#define TH_FIN		0x01
#define TH_SYN		0x02
#define TH_RST		0x04
#define TH_ACK		0x10

#define ETHER_LEN	14
#define PCAP_LEN	24
#define RECORD_LEN	16
#define ESP_HEAD	8
#define ESP_TAIL	18	/* ICV, next header, length of the pad */
#define MAGIC_US	0xa1b2c3d4
#define MAGIC_NS	0xa1b23c4d

enum { OPT_END, OPT_NOP, OPT_MSS, OPT_SHIFT };

/* A TCP header, taken apart */
struct header {
	struct end	from;
	struct end	to;
	const uint8_t	*tcp;
	size_t		len;		/* with the payload */
	unsigned int	packet;		/* octets of the IP packet */
};

static uint32_t get32(const uint8_t *from)
{
	return (uint32_t)from[0] << 24 | from[1] << 16 | from[2] << 8 | from[3];
}

/* The offset that a sequence number near the highest means */
static uint64_t offset_of(const struct side *s, uint32_t seq)
{
	return s->highest + (int32_t)(seq - s->isn - 1 - (uint32_t)s->highest);
}

/* The value of an option, or NULL */
static const uint8_t *option(const struct header *h, int kind)
{
	size_t end = (h->tcp[12] >> 4) * 4, at = 20;

	while (at < end && h->tcp[at] != OPT_END) {
		if (h->tcp[at] == OPT_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= end || h->tcp[at + 1] < 2)
			break;
		if (h->tcp[at] == kind)
			return h->tcp + at + 2;
		at += h->tcp[at + 1];
	}
	return NULL;
}

static void take_syn(struct side *s, const struct header *h)
{
	const uint8_t *shift, *mss;

	s->begun = true;
	s->isn = get32(h->tcp + 4);
	shift = option(h, OPT_SHIFT);
	s->shift = shift ? *shift : 0;
	mss = option(h, OPT_MSS);
	s->mss = mss ? get16(mss) : 536;
}

/* Use the ACK fields of the other end's segment for @s */
static void take_ack(struct side *s, const struct side *other,
		     const struct header *h)
{
	unsigned int shift = h->tcp[13] & TH_SYN ? 0 : other->shift;
	uint64_t acked, edge;

	if (!(h->tcp[13] & TH_ACK) || !s->begun)
		return;
	acked = offset_of(s, get32(h->tcp + 8));
	if (acked > s->told)
		s->told = acked;
	/* The SYN, or an acknowledged FIN, has no offset of its own. */
	if (acked > s->highest)
		acked = s->highest;
	edge = acked + ((uint32_t)get16(h->tcp + 14) << shift);
	if (edge > s->edge)
		s->edge = edge;
}

static struct segment *new_segment(struct side *s)
{
	if (s->nr == s->space) {
		s->space = s->space * 2 + 1024;
		s->segment = realloc(s->segment,
				     s->space * sizeof(*s->segment));
		if (!s->segment)
			wrong("no memory");
	}
	memset(&s->segment[s->nr], 0, sizeof(*s->segment));
	return &s->segment[s->nr++];
}

static void take_payload(struct side *s, const struct header *h, size_t frame)
{
	size_t head = (h->tcp[12] >> 4) * 4;
	uint64_t at = offset_of(s, get32(h->tcp + 4));
	struct segment *seg;

	if ((int64_t)at < 0)
		return;
	if (h->tcp[13] & TH_FIN) {
		s->ended = true;
		s->fin = at + h->len - head;
	}
	if (h->len == head)
		return;
	seg = new_segment(s);
	seg->frame = frame;
	seg->at = at;
	seg->end = at + h->len - head;
	seg->edge = s->edge;
	seg->octets = h->tcp + head;
	seg->length = h->packet;
	seg->again = at < s->highest;
	if (seg->end > s->highest)
		s->highest = seg->end;
}

static bool same_end(const struct end *a, const struct end *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* A SYN from an end that has sent another one opens another connection. */
static bool is_new(const struct side *s, const struct header *h)
{
	return (h->tcp[13] & (TH_SYN | TH_ACK)) == TH_SYN && s->begun &&
	       s->isn != get32(h->tcp + 4);
}

static struct connection *new_connection(struct capture *c,
					 const struct header *h)
{
	struct connection *new;

	c->connection = realloc(c->connection,
				(c->nr + 1) * sizeof(*c->connection));
	if (!c->connection)
		wrong("no memory");
	new = &c->connection[c->nr++];
	memset(new, 0, sizeof(*new));
	new->side[0].end = h->from;
	new->side[1].end = h->to;
	return new;
}

/* The connection of a segment, and the side that sent it */
static struct connection *connection_of(struct capture *c,
					const struct header *h, int *side)
{
	struct connection *found;
	size_t i;

	for (i = c->nr; i-- > 0;) {
		found = &c->connection[i];
		*side = same_end(&found->side[1].end, &h->from);
		if (same_end(&found->side[*side].end, &h->from) &&
		    same_end(&found->side[!*side].end, &h->to)) {
			if (is_new(&found->side[*side], h))
				break;
			return found;
		}
	}
	*side = 0;
	return new_connection(c, h);
}

static void take_tcp(struct capture *c, const struct header *h)
{
	struct connection *at;
	struct side *from;
	int side;

	at = connection_of(c, h, &side);
	from = &at->side[side];
	if (h->tcp[13] & TH_SYN)
		take_syn(from, h);
	else if (!from->begun && h->len > (size_t)(h->tcp[12] >> 4) * 4)
		wrong("the capture lacks a SYN");
	if (h->tcp[13] & TH_RST) {
		from->reset = true;
		return;
	}
	take_ack(&at->side[!side], from, h);
	if (!(h->tcp[13] & TH_SYN) && from->begun)
		take_payload(from, h, c->frames);
	if (h->packet > from->longest)
		from->longest = h->packet;
}

/* Returns true if an IP packet holds TCP; fills @h. */
static bool take_ip(const uint8_t *ip, size_t len, struct header *h)
{
	bool v6 = len && ip[0] >> 4 == 6;
	size_t head = v6 ? 40 : (ip[0] & 15) * 4, tail = 0;
	size_t source = v6 ? 8 : 12, size = v6 ? 16 : 4;
	uint8_t protocol;

	if (len < (v6 ? 40 : 20) || len < head)
		return false;
	protocol = v6 ? ip[6] : ip[9];
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_ESP)
		return false;
	h->packet = v6 ? 40 + get16(ip + 4) : get16(ip + 2);
	if (h->packet > len)
		wrong("a packet of %u octets was captured to %zu only",
		      h->packet, len);
	if (!v6 && get16(ip + 6) & 0x3fff)
		wrong("the capture has IP fragments");
	if (protocol == IPPROTO_ESP) {
		head += ESP_HEAD;
		if (h->packet < head + ESP_TAIL)
			wrong("an ESP packet is cut short");
		tail = ESP_TAIL + ip[h->packet - ESP_TAIL];
		/* No encrypted one can be read. */
		if (ip[h->packet - ESP_TAIL + 1] != IPPROTO_TCP)
			return false;
	}
	if (h->packet < head + tail + 20)
		wrong("a TCP header is cut short");
	h->tcp = ip + head;
	h->len = h->packet - head - tail;
	if (h->len < (size_t)(h->tcp[12] >> 4) * 4)
		wrong("a TCP header is cut short");
	memset(&h->from, 0, sizeof(h->from));
	memcpy(h->from.address, ip + source, size);
	h->from.v6 = v6;
	h->to = h->from;
	memcpy(h->to.address, ip + source + size, size);
	h->from.port = get16(h->tcp);
	h->to.port = get16(h->tcp + 2);
	return true;
}

static void take_frame(struct capture *c, const uint8_t *frame, size_t len)
{
	uint16_t kind = len < ETHER_LEN ? 0 : get16(frame + 12);
	struct header h;

	c->frames++;
	if (kind != 0x0800 && kind != 0x86dd)
		return;
	if (take_ip(frame + ETHER_LEN, len - ETHER_LEN, &h))
		take_tcp(c, &h);
}

static const uint8_t *map_file(const char *name, size_t *len)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st))
		misused("cannot read %s", name);
	*len = st.st_size;
	at = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		misused("cannot map %s", name);
	close(fd);
	return at;
}

/* A file of this machine's byte order, of Ethernet */
void capture_read(struct capture *c, const char *file)
{
	uint32_t head[PCAP_LEN / 4], record[RECORD_LEN / 4];
	size_t len, at = PCAP_LEN;
	const uint8_t *octets = map_file(file, &len);

	memset(c, 0, sizeof(*c));
	if (len < PCAP_LEN)
		wrong("%s is no capture", file);
	memcpy(head, octets, sizeof(head));
	if ((head[0] != MAGIC_US && head[0] != MAGIC_NS) || head[5] != 1)
		wrong("%s is no capture of Ethernet", file);
	while (at + RECORD_LEN <= len) {
		memcpy(record, octets + at, sizeof(record));
		at += RECORD_LEN;
		if (record[2] > len - at)
			wrong("%s ends in a frame", file);
		take_frame(c, octets + at, record[2]);
		at += record[2];
	}
}

/* The address alone; false if it is none. */
bool end_parse(struct end *e, const char *address)
{
	memset(e, 0, sizeof(*e));
	e->v6 = strchr(address, ':') != NULL;
	return inet_pton(e->v6 ? AF_INET6 : AF_INET, address, e->address) == 1;
}

bool side_is(const struct side *s, const struct end *address)
{
	return s->end.v6 == address->v6 &&
	       !memcmp(s->end.address, address->address,
		       sizeof(address->address));
}

/* Good until the next call but one */
const char *end_name(const struct end *e)
{
	static char name[2][INET6_ADDRSTRLEN + 8];
	static int turn;
	char address[INET6_ADDRSTRLEN];

	turn = !turn;
	inet_ntop(e->v6 ? AF_INET6 : AF_INET, e->address, address,
		  sizeof(address));
	sprintf(name[turn], e->v6 ? "[%s]:%u" : "%s:%u", address, e->port);
	return name[turn];
}

/* Longest packet that the MSS of both ends allows; 0 if one is not known */
unsigned int connection_full(const struct connection *c)
{
	unsigned int mss = c->side[0].mss;

	if (c->side[1].mss < mss)
		mss = c->side[1].mss;
	return mss ? mss + (c->side[0].end.v6 ? 60 : 40) : 0;
}

/* Returns how many octets there are before a hole, or in all. */
size_t side_octets(const struct side *s, uint8_t **octets)
{
	uint8_t *known = calloc(s->highest + 1, 1);
	const struct segment *seg;
	uint64_t at;

	*octets = malloc(s->highest + 1);
	if (!known || !*octets)
		wrong("no memory");
	for (seg = s->segment; seg < s->segment + s->nr; seg++)
		for (at = seg->at; at < seg->end; at++) {
			uint8_t octet = seg->octets[at - seg->at];

			if (known[at] && (*octets)[at] != octet)
				wrong("a retransmission differs at %llu",
				      (unsigned long long)at);
			(*octets)[at] = octet;
			known[at] = 1;
		}
	for (at = 0; known[at]; at++)
		;
	free(known);
	return at;
}

/* True if @have octets are all, but for those that a reset may have kept */
bool side_complete(const struct side *s, size_t have, bool reset)
{
	uint64_t end = s->highest > s->told ? s->highest : s->told;

	if (s->ended)
		end = s->fin;
	if (reset && s->told < end)
		end = s->told;
	return have >= end;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Captures of tcpdump with one TCP connection, its SYN included. */
#include <arpa/inet.h>
#include <fcntl.h>
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
#define MAGIC_US	0xa1b2c3d4
#define MAGIC_NS	0xa1b23c4d

enum { OPT_END, OPT_NOP, OPT_MSS, OPT_SHIFT, OPT_SACK = 5 };

/* A TCP header, taken apart */
struct header {
	const uint8_t	*tcp;
	size_t		len;		/* with the payload */
	unsigned int	packet;		/* octets of the IP packet */
	bool		out;
};

static uint32_t get32(const uint8_t *from)
{
	return (uint32_t)from[0] << 24 | from[1] << 16 | from[2] << 8 | from[3];
}

static uint16_t get16(const uint8_t *from)
{
	return from[0] << 8 | from[1];
}

/* The offset that a sequence number near the highest means */
static uint64_t offset_of(const struct side *s, uint32_t seq)
{
	return s->highest + (int32_t)(seq - s->isn - 1 - (uint32_t)s->highest);
}

/* The value of an option, or NULL; @len is its length with kind and length. */
static const uint8_t *option(const struct header *h, int kind, size_t *len)
{
	size_t end = (h->tcp[12] >> 4) * 4, at = 20;

	while (at < end && h->tcp[at] != OPT_END) {
		if (h->tcp[at] == OPT_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= end || h->tcp[at + 1] < 2)
			break;
		*len = h->tcp[at + 1];
		if (h->tcp[at] == kind)
			return h->tcp + at + 2;
		at += *len;
	}
	*len = 0;
	return NULL;
}

static void take_syn(struct side *s, const struct header *h)
{
	uint32_t isn = get32(h->tcp + 4);
	const uint8_t *shift, *mss;
	size_t len;

	if (s->begun && s->isn != isn)
		wrong("more than one connection");
	s->begun = true;
	s->isn = isn;
	shift = option(h, OPT_SHIFT, &len);
	s->shift = shift ? *shift : 0;
	mss = option(h, OPT_MSS, &len);
	s->mss = mss ? get16(mss) : 536;
}

static void set_full(struct capture *c)
{
	unsigned int mss = c->in.mss;

	if (!c->out.begun || !c->in.begun)
		wrong("the capture lacks a SYN");
	if (c->out.mss < mss)
		mss = c->out.mss;
	c->full = mss + (c->address_len == 4 ? 40 : 60);
	if (c->longest > c->full)
		wrong("a packet of %u octets, where %u are allowed",
		      c->longest, c->full);
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
	/* The SYN, or an acknowledged FIN, has no offset of its own. */
	if (acked > s->highest)
		acked = s->highest;
	edge = acked + ((uint32_t)get16(h->tcp + 14) << shift);
	if (acked > s->acked)
		s->acked = acked;
	if (edge > s->edge)
		s->edge = edge;
}

static struct segment *new_segment(struct side *s)
{
	if (s->nr == s->space) {
		s->space = s->space * 2 + 1024;
		s->segment = realloc(s->segment, s->space * sizeof(*s->segment));
		if (!s->segment)
			wrong("no memory");
	}
	memset(&s->segment[s->nr], 0, sizeof(*s->segment));
	return &s->segment[s->nr++];
}

static void take_payload(struct side *s, const struct header *h, uint64_t time)
{
	size_t head = (h->tcp[12] >> 4) * 4, sack;
	uint64_t at = offset_of(s, get32(h->tcp + 4));
	struct segment *seg;

	if (h->len == head || (int64_t)at < 0)
		return;
	seg = new_segment(s);
	seg->time = time;
	seg->at = at;
	seg->end = at + h->len - head;
	seg->acked = s->acked;
	seg->edge = s->edge;
	seg->octets = h->tcp + head;
	seg->length = h->packet;
	seg->options = head - 20;
	option(h, OPT_SACK, &sack);
	seg->sack = (sack + 3) & ~3u;
	seg->again = at < s->highest;
	if (seg->end > s->highest)
		s->highest = seg->end;
}

static void take_tcp(struct capture *c, const struct header *h, uint64_t time)
{
	struct side *from = h->out ? &c->out : &c->in;
	struct side *to = h->out ? &c->in : &c->out;

	if (h->len < 20 || h->len < (size_t)(h->tcp[12] >> 4) * 4)
		wrong("a TCP header is cut short");
	if (h->tcp[13] & TH_SYN)
		take_syn(from, h);
	if (!from->begun)
		wrong("the capture lacks a SYN");
	if (h->tcp[13] & TH_RST)
		return;
	take_ack(to, from, h);
	if (!(h->tcp[13] & TH_SYN))
		take_payload(from, h, time);
	if (h->out && h->packet > c->longest)
		c->longest = h->packet;
}

/* Returns true if an IP packet holds TCP; fills @h. */
static bool take_ip(const struct capture *c, const uint8_t *ip, size_t len,
		    struct header *h)
{
	bool v6 = len && ip[0] >> 4 == 6;
	const uint8_t *source = ip + (v6 ? 8 : 12);
	size_t head = v6 ? 40 : (ip[0] & 15) * 4;

	if (len < head || (v6 ? ip[6] : ip[9]) != 6 ||
	    c->address_len != (v6 ? 16 : 4))
		return false;
	h->packet = v6 ? 40 + get16(ip + 4) : get16(ip + 2);
	if (h->packet > len)
		wrong("a packet of %u octets was captured to %zu only",
		      h->packet, len);
	h->tcp = ip + head;
	h->len = h->packet - head;
	h->out = !memcmp(source, c->address, c->address_len);
	return true;
}

static void take_frame(struct capture *c, const uint8_t *frame, size_t len,
		       uint64_t time)
{
	uint16_t kind = len < ETHER_LEN ? 0 : get16(frame + 12);
	struct header h;

	if (kind != 0x0800 && kind != 0x86dd)
		return;
	if (take_ip(c, frame + ETHER_LEN, len - ETHER_LEN, &h))
		take_tcp(c, &h, time);
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
void capture_read(struct capture *c, const char *file, const char *address)
{
	uint32_t head[PCAP_LEN / 4], record[RECORD_LEN / 4];
	size_t len, at = PCAP_LEN;
	const uint8_t *octets = map_file(file, &len);

	memset(c, 0, sizeof(*c));
	c->address_len = strchr(address, ':') ? 16 : 4;
	if (inet_pton(c->address_len == 4 ? AF_INET : AF_INET6, address,
		      c->address) != 1)
		misused("%s is no address", address);
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
		take_frame(c, octets + at, record[2],
			   record[0] * 1000000ull + (head[0] == MAGIC_US ?
			   record[1] : record[1] / 1000));
		at += record[2];
	}
	set_full(c);
}

/* The first @len octets of a stream, or as many as there are before a hole */
size_t capture_octets(const struct side *s, uint8_t *to, size_t len)
{
	size_t have = 0, n, known, i;
	const struct segment *seg;

	for (i = 0; i < s->nr && have < len; i++) {
		seg = &s->segment[i];
		if (seg->at > have)
			continue;
		known = have - seg->at;
		n = seg->end - seg->at;
		if (known < n) {
			n = n - known > len - have ? len - have : n - known;
			memcpy(to + have, seg->octets + known, n);
			have += n;
		}
	}
	return have;
}

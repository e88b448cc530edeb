/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mpa-many: thousands of MPA connections from user space, see main.c. Written
 * from RFC 5044; shares nothing with the module.
 */
#ifndef MPA_MANY_H
#define MPA_MANY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "../../peer/say.h"

#define FRAME		20	/* Request or Reply without private data */
#define PD_MAX		512
#define FPDU_MAX(size)	((size) + 9)

/* main.c: options, "name=value" */
const char *option(const char *name);
unsigned long number(const char *name, unsigned long otherwise);
double now(void);
bool told_to_stop(void);

/* wire.c */
struct dice { uint64_t state; };

void dice_init(struct dice *dice, uint64_t seed, uint64_t a, uint64_t b);
uint32_t dice_roll(struct dice *dice, uint32_t below);
void dice_fill(struct dice *dice, uint8_t *to, size_t len);
size_t frame_build(uint8_t *to, bool reply, uint8_t rev, const uint8_t *pd,
		   size_t pd_len);
size_t fpdu_build(uint8_t *to, const uint8_t *ulpdu, size_t len);

/* net.c: sockets that do not block, to the one address of the command */
void net_init(char **argv);
int net_connect(unsigned long id);
int net_error(int fd);
void net_reset(int fd);
bool net_refused(int err);
int net_listen(void);
int epoll_new(void);
void epoll_watch(int epoll, int fd, void *data);
ssize_t net_send(int fd, const uint8_t *octets, size_t len, size_t piece);

/* Commands */
int talk_main(void);
int hold_main(void);
int deaf_main(void);
int drip_main(void);
int plain_main(void);
int dirty_main(void);
int search_main(void);

#endif

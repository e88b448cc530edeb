// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections over real sockets on the loopback device, against a raw TCP
 * peer and against each other. The cases are in mpa_conn_*.c.
 */
#include "mpa_conn_test.h"

static void conn_run(struct kunit *test)
{
	((const struct conn_row *)test->param_value)->run(test);
}

static const struct conn_row attach_rows[] = {
	{ "DD-09: not TCP", conn_attach_not_tcp },
	{ "DD-09: not connected, listening", conn_attach_not_connected },
	{ "DD-09: sk_user_data has an owner", conn_attach_user_data },
	{ "DD-09: a ULP is on the socket", conn_attach_ulp },
	{ "no ULP comes on the socket of a connection", conn_attach_no_ulp },
	{ "a socket with a file keeps our ULP", conn_attach_ulp_kept },
	{ "DD-09: MPA is on the socket", conn_attach_twice },
	{ "parameters: callbacks, revision, flags", conn_attach_params },
	{ "parameters: request(), sent()", conn_attach_callbacks },
	{ "CS-01 CS-04 CS-39 CS-41 TX-14: nothing is touched before the start",
	  conn_attach_untouched },
};

KUNIT_ARRAY_PARAM_DESC(attach, attach_rows, desc);

static const struct conn_row startup_rows[] = {
	{ "TX-08: TCP_CORK was set before", conn_start_cork },
	{ "CS-01 CS-03: a Request that is there already", conn_start_unread },
	{ "CS-02 CS-11: calls in the wrong state", conn_start_wrong_state },
	{ "CS-06 CS-13 RF-01 RF-02 RF-11 RF-14 RF-16 RF-20: Request",
	  conn_start_initiator, 0 },
	{ "CS-14 CS-24 CS-25 CS-28: Request, 1 octet of private data",
	  conn_start_initiator, 1 },
	{ "RF-21 RF-23 RF-25 RF-27 MK-20: Request, 512 octets of private data",
	  conn_start_initiator, 512 },
	{ "CS-06 CS-10 CS-15 CS-21 RF-01 RF-04 RF-14 RF-16: Reply",
	  conn_start_responder, 0 },
	{ "CS-09 CS-22 CS-35 DD-10 DD-11: Reply, 1 octet of private data",
	  conn_start_responder, 1 },
	{ "RF-21 RF-23 RF-25 RF-27 MK-20: Reply, 512 octets of private data",
	  conn_start_responder, 512 },
	{ "RF-21: 513 octets of private data are refused",
	  conn_start_pd_too_long },
	{ "RF-21 RF-25: Rev 0, 512 octets", conn_start_rev0_pd, 512 },
	{ "RF-21 RF-25: Rev 0, 65535 octets", conn_start_rev0_pd, 65535 },
	{ "RF-21 RF-22: Rev 0, more than the consumer allows",
	  conn_start_rev0_pd_over },
	{ "CS-43 RX-11: Reply, octet by octet", conn_start_dribble,
	  CONN_INITIATOR },
	{ "CS-43 RX-11: Request, octet by octet", conn_start_dribble,
	  CONN_RESPONDER },
	{ "CS-05 MK-10 MK-19: no startup frames", conn_start_immediately },
	{ "CS-42: last streaming message", conn_start_last_message },
	{ "CS-23 CS-29: FPDUs glued to the Reply", conn_start_glued },
	{ "TD-02: FIN behind the Request", conn_start_request_fin },
	{ "TD-02: FIN behind the Reply", conn_start_reply_fin, 0 },
	{ "TD-02: FPDU and FIN behind the Reply", conn_start_reply_fin, 1 },
	{ "ER-02: FIN before MPA was attached", conn_start_close_wait },
};

KUNIT_ARRAY_PARAM_DESC(startup, startup_rows, desc);

static const struct conn_row frame_rows[] = {
	{ "CS-16 CS-34 CS-37 RF-03 ER-08: wrong key in a Request",
	  conn_start_key, CONN_RESPONDER },
	{ "CS-26 CS-34 RF-05 ER-08: wrong key in a Reply", conn_start_key,
	  CONN_INITIATOR },
	{ "CS-37 RF-03: first octets of something else",
	  conn_start_key_prefix },
	{ "CS-12 CS-30: Initiator meets Initiator", conn_start_role,
	  CONN_INITIATOR },
	{ "CS-30: Responder gets a Reply", conn_start_role, CONN_RESPONDER },
	{ "RF-22 RF-24 RF-26: Request, PD_Length 513", conn_start_pd_513,
	  CONN_RESPONDER },
	{ "RF-22 RF-24 RF-26: Reply, PD_Length 513", conn_start_pd_513,
	  CONN_INITIATOR },
	{ "RF-17 RF-18 VN-09: Request, Rev 2", conn_start_revision_request,
	  2 },
	{ "RF-17 RF-18 VN-09: Request, Rev 255", conn_start_revision_request,
	  255 },
	{ "VN-09 TD-05: strict, Request, Rev 0", conn_start_strict_request },
	{ "VN-09 TD-05: peer closes behind the refusal",
	  conn_start_refusal_fin },
	{ "VN-09 TD-05: peer does not close behind the refusal",
	  conn_start_refusal_stays },
	{ "RF-17 RF-18: Reply, Rev 2", conn_start_revision_reply, 2 },
	{ "RF-17 RF-18: Reply, Rev 255", conn_start_revision_reply, 255 },
	{ "VN-10 TD-05: strict, Reply, Rev 0", conn_start_strict_reply },
	{ "RF-22: FIN inside a Request", conn_start_truncated,
	  CONN_RESPONDER },
	{ "RF-22: FIN inside a Reply", conn_start_truncated, CONN_INITIATOR },
	{ "ER-02: FIN instead of a Request", conn_start_gone, true },
	{ "ER-02: RST instead of a Request", conn_start_gone, false },
	{ "CS-24 RF-22: octets behind a Request", conn_start_early },
	{ "CS-24: octets while the consumer decides",
	  conn_start_early_decide },
	{ "CS-16: urgent data instead of a Request", conn_start_urgent,
	  CONN_RESPONDER },
	{ "CS-26: urgent data instead of a Reply", conn_start_urgent,
	  CONN_INITIATOR },
	{ "RF-03 RF-05 RF-12 RF-13 RF-15 RF-17 RF-18 RF-22: vectors",
	  conn_start_vectors },
};

KUNIT_ARRAY_PARAM_DESC(frame, frame_rows, desc);

static const struct conn_row timeout_rows[] = {
	{ "CS-31: no Request", conn_start_timeout, 0 },
	{ "CS-32: 19 octets of a Request", conn_start_timeout, 19 },
	{ "CS-32: no Reply", conn_start_timeout_initiator },
	{ "CS-32: a Request too slow", conn_start_timeout_dribble },
	{ "CS-32: a Request that the peer does not read",
	  conn_start_timeout_send },
	{ "CS-31: no timer for the consumer", conn_start_no_timer },
};

KUNIT_ARRAY_PARAM_DESC(timeout, timeout_rows, desc);

static const struct conn_row crowd_rows[] = {
	{ "the oldest startup gives way", conn_crowd_oldest },
	{ "as many startups as there is room for", conn_crowd_room },
	{ "room for fewer startups than there are", conn_crowd_lowered },
	{ "a complete Request gives way to none", conn_crowd_decide },
	{ "nor does an Initiator", conn_crowd_initiator },
	{ "a Request that comes just in time", conn_crowd_late },
	{ "a refused peer gives way", conn_crowd_refused },
	{ "room behind a reset", conn_crowd_leave, 0 },
	{ "room behind mpa_abort()", conn_crowd_leave, 1 },
	{ "room behind mpa_detach()", conn_crowd_leave, 2 },
};

KUNIT_ARRAY_PARAM_DESC(crowd, crowd_rows, desc);

static const struct conn_row terms_rows[] = {
	{ "RF-09 CR-02 CR-03 CR-11 CR-13 CR-21 CR-22: Initiator, C 0 and 0",
	  conn_start_crc, 0 },
	{ "RF-10 CR-05: Initiator, C 1 and 0", conn_start_crc, 1 },
	{ "RF-10 CR-05 CR-10: Initiator, C 0 and 1", conn_start_crc, 2 },
	{ "RF-10 CR-01 CR-04: Initiator, C 1 and 1", conn_start_crc, 3 },
	{ "RF-09 CR-11 CR-13 CR-21 CR-22: Responder, C 0 and 0",
	  conn_start_crc, 4 },
	{ "RF-10 CR-05: Responder, C 1 and 0", conn_start_crc, 5 },
	{ "RF-10 CR-05 CR-10: Responder, C 0 and 1", conn_start_crc, 6 },
	{ "RF-10 CR-01 CR-04: Responder, C 1 and 1", conn_start_crc, 7 },
	{ "RF-06 RF-07 MK-19: Initiator, M 0 and 0", conn_start_markers, 0 },
	{ "RF-06 RF-07 MK-21: Initiator, M 1 and 0", conn_start_markers, 1 },
	{ "RF-06 RF-08 MK-21: Initiator, M 0 and 1", conn_start_markers, 2 },
	{ "RF-06 RF-08 MK-07: Initiator, M 1 and 1", conn_start_markers, 3 },
	{ "RF-06 RF-07 MK-08: Responder, M 0 and 0", conn_start_markers, 4 },
	{ "RF-06 RF-07 MK-21: Responder, M 1 and 0", conn_start_markers, 5 },
	{ "RF-06 RF-08 MK-21: Responder, M 0 and 1", conn_start_markers, 6 },
	{ "RF-06 RF-08 MK-07: Responder, M 1 and 1", conn_start_markers, 7 },
	{ "VN-07 VN-11 VN-12 VN-13 RF-19 DD-05: Request, Rev 0",
	  conn_start_rev0_request, PEER_M | PEER_C },
	{ "VN-11 VN-13: Request, Rev 0, of an rddp peer with M 0",
	  conn_start_rev0_request, 0 },
	{ "VN-05 VN-06 VN-14 RF-19 DD-05: Reply, Rev 0, M was 0",
	  conn_start_rev0_reply, 0 },
	{ "VN-05 VN-06 VN-14: Reply, Rev 0, M was 1", conn_start_rev0_reply,
	  1 },
	{ "VN-15: Rev 0 Responder, Request, Rev 1",
	  conn_start_rev0_responder },
	{ "RF-18 VN-04 VN-18: Rev 0 Initiator, Reply, Rev 1",
	  conn_start_rev0_initiator },
};

KUNIT_ARRAY_PARAM_DESC(terms, terms_rows, desc);

static const struct conn_row reject_rows[] = {
	{ "CS-20 CS-27 RF-13: Reply with R 1", conn_start_rejected },
	{ "CS-17 CS-19 CS-20: mpa_reject()", conn_start_reject, 0 },
	{ "CS-18 CS-38: mpa_reject(), private data", conn_start_reject, 512 },
};

KUNIT_ARRAY_PARAM_DESC(reject, reject_rows, desc);

static const struct conn_row recv_rows[] = {
	{ "DD-01 DD-07 OO-04 OO-05: held on entry, hold and resume",
	  conn_recv_held },
	{ "RX-13: held, the window closes", conn_recv_held_window },
	{ "RX-10 RX-13 RX-14: split behind each octet, markers",
	  conn_recv_split, true },
	{ "RX-10 RX-13 RX-14: split behind each octet", conn_recv_split,
	  false },
	{ "RX-11 RX-16: single octets", conn_recv_chunks, 1 },
	{ "RX-10 RX-12: segments of 7 octets", conn_recv_chunks, 7 },
	{ "RX-10 RX-12: segments of 513 octets", conn_recv_chunks, 513 },
	{ "RX-03 RX-09: the last octet is missing", conn_recv_last_octet },
	{ "RX-01 RX-06 RX-15 OO-03: tail, whole FPDUs, head", conn_recv_mixed },
	{ "RX-15 DD-02 MK-17 OO-17: 1000 FPDUs in a write", conn_recv_many },
	{ "RX-12 RX-13: FPDU in a hundred segments", conn_recv_pieces },
	{ "RX-16: FPDU larger than the window", conn_recv_window, false },
	{ "RX-16: FPDU larger than the window, markers", conn_recv_window,
	  true },
	{ "TD-03: FPDU larger than the window, cut short",
	  conn_recv_window_truncated },
	{ "ER-03: FPDU larger than the window, CRC", conn_recv_window_crc },
	{ "FPDU larger than the window, detach", conn_recv_window_detach },
	{ "FPDU larger than the window, held, detach",
	  conn_recv_window_detach_held },
	{ "FPDU larger than the window, held", conn_recv_window_held },
	{ "mpa_hold() from recv()", conn_recv_hold_inside },
	{ "FR-01 SZ-05 DD-02 DD-04: lengths", conn_recv_lengths, false },
	{ "FR-01 SZ-05 DD-02 DD-03 DD-04 MK-16: lengths, markers",
	  conn_recv_lengths, true },
	{ "MK-03 MK-06 FR-06: reserved octets and pad", conn_recv_ignored },
	{ "MK-11 MK-12: sequence number wraps in the first FPDUs",
	  conn_recv_wrap, 1 },
	{ "MK-11 MK-12: sequence number wraps around the second marker",
	  conn_recv_wrap, 496 },
	{ "MK-11 MK-12 MK-09: both streams pass 2^31", conn_recv_far, 31 },
	{ "MK-11 MK-12 MK-09: both streams pass 2^32", conn_recv_far, 32 },
	{ "MK-11 MK-12 MK-09: both streams pass 2^48", conn_recv_far, 48 },
};

KUNIT_ARRAY_PARAM_DESC(recv, recv_rows, desc);

static const struct conn_row keep_rows[] = {
	{ "kept batches, put out of order", conn_recv_keep },
	{ "more kept than the window", conn_recv_keep_window },
	{ "kept beyond released()", conn_recv_keep_released },
	{ "detach, octets not passed yet", conn_recv_detach_unread },
	{ "detach, a batch kept", conn_recv_detach_kept },
};

KUNIT_ARRAY_PARAM_DESC(keep, keep_rows, desc);

static const struct conn_row error_rows[] = {
	{ "ER-01 ER-03 ER-11 ER-12 ER-13 ER-14 TD-04 RX-05 CR-20: CRC",
	  conn_recv_bad_crc },
	{ "ER-01 ER-04 ER-05 ER-11 ER-12 RX-02: marker",
	  conn_recv_bad_marker },
	{ "ER-03 MK-18: marker, and so the CRC", conn_recv_bad_marker_crc },
	{ "ER-15 RX-04: ULPDU_Length 0", conn_recv_bad_length, 0 },
	{ "ER-15 RX-04: ULPDU_Length 64769", conn_recv_bad_length, 64769 },
	{ "ER-15 RX-04: ULPDU_Length 65535", conn_recv_bad_length, 65535 },
	{ "urgent data", conn_recv_urgent },
	{ "TD-03 ER-11: FIN behind more than the window", conn_recv_discard },
	{ "TD-03 ER-11: the same, delivery was held", conn_recv_discard_held },
	{ "the rest of an FPDU in a device's memory", conn_recv_unreadable },
};

KUNIT_ARRAY_PARAM_DESC(error, error_rows, desc);

static const struct conn_row fin_rows[] = {
	{ "TD-01 TD-02 TD-03 ER-02 DD-12 OO-06: between FPDUs", conn_recv_fin },
	{ "TD-03 ER-02: inside an FPDU", conn_recv_truncated },
	{ "TD-02: behind a marker that nothing follows",
	  conn_recv_lone_marker, 4 },
	{ "TD-03: inside such a marker", conn_recv_lone_marker, 3 },
	{ "TD-02: while delivery is held", conn_recv_held_fin },
	{ "TD-02: while held, nothing before it", conn_recv_held_only_fin },
	{ "TD-03 ER-02: RST while delivery is held", conn_recv_held_reset },
	{ "TD-03 ER-02: RST while held and the window is shut",
	  conn_recv_held_full_reset },
};

KUNIT_ARRAY_PARAM_DESC(fin, fin_rows, desc);

static const struct conn_row gate_rows[] = {
	{ "CS-29: opens with the first FPDU", conn_gate_opens, false },
	{ "CS-29: opens also while delivery is held", conn_gate_opens, true },
	{ "CS-29: a bad first FPDU", conn_gate_bad },
	{ "CS-29: FIN before the first FPDU", conn_gate_fin },
	{ "CS-29: mpa_shutdown() before the first FPDU", conn_gate_shutdown },
};

KUNIT_ARRAY_PARAM_DESC(gate, gate_rows, desc);

static const struct conn_row send_rows[] = {
	{ "FR-01 FR-02 FR-05 SZ-05 DD-01: lengths", conn_send_lengths, false },
	{ "FR-01 FR-02 FR-05 SZ-05 MK-09 MK-14 MK-16: lengths, markers",
	  conn_send_lengths, true },
	{ "SZ-04 SZ-05: what is refused", conn_send_refused },
	{ "TX-02 TX-04 TX-06 SZ-10: full FPDUs, one to a segment",
	  conn_send_aligned, false },
	{ "TX-02 TX-04 TX-06 SZ-10: full FPDUs with markers, one to a segment",
	  conn_send_aligned, true },
	{ "TX-03 TX-10: small FPDUs, whole", conn_send_packed, false },
	{ "TX-03 TX-10: small FPDUs with markers, whole", conn_send_packed,
	  true },
	{ "TX-08: no Nagle", conn_send_nodelay },
	{ "SZ-11 SZ-13 TX-06: source, L is exact", conn_send_source, false },
	{ "SZ-11 SZ-13 TX-06: source, L is exact, markers", conn_send_source,
	  true },
	{ "SZ-17 SZ-18: little room left in the segment",
	  conn_send_source_room, 132 },
	{ "SZ-12 TX-10: some room left in the segment", conn_send_source_room,
	  136 },
	{ "source that stops early", conn_send_source_stops },
	{ "TX-01: source that fails", conn_send_source_fails },
	{ "TX-01: source that fails: -EAGAIN", conn_send_source_again },
	{ "TX-01: source that fails: -ENOMEM", conn_send_source_no_memory },
	{ "TX-01: source that fails: -ENOBUFS", conn_send_source_no_room },
	{ "TX-01: source that detaches", conn_send_source_detach },
	{ "posting what was handed back", conn_send_credit },
	{ "posting from several threads", conn_send_threads },
	{ "backpressure", conn_send_backpressure },
	{ "posting with BH off", conn_send_atomic },
	{ "reclaim-safe", conn_send_memalloc },
	{ "SZ-01 SZ-03 SZ-06 SZ-09 SZ-15 SZ-16 SZ-19 SZ-20: MULPDU",
	  conn_send_mulpdu, false },
	{ "SZ-01 SZ-03 SZ-06 SZ-08 SZ-15 SZ-16 SZ-19 SZ-20: MULPDU, markers",
	  conn_send_mulpdu, true },
	{ "SZ-14 SZ-22 TX-07 TX-12: the MTU changes", conn_send_mtu, false },
	{ "SZ-14 SZ-22 TX-07 TX-12: the MTU changes, markers", conn_send_mtu,
	  true },
	{ "SZ-14 SZ-22 TX-07: the MTU changes, source", conn_send_mtu_source },
	{ "FR-01 DD-01 DD-02: two connections", conn_send_both, 0 },
	{ "FR-01 DD-01 DD-02 MK-21: two connections, markers one way",
	  conn_send_both, 1 },
	{ "FR-01 DD-01 DD-02 MK-07: two connections, markers", conn_send_both,
	  3 },
};

KUNIT_ARRAY_PARAM_DESC(send, send_rows, desc);

static const struct conn_row train_rows[] = {
	{ "TX-04 TX-06 SZ-11: source, full segments in one call",
	  conn_train_full, TRAIN_SOURCE },
	{ "TX-04 TX-06 SZ-11: source, full segments in one call, markers",
	  conn_train_full, TRAIN_SOURCE_MARKERS },
	{ "TX-04 TX-06: messages, full segments in one call", conn_train_full,
	  TRAIN_MESSAGES },
	{ "TX-03 TX-04 TX-10: two messages a segment, in one call",
	  conn_train_full, TRAIN_PAIRS },
	{ "TX-04 TX-06: a small FPDU ends what TCP cuts", conn_train_between,
	  TRAIN_SMALL },
	{ "TX-04 TX-07: an FPDU longer than the EMSS by itself",
	  conn_train_between, TRAIN_LONG },
	{ "TX-04 TX-06: zero copy by itself", conn_train_between,
	  TRAIN_PAGES },
	{ "TX-04 TX-06 TX-10: zero copy among small FPDUs", conn_train_pages },
	{ "TX-04 TX-06: EMSS no multiple of four", conn_train_odd, 1 },
	{ "TX-04 TX-06: EMSS no multiple of four, but of two",
	  conn_train_odd, 2 },
	{ "TX-04 TX-06: source, headers of all lengths", conn_train_headers },
	{ "SZ-15: source, EMSS below the least MULPDU", conn_train_narrow },
	{ "TX-04 TX-06: the window shuts", conn_train_window },
	{ "TX-01 TX-04 TX-06: TCP takes part of a record", conn_train_short },
	{ "TX-04 TX-06 SZ-09: room for SACK blocks", conn_train_sack },
	{ "TX-04 TX-06: a hole while a train is laid out", conn_train_apart,
	  TRAIN_HOLE },
	{ "TX-04 TX-07: the MTU changes while a train is laid out",
	  conn_train_apart, TRAIN_MTU },
};

KUNIT_ARRAY_PARAM_DESC(train, train_rows, desc);

static const struct conn_row zerocopy_rows[] = {
	{ "pages, handed back when they are free", conn_zerocopy_pages,
	  false },
	{ "pages with markers, handed back when they are free",
	  conn_zerocopy_pages, true },
	{ "what pages weigh", conn_zerocopy_weight, false },
	{ "what pages with markers weigh", conn_zerocopy_weight, true },
	{ "slab and vmalloc are copied", conn_zerocopy_copied },
	{ "detach", conn_zerocopy_detach },
	{ "detach, and the peer does not read", conn_zerocopy_detach_reset },
	{ "reset by the peer", conn_zerocopy_reset },
	{ "abort", conn_zerocopy_abort },
};

KUNIT_ARRAY_PARAM_DESC(zerocopy, zerocopy_rows, desc);

static const struct conn_row scribble_rows[] = {
	{ "changed when laid out: copied", conn_scribble_laid_out,
	  SCRIBBLE_COPIED },
	{ "ER-03: changed when laid out: gathered", conn_scribble_laid_out,
	  SCRIBBLE_GATHERED },
	{ "ER-03: changed when laid out: pages", conn_scribble_laid_out,
	  SCRIBBLE_PAGES },
	{ "CR-21: changed when laid out: no CRC", conn_scribble_no_crc },
	{ "changed when handed back: copied", conn_scribble_handed_back,
	  SCRIBBLE_COPIED },
	{ "changed when handed back: gathered", conn_scribble_handed_back,
	  SCRIBBLE_GATHERED },
	{ "changed when handed back: pages", conn_scribble_handed_back,
	  SCRIBBLE_PAGES },
	{ "changed when verified: copied", conn_scribble_kept,
	  SCRIBBLE_COPIED },
	{ "changed when verified: gathered", conn_scribble_kept,
	  SCRIBBLE_GATHERED },
	{ "changed when verified: pages", conn_scribble_kept,
	  SCRIBBLE_PAGES },
	{ "changed all the time: copied", conn_scribble_race,
	  SCRIBBLE_COPIED },
	{ "changed all the time: gathered", conn_scribble_race,
	  SCRIBBLE_GATHERED },
	{ "changed all the time: pages", conn_scribble_race,
	  SCRIBBLE_PAGES },
};

KUNIT_ARRAY_PARAM_DESC(scribble, scribble_rows, desc);

static const struct conn_row splice_rows[] = {
	{ "ER-15: a longer FPDU, in many pieces", conn_splice_pieces, 60000 },
	{ "ER-15: a longer FPDU, through a small window", conn_splice_window,
	  60000 },
	{ "ER-15: a shorter FPDU, through a small window", conn_splice_window,
	  40 },
	{ "RX-03 RX-05: changed when verified", conn_splice_kept, 1000 },
	{ "RX-03 RX-05: changed when verified, its last octets",
	  conn_splice_kept, 20000 },
	{ "RX-03 RX-05: changed when passed out of order",
	  conn_splice_early },
	{ "RX-01: FPDUs of all lengths", conn_splice_all, 200000 },
	{ "RX-01: the same, through a small window", conn_splice_all, 4096 },
	{ "what MPA sends is not copied", conn_splice_own },
};

KUNIT_ARRAY_PARAM_DESC(splice, splice_rows, desc);

static const struct conn_row queue_rows[] = {
	{ "TX-01: mpa_abort()", conn_queue_abort },
	{ "TX-01: mpa_detach()", conn_queue_detach },
	{ "TX-01 ER-02: reset by the peer", conn_queue_reset },
	{ "TX-01 TD-01: mpa_shutdown()", conn_queue_shutdown },
};

KUNIT_ARRAY_PARAM_DESC(queue, queue_rows, desc);

static const struct conn_row end_rows[] = {
	{ "mpa_detach() in each state", conn_end_detach },
	{ "mpa_detach_sync() in each state", conn_end_detach_sync },
	{ "CS-36 CS-38: mpa_abort() in each state", conn_end_abort },
	{ "disconnected behind our back, and made to listen",
	  conn_end_listen },
	{ "disconnected behind our back, and connected to somebody else",
	  conn_end_reconnect },
	{ "disconnected behind our back and connected, before the start",
	  conn_end_reconnect_start },
	{ "disconnected behind our back and connected, with a FIN to come",
	  conn_end_reconnect_detach, 0 },
	{ "disconnected behind our back and connected, with a message",
	  conn_end_reconnect_detach, 1 },
	{ "disconnected behind our back and connected, with batches kept",
	  conn_end_reconnect_kept },
	{ "nothing comes after closed()", conn_end_once },
	{ "mpa_detach() from each callback", conn_end_callback_detach },
	{ "all calls from each callback", conn_end_callback_all },
	{ "CS-36 CS-38: mpa_abort() from each callback",
	  conn_end_callback_abort },
	{ "mpa_detach() while a callback is running", conn_end_running,
	  false },
	{ "mpa_detach_sync() while a callback is running", conn_end_running,
	  true },
	{ "nothing comes after mpa_detach()", conn_end_no_more },
	{ "mpa_barrier()", conn_end_barrier },
	{ "TD-01 TD-02: graceful, Initiator first", conn_end_graceful, 0 },
	{ "TD-01 TD-02: graceful, Responder first", conn_end_graceful, 1 },
};

KUNIT_ARRAY_PARAM_DESC(end, end_rows, desc);

static const struct conn_row info_rows[] = {
	{ "states", conn_end_states },
	{ "addresses, IPv4", conn_end_addresses, false },
	{ "addresses, IPv6", conn_end_addresses, true },
	{ "ER-01: counters", conn_end_counters },
	{ "ER-01: names of reasons", conn_end_reasons },
};

KUNIT_ARRAY_PARAM_DESC(info, info_rows, desc);

static const struct conn_row race_rows[] = {
	{ "detach, reset by the peer", conn_race_reset },
	{ "detach, abort, reset by the peer", conn_race_reset_abort },
	{ "detach, shutdown, closed by the peer", conn_race_close },
	{ "detach, batches put", conn_race_put },
	{ "detach, hold and resume, data", conn_race_write },
};

KUNIT_ARRAY_PARAM_DESC(race, race_rows, desc);

static const struct conn_row sock_rows[] = {
	{ "DD-09: mpa_connect() and mpa_listen(), IPv4", conn_sock_connect,
	  false },
	{ "DD-09: mpa_connect() and mpa_listen(), IPv6", conn_sock_connect,
	  true },
	{ "reclaim-safe", conn_sock_memalloc },
	{ "refused, IPv4", conn_sock_refused, false },
	{ "refused, IPv6", conn_sock_refused, true },
	{ "address in use", conn_sock_in_use },
	{ "parameters and setup()", conn_sock_params },
	{ "given up while connecting", conn_sock_cancel },
	{ "with another socket locked", conn_sock_nested },
	{ "closed while it accepts", conn_sock_close },
	{ "closed, and another listener has what waits", conn_sock_migrate },
	{ "destroyed, and another listener has what waits",
	  conn_sock_migrate_destroyed },
};

KUNIT_ARRAY_PARAM_DESC(sock, sock_rows, desc);

static const struct conn_row enhanced_rows[] = {
	{ "E-01 E-02 E-05 E-07 E-22 E-23 E-37: Request",
	  conn_enh_initiator, 0 },
	{ "E-11 E-15 E-17: Request, 1 octet of private data",
	  conn_enh_initiator, 1 },
	{ "E-08: Request, 508 octets of private data", conn_enh_initiator,
	  508 },
	{ "E-01 E-02 E-05 E-07 E-12 E-25 E-26 E-27 E-37: Reply",
	  conn_enh_responder, 0 },
	{ "E-11 E-17: Reply, 1 octet of private data", conn_enh_responder,
	  1 },
	{ "E-08: Reply, 508 octets of private data", conn_enh_responder,
	  508 },
	{ "E-08: 509 octets of private data are refused",
	  conn_enh_pd_too_long },
	{ "CS-43 RX-11: Reply, octet by octet", conn_enh_dribble,
	  CONN_INITIATOR },
	{ "CS-43 RX-11: Request, octet by octet", conn_enh_dribble,
	  CONN_RESPONDER },
	{ "E-05 E-06 E-43: Request, PD_Length below 4", conn_enh_short,
	  CONN_RESPONDER },
	{ "E-05 E-06 E-43: Reply, PD_Length below 4", conn_enh_short,
	  CONN_INITIATOR },
	{ "E-37 E-42: Reply without S", conn_enh_bad, ENH_BAD_NO_S },
	{ "E-42: Reply without S, rejecting", conn_enh_bad, ENH_BAD_NO_S_R },
	{ "E-02 E-42: Reply, Rev 1", conn_enh_bad, ENH_BAD_REV_1 },
	{ "E-02 E-42: Reply, Rev 1, S is reserved", conn_enh_bad,
	  ENH_BAD_REV_1_S },
	{ "E-02 RF-18: Reply, Rev 3", conn_enh_bad, ENH_BAD_REV_3 },
	{ "E-38: Reply with S, asked without", conn_enh_bad, ENH_BAD_S },
	{ "E-40: Request with S, not supported", conn_enh_bad,
	  ENH_BAD_REQUEST },
	{ "E-08 RF-22: Request, 513 octets in all", conn_enh_bad,
	  ENH_BAD_PD_513 },
	{ "E-08 RF-22: Reply, 513 octets in all", conn_enh_bad,
	  ENH_BAD_PD_513_REPLY },
	{ "E-40 RF-18: Request, Rev 2 with S, we know Rev 1 only",
	  conn_enh_refused, MPA_REV_1 },
	{ "E-02 RF-18: Request, Rev 3", conn_enh_refused, MPA_REV_2 },
	{ "E-04 E-38: Request, Rev 1", conn_enh_old_request,
	  PEER_C << 8 | 1 },
	{ "E-04 E-38 RF-15: Request, Rev 1, all reserved bits set",
	  conn_enh_old_request, (PEER_C | 0x1f) << 8 | 1 },
	{ "E-38 E-39: Request, Rev 2 without S", conn_enh_old_request,
	  PEER_C << 8 | 2 },
	{ "E-38 VN-11: Request, Rev 0", conn_enh_old_request,
	  (PEER_M | PEER_C) << 8 },
	{ "E-03 E-39: nothing enhanced wanted, Reply, Rev 2", conn_enh_plain,
	  2 },
	{ "E-39: nothing enhanced wanted, Reply, Rev 1", conn_enh_plain, 1 },
	{ "E-02 RF-15: Rev 1, Reply, S is reserved", conn_enh_rev1,
	  CONN_INITIATOR },
	{ "E-02 RF-15: Rev 1, Request, S is reserved", conn_enh_rev1,
	  CONN_RESPONDER },
	{ "E-16 E-44 ER-11: IRD that we cannot have", conn_enh_error,
	  ENH_ERROR_IRD },
	{ "E-31 E-44 ER-11: no RTR in common", conn_enh_error,
	  ENH_ERROR_RTR },
	{ "E-31 E-42 E-44: A is not answered", conn_enh_error,
	  ENH_ERROR_NO_A },
	{ "E-33 E-44: A was not asked for", conn_enh_error, ENH_ERROR_A },
	{ "E-09 E-30: the RTR is the first FPDU", conn_enh_rtr },
	{ "CS-29 E-30: the Responder waits for the RTR", conn_enh_gate },
	{ "E-11 E-12 E-15 E-30: two connections", conn_enh_two },
	{ "E-10: mpa_set_enhanced(), Initiator", conn_enh_set_initiator },
	{ "E-10: mpa_set_enhanced() from request()",
	  conn_enh_set_responder },
	{ "E-10 E-24: mpa_set_enhanced() before the answer",
	  conn_enh_set_late },
	{ "E-05: mpa_accept() while the Request arrives",
	  conn_enh_accept_early },
	{ "E-08 E-14: mpa_reject()", conn_enh_reject },
	{ "E-17 CS-27: Reply with R 1", conn_enh_rejected },
	{ "E-02 E-24 E-43: parameters", conn_enh_params },
};

KUNIT_ARRAY_PARAM_DESC(enhanced, enhanced_rows, desc);

static const struct conn_row connect_rows[] = {
	{ "E-39: established, Rev 1", conn_connect_established, MPA_REV_1 },
	{ "E-37: established, Rev 2", conn_connect_established, MPA_REV_2 },
	{ "reclaim-safe", conn_connect_memalloc },
	{ "E-17: rejected", conn_connect_rejected },
	{ "E-41: FIN", conn_connect_fallback, CONNECT_FIN },
	{ "E-41: FIN inside the key", conn_connect_fallback,
	  CONNECT_FIN_IN_KEY },
	{ "E-41: FIN inside the private data", conn_connect_fallback,
	  CONNECT_FIN_IN_PD },
	{ "E-41: RST", conn_connect_fallback, CONNECT_RESET },
	{ "E-41: Rev 1, R 1", conn_connect_fallback, CONNECT_REV_1 },
	{ "E-41: Rev 0", conn_connect_fallback, CONNECT_REV_0 },
	{ "E-41: silence", conn_connect_fallback, CONNECT_SILENT },
	{ "E-41: FIN, twice", conn_connect_fallback_once },
	{ "no fallback asked for: FIN", conn_connect_no_flag, CONNECT_FIN },
	{ "no fallback asked for: FIN inside the key", conn_connect_no_flag,
	  CONNECT_FIN_IN_KEY },
	{ "no fallback asked for: RST", conn_connect_no_flag, CONNECT_RESET },
	{ "no fallback asked for: Rev 1", conn_connect_no_flag,
	  CONNECT_REV_1 },
	{ "no fallback asked for: silence", conn_connect_no_flag,
	  CONNECT_SILENT },
	{ "CS-34: no fallback: wrong key", conn_connect_other_error,
	  CONNECT_NO_KEY },
	{ "E-42: no fallback: Reply without S", conn_connect_other_error,
	  CONNECT_NO_S },
	{ "E-06: no fallback: PD_Length 3", conn_connect_other_error,
	  CONNECT_SHORT_PD },
	{ "E-31 E-42: no fallback: A is not answered",
	  conn_connect_other_error, CONNECT_NO_A },
	{ "no fallback: RST behind a Reply of Rev 2",
	  conn_connect_reset_behind },
	{ "refused", conn_connect_refused, false },
	{ "refused the second time", conn_connect_refused, true },
	{ "setup() fails the second time", conn_connect_setup_fails },
	{ "E-08: 509 octets of private data", conn_connect_pd_too_long },
	{ "parameters of mpa_connect()", conn_connect_params },
	{ "closed before TCP is connected", conn_connect_close_early },
	{ "closed before the Reply", conn_connect_close_waiting, false },
	{ "closed before the second Reply", conn_connect_close_waiting,
	  true },
	{ "closed between the attempts", conn_connect_close_between },
	{ "closed while the first socket is", conn_connect_close_releasing },
	{ "closed before the second mpa_attach()",
	  conn_connect_close_attaching },
	{ "closed in done()", conn_connect_close_in_done },
	{ "closed in done(), with an error", conn_connect_close_in_error },
	{ "closed in established()", conn_connect_close_in_callback },
	{ "detached in done()", conn_connect_detached },
	{ "closed at any time", conn_connect_race },
};

KUNIT_ARRAY_PARAM_DESC(connect, connect_rows, desc);

static const struct conn_row ooo_rows[] = {
	{ "OO-03 OO-04 OO-05 OO-17: behind a hole", conn_ooo_found, 0 },
	{ "OO-03 OO-04 OO-05 OO-17: behind a hole, in pages", conn_ooo_found,
	  INJECT_PAGES },
	{ "OO-03 OO-04 OO-05 OO-17: behind a hole, IPv6", conn_ooo_ipv6 },
	{ "OO-03 OO-05 OO-17: behind a hole before full operation",
	  conn_ooo_startup },
	{ "OO-03 OO-05 OO-17: behind a hole, after our FIN",
	  conn_ooo_shutdown },
	{ "OO-03 OO-04 OO-05 OO-17: behind a hole, without the hook",
	  conn_ooo_timer },
	{ "OO-16: not asked for", conn_ooo_off, OOO_OFF_FLAG },
	{ "OO-16: not asked for, nor markers", conn_ooo_off,
	  OOO_OFF_MARKERS },
	{ "OO-16: without CRC", conn_ooo_off, OOO_OFF_CRC },
	{ "OO-01: M in the Request", conn_ooo_frame, CONN_INITIATOR },
	{ "OO-01: M in the Reply", conn_ooo_frame, CONN_RESPONDER },
	{ "OO-03 OO-17 OO-20: all orders, cut between FPDUs",
	  conn_ooo_orders, OOO_CUT_FPDUS },
	{ "OO-03 OO-17 OO-19: all orders, cut near FPDUs", conn_ooo_orders,
	  OOO_CUT_NEAR },
	{ "OO-03 OO-17 OO-19: all orders, equal parts", conn_ooo_orders,
	  OOO_CUT_EVEN },
	{ "OO-03 OO-17 OO-19: all orders, cut anywhere", conn_ooo_orders,
	  OOO_CUT_RANDOM },
	{ "OO-09 OO-17: any order, some twice", conn_ooo_shuffled, 1 },
	{ "OO-09 OO-17: another order, some twice", conn_ooo_shuffled, 2 },
	{ "OO-03 OO-19: single octets", conn_ooo_octets, 0 },
	{ "OO-03 OO-19: single octets, the last one first", conn_ooo_octets,
	  1 },
	{ "OO-03 OO-19: 64768 octets in segments of 500", conn_ooo_long,
	  500 },
	{ "OO-03 OO-19: 64768 octets in segments of 8000", conn_ooo_long,
	  8000 },
	{ "OO-03 MK-16: a marker in front of an FPDU comes alone",
	  conn_ooo_leading, 0 },
	{ "OO-03 MK-16: a marker in front of an FPDU comes later",
	  conn_ooo_leading, 200 },
	{ "OO-03 OO-20: 800 FPDUs", conn_ooo_many },
	{ "OO-17: more pieces than are remembered", conn_ooo_bounded },
	{ "searches of which nothing comes take their time", conn_ooo_paced },
	{ "OO-09: received again with other octets", conn_ooo_altered, 0 },
	{ "OO-09: the hole is closed with other octets", conn_ooo_altered,
	  1 },
	{ "OO-09: segments overlap", conn_ooo_overlap },
	{ "OO-09: segments cover others", conn_ooo_covered },
	{ "OO-09: segments cover many others", conn_ooo_covered_many },
	{ "OO-09: dropped by TCP, received again with other octets",
	  conn_ooo_dropped },
	{ "OO-09: the same, and copied together", conn_ooo_copied },
	{ "OO-03 OO-04 MK-12: sequence number wraps", conn_ooo_wrap },
	{ "OO-03 ER-03: bad CRC, the verdict falls in its turn",
	  conn_ooo_bad_crc, 0 },
	{ "OO-03: bad CRC, received again before its turn",
	  conn_ooo_bad_crc, 1 },
	{ "ER-04: a length leads into what was passed", conn_ooo_into_crc,
	  true },
	{ "ER-03: the same, and the CRC is bad", conn_ooo_into_crc, false },
	{ "ER-04: a length leads beyond what is there", conn_ooo_into,
	  5000 },
	{ "ER-04: a length leads beyond the window", conn_ooo_into,
	  MPA_ULPDU_MAX },
	{ "ER-04: the same, known before the hole", conn_ooo_into_late },
	{ "ER-04: a marker that was passed has changed",
	  conn_ooo_changed_marker },
	{ "ER-04: a length that was passed has changed to more",
	  conn_ooo_changed_length, 2000 },
	{ "ER-04: a length that was passed has changed to less",
	  conn_ooo_changed_length, 600 },
	{ "ER-04 ER-15: a length that was passed has changed to 0",
	  conn_ooo_changed_length, 0 },
	{ "nothing is passed on hold", conn_ooo_hold },
	{ "OO-17: detach", conn_ooo_detach },
	{ "OO-17: mpa_abort()", conn_ooo_abort },
	{ "OO-17 TD-03 ER-02: reset by the peer", conn_ooo_reset },
	{ "OO-06 OO-17 TD-02: FIN where the hole is", conn_ooo_fin_before,
	  0 },
	{ "OO-06 OO-17 TD-03: FIN inside an FPDU where the hole is",
	  conn_ooo_fin_before, 5 },
	{ "OO-06 TD-02: FIN behind the hole", conn_ooo_fin_behind, 0 },
	{ "OO-06 TD-03: FIN inside an FPDU behind the hole",
	  conn_ooo_fin_behind, 5 },
	{ "urgent data behind the hole", conn_ooo_urgent },
	{ "kept past Delivery", conn_ooo_keep, 0 },
	{ "kept past released()", conn_ooo_keep, 1 },
	{ "more kept than the receive buffer", conn_ooo_keep_much },
	{ "net.mpa.rx_mem_max used up", conn_ooo_rx_mem },
	{ "CS-29: the first FPDU in its turn", conn_ooo_gate },
	{ "OO-03: two-way traffic", conn_ooo_two_way },
	{ "OO-08: segments that TCP does not take", conn_ooo_stray },
	{ "operations are restored, IPv4", conn_ooo_af_ops, OOO_IPV4 },
	{ "operations are restored, IPv6", conn_ooo_af_ops, OOO_IPV6 },
	{ "operations are restored, IPv4 mapped", conn_ooo_af_ops,
	  OOO_MAPPED },
	{ "operations were exchanged meanwhile", conn_ooo_addrform },
	{ "attach and detach under getsockopt(), IPv4", conn_ooo_sockopt,
	  OOO_IPV4 },
	{ "attach and detach under getsockopt(), IPv6", conn_ooo_sockopt,
	  OOO_IPV6 },
	{ "attach and detach under getsockopt(), IPv4 mapped",
	  conn_ooo_sockopt, OOO_MAPPED },
	{ "detach, segments in any order", conn_ooo_race },
};

KUNIT_ARRAY_PARAM_DESC(ooo, ooo_rows, desc);

#define CONN_CASE(title) {						\
	.run_case = conn_run, .name = #title,				\
	.generate_params = title##_gen_params,				\
	.module_name = KBUILD_MODNAME,					\
}

static struct kunit_case conn_cases[] = {
	CONN_CASE(attach),
	CONN_CASE(startup),
	CONN_CASE(frame),
	CONN_CASE(timeout),
	CONN_CASE(crowd),
	CONN_CASE(terms),
	CONN_CASE(reject),
	CONN_CASE(recv),
	CONN_CASE(keep),
	CONN_CASE(error),
	CONN_CASE(fin),
	CONN_CASE(gate),
	CONN_CASE(send),
	CONN_CASE(train),
	CONN_CASE(zerocopy),
	CONN_CASE(scribble),
	CONN_CASE(splice),
	CONN_CASE(queue),
	CONN_CASE(end),
	CONN_CASE(info),
	CONN_CASE(race),
	CONN_CASE(sock),
	CONN_CASE(enhanced),
	CONN_CASE(connect),
	CONN_CASE(ooo),
	{}
};

/* No callback of ours is still returning when the module goes. */
static void conn_suite_exit(struct kunit_suite *suite)
{
	mpa_barrier();
}

static struct kunit_suite conn_suite = {
	.name		= "mpa_conn",
	.init		= conn_init,
	.exit		= conn_exit,
	.suite_exit	= conn_suite_exit,
	.test_cases	= conn_cases,
};

kunit_test_suite(conn_suite);

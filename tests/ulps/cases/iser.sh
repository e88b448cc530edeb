# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# iSER: LIO's isert by configfs, open-iscsi's iser

LIO=$CONFIG/target
TPG=$LIO/iscsi/$NAME/tpgt_1
INITIATOR=iqn.2024-01.test:host

iser_down() {
	timeout 60 iscsiadm -m node -u
	killall iscsid
	rm -rf /etc/iscsi/{nodes,send_targets}
	echo 0 >"$TPG/enable"
	rm -f "$TPG/acls/$INITIATOR/lun_0/disk" "$TPG/lun/lun_0/disk"
	rmdir "$TPG/acls/$INITIATOR/lun_0" "$TPG/acls/$INITIATOR" \
		"$TPG"/np/* "$TPG/lun/lun_0" "$TPG" "$LIO/iscsi/$NAME"
	rmdir "$LIO"/core/rd_mcp_0/disk "$LIO"/core/rd_mcp_0 "$LIO"/iscsi
	modprobe -r ib_iser
	modprobe -r ib_isert
	modprobe -r iscsi_target_mod target_core_mod
}

# endpoint ADDRESS: with the port
endpoint() {
	[[ $1 == *:* ]] && echo "[$1]:3260" || echo "$1:3260"
}

# portal ADDRESS: LIO has a TCP listener for each portal. An iWARP device needs the same
# port, so that one is in a namespace that is gone
portal() {
	local portal

	portal=$TPG/np/$(endpoint "$1")
	unshare -n mkdir "$portal" || fail "no portal"
	echo 1 >"$portal/iser" || fail "no iser at $1"
}

# lio ADDRESS MB [NAME=VALUE...]: a target, with these parameters
lio() {
	local param

	modprobe -a target_core_mod iscsi_target_mod ib_isert
	# Not null_blk: isert passes immediate data where they lie, at any address, and
	# null_blk writes beyond its pages then
	mkdir -p "$LIO"/core/rd_mcp_0/disk
	echo rd_pages=$(($2 * 256)) >"$LIO"/core/rd_mcp_0/disk/control
	echo 1 >"$LIO"/core/rd_mcp_0/disk/enable || fail "no backstore"
	mkdir -p "$TPG/lun/lun_0" "$TPG/acls/$INITIATOR" || fail "no target"
	ln -s "$LIO"/core/rd_mcp_0/disk "$TPG/lun/lun_0/disk"
	mkdir "$TPG/acls/$INITIATOR/lun_0"
	ln -s "$TPG/lun/lun_0" "$TPG/acls/$INITIATOR/lun_0/disk"
	printf user >"$TPG/acls/$INITIATOR/auth/userid"
	printf secretsecret >"$TPG/acls/$INITIATOR/auth/password"
	echo 1 >"$TPG/attrib/authentication"
	for param in "${@:3}"; do
		echo "${param#*=}" >"$TPG/param/${param%%=*}"
	done
	portal "$1"
	echo 1 >"$TPG/enable" || fail "not enabled"
}

# initiator INITIALR2T [SECRET [TRIES]]. libiscsi fails a login if iscsid goes on before
# the task of the answer that it has got is free; iscsid tries again. LIO waits 15 s for the
# rest of that login before it takes the next: a shorter timeout here would never meet it.
initiator() {
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo "InitiatorName=$INITIATOR" >/etc/iscsi/initiatorname.iscsi
	cat >/etc/iscsi/iscsid.conf <<-CONF
		node.session.auth.authmethod = CHAP
		node.session.auth.username = user
		node.session.auth.password = ${2:-secretsecret}
		node.session.iscsi.InitialR2T = ${1:-Yes}
		node.session.iscsi.ImmediateData = Yes
		node.session.initial_login_retry_max = ${3:-8}
		node.session.timeo.replacement_timeout = 100
		node.conn[0].timeo.login_timeout = 20
		node.conn[0].timeo.noop_out_interval = $((2 * SLOW))
		node.conn[0].timeo.noop_out_timeout = $((2 * SLOW))
		node.session.scan = auto
	CONF
	modprobe ib_iser
	iscsid || fail "no iscsid"
}

found() {
	timeout 60 iscsiadm -m discovery -t st -p "$(endpoint "$1")" -I iser |
		tee /dev/stderr | grep -q "$NAME" || fail "not discovered"
}

login() {
	timeout 200 iscsiadm -m node -T "$NAME" -l || fail "no login"
	until_true 20 test -b /dev/sda || fail "no /dev/sda"
	noted
}

# negotiated NAME=VALUE...: in the session
negotiated() {
	local said pair

	said=$(iscsiadm -m session -P 2) || fail "no session"
	for pair; do
		grep -qE "^[[:space:]]*${pair%=*}: ${pair#*=}\$" <<<"$said" ||
			fail "not $pair: $said"
	done
}

logout() {
	timeout 60 iscsiadm -m node -T "$NAME" -u || fail "no logout"
	until_true 20 test ! -e /dev/sda || fail "/dev/sda is left"
}

# ready ADDRESS [INITIALR2T [MB]]: a target, logged in
ready() {
	at_b lio "$1" "${3:-64}" InitialR2T="${2:-Yes}"
	initiator "${2:-Yes}"
	found "$1"
	login
}

# up KIND_A KIND_B [ADDRESS [INITIALR2T]]
up() {
	wire "$1" "$2"
	ready "${3:-$B4}" "${4-}"
}

# iser KIND_A KIND_B [ADDRESS [INITIALR2T]]
iser() {
	up "$@"
	negotiated InitialR2T="${4:-Yes}" ImmediateData=Yes
	verified_all /dev/sda
	steady
	logout
}

# copied: dd writes the archive of a tree, another session of iSCSI reads it
copied() {
	local size

	up mpa mpa
	size=$(stat -c %s /root/tree.tar)
	dd if=/root/tree.tar of=/dev/sda bs=1M conv=fsync || fail "dd"
	steady
	logout
	login
	dd if=/dev/sda bs=1M count=$((size / 1048576 + 1)) | head -c "$size" |
		cmp - /root/tree.tar || fail "not as written"
	steady
	logout
}

# logins NUMBER: one that fails has been refused by libiscsi. That is rare
logins() {
	local failed=0 refused n

	wire mpa mpa
	at_b lio "$B4" 64
	initiator Yes secretsecret 1
	found "$B4"
	noted
	for ((n = 0; n < $1; n++)); do
		timeout 60 iscsiadm -m node -T "$NAME" -l || {
			failed=$((failed + 1))
			continue
		}
		until_true 20 test -b /dev/sda || fail "no /dev/sda"
		logout
	done
	refused=$(since_noted | grep -c 'Login/Text in progress')
	echo "of $1 logins $failed failed, libiscsi refused $refused PDUs"
	((failed <= refused)) || fail "not libiscsi's: $(since_noted)"
	((failed * 4 <= $1)) || fail "too many"
}

# wrong_secret KIND_A KIND_B: 24 is iscsiadm's "login failed due to authorization failure".
# LIO ends the connection right after its answer, which siw may then not send: with siw at
# both ends, too, open-iscsi was seen to wait for it in vain, which is 11
wrong_secret() {
	local status=0

	wire "$1" "$2"
	at_b lio "$B4" 64
	initiator Yes wrongwrongwrong 1
	found "$B4"
	timeout 60 iscsiadm -m node -T "$NAME" -l || status=$?
	((status == 24)) || [[ $2 == siw* && $status == 11 ]] || fail "status $status"
	iscsiadm -m node -T "$NAME" -o update -n node.session.auth.password \
		-v secretsecret || fail "no update"
	iscsiadm -m node -T "$NAME" -o update -n node.session.initial_login_retry_max \
		-v 8 || fail "no update"
	login
	works
}

# recovered PATTERN: the session goes on, by another connection
recovered() {
	load_good
	again
	logged "$1"
	logout
}

# no_path KIND_A KIND_B SECONDS
no_path() {
	one_guest
	up "$1" "$2"
	load /dev/sda
	netem loss 100%
	sleep $(($3 * SLOW))
	netem loss 0%
	recovered 'ping timeout of'
}

enabled() { echo "$1" >"$TPG/enable" || fail "enable $1"; }

target_lost() {
	up "$@"
	load /dev/sda
	at_b enabled 0
	sleep 3
	at_b enabled 1
	recovered 'detected conn error'
}

# The client's device goes, and comes back: the session goes on
device_gone_a() {
	one_guest
	up "$@"
	load /dev/sda
	soon rdma link delete iwa || fail "the device does not go"
	sleep 3
	device iwa "$1" va
	load_good
	logged 'detected conn error'
	logout
}

logout_loaded() {
	up mpa mpa
	cut_load /dev/sda
	logout
	load_cut
	login
	works
}

# start ADDRESS [MB], stop: for conditions.sh and memory.sh
FILE=/dev/sda
start() { ready "$1" Yes "${2-}"; }
stop() { logout; }

for ends in "${ENDS[@]}"; do
	# shellcheck disable=SC2086
	test_case "iser.${ends/ /.}" "discovery, CHAP, fio, compared" iser $ends
done
test_case iser.mpa.mpa.unsolicited "InitialR2T=No" iser mpa mpa "$B4" No
test_case iser.mpa.mpa.dd "dd of an archive, compared after logging in again" copied
for ends in "${FEW_ENDS[@]}"; do
	name=iser.${ends/ /.}
	# shellcheck disable=SC2086
	{
		test_case "$name.no_path" "no packet for 8 s, under load" no_path $ends 8
		# siw's target can hang (mpa-storage.rst, Limits)
		[[ $ends == *siw ]] || test_case "$name.target_lost" \
			"the target goes and comes back under load" target_lost $ends
	}
done
test_case iser.mpa.mpa.device_gone "the client's device goes under load, and comes back" \
	device_gone_a mpa mpa
test_case iser.mpa.mpa.logout "logout under load" logout_loaded
test_case iser.mpa.mpa.logins "a login fails by libiscsi alone, of 20" logins 20
for ends in "${FEW_ENDS[@]}"; do
	# shellcheck disable=SC2086
	test_case "iser.${ends/ /.}.secret" "a wrong secret is refused" wrong_secret $ends
done
condition_cases iser
test_case iser.mpa.mpa.limited "ext4 and swap of a cgroup that has 48 MB" short

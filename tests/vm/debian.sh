# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Packages of any suite of Debian, below $CACHE/debian: fetched and checked by apt,
# unpacked, and never installed. Comes after lib.sh.

DEBIAN=$CACHE/debian
SUITES=(bookworm bookworm-security bookworm-backports trixie trixie-security
	trixie-backports sid)

# apt that knows the suites of SUITES, and no installed package. With a suite of its
# own (DEBIAN_SUITE) it knows that one and its base alone.
debian_apt() {
	local command=$1 lists=$DEBIAN/lists/${DEBIAN_SUITE:-all}

	shift
	"$command" -q -o Dir::State="$lists" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$DEBIAN/cache" -o Dir::Etc::sourcelist="$lists/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root \
		-o APT::Architecture=amd64 -o APT::Architectures=amd64 \
		-o APT::Default-Release="${DEBIAN_SUITE-}" "$@"
}

# The mirror that this machine has its packages from, without /debian at its end
debian_mirror() {
	local mirror=${DEBIAN_MIRROR-}

	# shellcheck disable=SC2016
	[[ -n $mirror ]] || mirror=$(apt-get indextargets --format '$(SITE)' \
		'Created-By: Packages' | sed -n 's|/debian/*$||p' | head -n 1)
	[[ -n $mirror ]] || die "DEBIAN_MIRROR has to name a mirror of Debian"
	echo "$mirror"
}

debian_sources() {
	local suite place mirror

	mirror=$(debian_mirror) || return
	for suite; do
		place=debian
		[[ $suite != *-security ]] || place=debian-security
		echo "deb [arch=amd64" \
			"signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
			"$mirror/$place $suite main"
	done
}

# The lists of these suites, at most a day old
debian_update() {
	local lists=$DEBIAN/lists/${DEBIAN_SUITE:-all}

	mkdir -p "$lists/lists/partial" "$DEBIAN/cache/archives/partial"
	debian_sources "$@" | cmp -s - "$lists/sources.list" ||
		{ debian_sources "$@" >"$lists/sources.list"; rm -f "$lists/fresh"; }
	[[ -z $(find "$lists/fresh" -mtime -1 2>/dev/null) ]] || return 0
	debian_apt apt-get -o APT::Update::Error-Mode=any update >&2 || return
	touch "$lists/fresh"
}

# debian_unpack ROOT PACKAGE...: download these, as PACKAGE or PACKAGE=VERSION, and
# unpack them into ROOT
debian_unpack() {
	local root=$1 debs deb status=0

	shift
	debs=$(mktemp -d "$DEBIAN/debs.XXXXXX")
	mkdir -p "$root"
	(cd "$debs" && debian_apt apt-get download "$@" >&2) || {
		rm -rf "$debs"
		return 1
	}
	for deb in "$debs"/*.deb; do
		dpkg -x "$deb" "$root" || status=1
	done
	rm -rf "$debs"
	return $status
}

# The newest linux-source of all suites: its version
debian_newest() {
	debian_update "${SUITES[@]}" &&
		debian_apt apt-cache madison linux-source |
		awk '{ print $3 }' | sort -V | tail -n 1
}

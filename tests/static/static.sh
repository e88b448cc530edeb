# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034
# The checks that need no guest, for tests/check.sh; each prints results.

STATIC=(build ynl command cppcheck checkpatch spelling kernel_doc)

# Types that netdev's robot omits, and those that only make sense in a patch
IGNORED=COMMIT_LOG_LONG_LINE,MACRO_ARG_REUSE,ALLOC_SIZEOF_STRUCT,\
NO_AUTHOR_SIGN_OFF,GIT_COMMIT_ID,CAMELCASE,FILE_PATH_CHANGES,BAD_REPORTED_BY_LINK

kernel_sources() {
	sources -name '*.[ch]' -printf '%P\n'
	(cd "$TOP" && printf '%s\n' tools/mpa/*.[ch])
	(cd "$TOP" && grep -rl --include='*.c' -E \
		'<(linux/(module|slab)|net/net_namespace)\.h>' tests/modules tests/fuzz/wire)
}

# Per file: trace events read best in a form of their own, a file that bridges
# versions has to compare them, and generated code is as it is.
ignored() {
	echo -n "$IGNORED"
	case $1 in
	include/trace/*) echo ,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE ;;
	*_compat.h) echo ,LINUX_VERSION_CODE,CONSTANT_COMPARISON ;;
	include/uapi/* | *_gen.[ch]) echo ,LONG_LINE ;;
	esac
}

# One build of everything, with sparse looking at each file as it is compiled
static_build() {
	local kdir module farm=$TOP/build/check/build.d log=$TOP/build/check/build.make

	kdir=$("$VM_DIR/kernel" "${flavour:-plain}")
	sync_farm "$farm"
	make -C "$kdir" M="$farm" "${MODULE_CONFIG[@]}" W=1 C=2 \
		CF=-D__CHECK_ENDIAN__ modules >"$log" 2>&1 ||
		{ cat "$log" >&2; echo "not ok build.w1 see build/check/build.make"; return; }
	if grep -E "(warning|error): |WARNING: |multiple modules" "$log" >&2; then
		echo "not ok build.w1 see build/check/build.make"
	else
		echo "ok build.w1 no warning with W=1, nor from sparse"
	fi
	for module in mpa:. mpa_rnic:rnic; do
		"$TOP/tests/static/layers.sh" "$farm" ${module/:/ } ||
			[[ $? == 1 ]] || echo "not ok layers.status"
	done
}

static_ynl() { "$TOP/tests/static/ynl.sh"; }

# The command, without a warning, and its man page
static_command() {
	local dir=$TOP/build/check/command

	if make -s -C "$TOP/tools/mpa" O="$dir" CFLAGS="-O2 -Werror" >&2; then
		echo "ok command.build no warning"
	else
		echo "not ok command.build"
	fi
	command_cases "$dir/mpa"
	command_installed "$dir"
}

# command_installed DIR: what install puts below a directory, uninstall removes
command_installed() {
	local args=(-s -C "$TOP/tools/mpa" "O=$1" "DESTDIR=$1/root" PREFIX=/usr) files=()

	rm -rf "$1/root"
	make "${args[@]}" install >&2
	mapfile -t files < <(find "$1/root" -type f -printf '%P\n' | sort)
	make "${args[@]}" uninstall >&2
	if [[ ${files[*]} == "usr/sbin/mpa usr/share/man/man8/mpa.8" &&
		-z $(find "$1/root" -type f) ]]; then
		echo "ok command.install"
	else
		echo "not ok command.install ${files[*]}"
	fi
}

# usage STATUS WORD...: that is the status of a mistaken command, and stdout is empty
usage() {
	local said rc=0

	said=$("$mpa" "${@:2}" 2>/dev/null) || rc=$?
	if ((rc == $1)) && [[ -z $said ]]; then
		echo "ok command.usage.${*:2}"
	else
		echo "not ok command.usage.${*:2} status $rc: $said"
	fi
}

command_cases() {
	local mpa=$1

	usage 2 -x
	usage 2 nonsense
	usage 2 show sport
	usage 2 show sport 0
	usage 2 show dport 65536
	usage 2 show dport -1
	usage 2 show sk xyz
	usage 2 monitor sport 1x
	if "$mpa" -V | grep -qx 'mpa [0-9.]*' && ! "$mpa" -V >/dev/full 2>&1; then
		echo "ok command.version"
	else
		echo "not ok command.version"
	fi
	if "$mpa" help | grep -q '^usage:' && ! "$mpa" help >/dev/full 2>&1; then
		echo "ok command.help"
	else
		echo "not ok command.help"
	fi
}

static_checkpatch() {
	local file

	kernel_sources | while read -r file; do
		if (cd "$TOP" && "$(kernel_source)/scripts/checkpatch.pl" --no-tree \
			--quiet --strict --max-line-length=80 --terse \
			--ignore "$(ignored "$file")" -f "$file") >&2; then
			echo "ok checkpatch.$file"
		else
			echo "not ok checkpatch.$file"
		fi
	done
}

# Its findings are judged as those of tests/static/lint.sh, with a planted one.
static_cppcheck() {
	local parts=$TOP/tests/static sources

	mapfile -t sources < <(kernel_sources | grep '\.c$' | grep -v '^tools/')
	(cd "$TOP" && cppcheck -q -j2 --inline-suppr -D__KERNEL__ -DMODULE \
		--enable=warning,style,performance,portability \
		--suppressions-list="$parts/cppcheck" \
		--include="$parts/cppcheck.h" -Iinclude -I. -Isamples \
		--template='{file}:{line}:{column}: {severity}: {message} [{id}]' \
		-Iinclude/uapi "${sources[@]}" tests/peer/*.c tools/mpa/*.c \
		tests/static/planted.c) \
		>"$OUT/cppcheck.said" 2>&1 || echo "not ok lint.cppcheck.ran"
	"$parts/findings.py" cppcheck "$TOP" <"$OUT/cppcheck.said" || true
}

# Apart from checkpatch, which takes minutes for it
static_spelling() {
	local said

	said=$(cd "$TOP" && find . -path ./build -prune -o -path ./.git -prune -o \
		-type f \( -name '*.[ch]' -o -name '*.rst' -o -name '*.md' \) \
		! -name '*.mod.c' -printf '%P\n' | xargs codespell) ||
		{ echo "not ok spelling"; echo "$said" >&2; return; }
	echo "ok spelling"
}

static_kernel_doc() {
	if (cd "$TOP" && kernel_sources |
		xargs "$(kernel_source)/scripts/kernel-doc" -none -Wall -Werror) >&2; then
		echo "ok kernel_doc"
	else
		echo "not ok kernel_doc"
	fi
}

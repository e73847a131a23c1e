# What the scripts that run the Windows program under wine have in common. Everything that wine writes goes to
# $WINEPREFIX, which the caller removes.
set -u
out() { printf '%s\n' "$*"; }
die() { out "FAIL: $*"; tail -n 20 "$WINEPREFIX"/*.log; exit 1; }
until_ok() { local n=$1 i; shift; for ((i = 0; i < n; i++)); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
export WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
unset CHATWRIGHT_TESTS CHATWRIGHT_HOME

# boot FOLDER makes a Windows and gives it the library in FOLDER that wine lacks.
boot() {
	wine wineboot --init >"$WINEPREFIX/boot.log" 2>&1 || die "wine does not start"
	cp "$1/bcryptprimitives.dll" "$WINEPREFIX/drive_c/windows/system32/"
	out "wine is there"
}
windows_path() { winepath -w "$1" 2>/dev/null; }

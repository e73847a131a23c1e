#!/bin/bash
# Runs the Windows program under wine, without a display:
#
#   wine.sh FOLDER INSTALLER ADDRESS FIXTURES
#
# FOLDER holds the programs and the library that wine lacks. Prints a line for each thing that was seen.
folder=$1 installer=$2 address=$3 fixtures=$4
. "${0%/*}/winelib.sh"
export CHATWRIGHT_NO_BROWSER=1
unset DISPLAY WAYLAND_DISPLAY
trap 'wineserver -k; wineserver -w' EXIT
boot "$folder"

# The program for the terminal prints, and has an exit code. The one with the tray has no console to print to.
wine "$folder/chatwright-tray.com" version >"$WINEPREFIX/version.log" 2>&1 || die "version"
out "says $(tr -d '\r' <"$WINEPREFIX/version.log")"
wine "$folder/chatwright-tray.com" --no-such-flag >/dev/null 2>&1
out "wrong usage is $?"

# The daemon answers, and reads its fixtures.
home=$(windows_path "$WINEPREFIX/home")
wine "$folder/chatwright-tray.exe" --headless --addr "$address" --upstream demo --state-dir "$home" \
	--datastate-fixtures "$(windows_path "$fixtures")" >"$WINEPREFIX/app.log" 2>&1 &
until_ok 600 curl -sf "http://$address/health" || die "the companion does not answer"
out "health $(curl -sf "http://$address/health")"
out "chat $(curl -sf -H 'Content-Type: application/json' \
	-d '{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello"}]}' "http://$address/v1/chat/completions")"
out "datastate $(curl -s -H 'Content-Type: application/json' -d @"$fixtures.request" "http://$address/datastate/query")"
[ -s "$WINEPREFIX/home/server.log" ] && out "log and records are in the state folder: $(cd "$WINEPREFIX/home" && ls -m | tr '\n' ' ')"
wineserver -k
wait

# The installer asks nobody (/S) and installs for this user.
wine "$installer" /S >"$WINEPREFIX/setup.log" 2>&1 || die "the installer"
programs="$WINEPREFIX/drive_c/users/$(id -un)/AppData/Local/Programs/Chatwright Tray"
until_ok 100 test -f "$programs/uninstall.exe" || die "nothing in $programs"
out "installed $(cd "$programs" && ls -m | tr '\n' ' ')"
wine reg query 'HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\ChatwrightTray' 2>/dev/null | tr -d '\r' |
	sed -n 's/^ *DisplayVersion *REG_SZ */listed as version /p'

# Installed again while it runs, it ends, is replaced, and comes back with what it had recorded.
export CHATWRIGHT_SERVER_ADDR=$address CHATWRIGHT_SERVER_UPSTREAM=demo
recorded() { wine "$programs/chatwright-tray.com" calls --since 1h --json 2>/dev/null | grep -c '"id"'; }
one() { [ "$(recorded)" = 1 ]; }
answers() { curl -sf "http://$address/health"; }
wine "$programs/chatwright-tray.exe" --headless >"$WINEPREFIX/first.log" 2>&1 & first=$!
until_ok 600 answers || die "the installed companion does not answer"
curl -sf -H 'Content-Type: application/json' -d '{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello"}]}' \
	"http://$address/v1/chat/completions" >/dev/null || die "a call"
until_ok 100 one || die "recorded: $(recorded) of 1 call"
wine "$installer" /S >"$WINEPREFIX/upgrade.log" 2>&1 || die "the installer, the second time"
wait "$first" || die "the companion that ran ended with $?"
until_ok 600 answers || die "the companion did not come back"
until_ok 100 one || die "after the upgrade: $(recorded) of 1 call"
out "upgraded while it ran, with its records"

# Taken away again. What was recorded is the user's.
wine "$programs/uninstall.exe" /S >"$WINEPREFIX/uninstall.log" 2>&1
until_ok 300 test ! -e "$programs" || die "left behind: $(ls "$programs")"
wine reg query 'HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\ChatwrightTray' >/dev/null 2>&1 || out "no longer listed"
find "$WINEPREFIX/drive_c" -iname '*chatwright*' | sed 's/^/left over: /'
out "uninstalled"

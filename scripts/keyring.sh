#!/usr/bin/env bash
# Sees to it that the test of the system's keychain has one, where that costs
# nothing: the Secret Service of GNOME. Without it that test is skipped.
set -euo pipefail

if command -v gnome-keyring-daemon >/dev/null && command -v dbus-run-session >/dev/null; then
	exit 0
fi
if [ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing gnome-keyring, for the test of the keychain"
	apt-get update -q >/dev/null &&
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends dbus gnome-keyring >/dev/null ||
		echo "it could not be installed; the test is skipped"
fi

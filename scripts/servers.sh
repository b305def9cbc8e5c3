#!/usr/bin/env bash
# Sees to it that the tests of channels have real servers to speak with, where
# that costs nothing: ngircd, Prosody, Dovecot and Postfix. The tests run them by
# themselves, with files of their own; without one its tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
have() { PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; }
have ngircd || missing+=(ngircd)
have prosody || missing+=(prosody)
have dovecot && [ -e /usr/lib/dovecot/imap ] && [ -e /usr/lib/dovecot/submission ] || missing+=(dovecot-imapd dovecot-submissiond)
postfix=there
[ -e /usr/lib/postfix/sbin/master ] || [ -e /usr/libexec/postfix/master ] || [ -e build/postfix/usr/lib/postfix/sbin/master ] || postfix=missing
if [ ${#missing[@]} = 0 ] && [ $postfix = there ]; then
	exit 0
fi
[ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0

# Nothing is to be started because of what is installed.
install() { DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y --no-install-recommends "$@" >/dev/null; }

# Debian lets Postfix be installed beside no other mail server, and OpenSMTPD is
# one (smtpd.sh). So its package is only unpacked, with the libraries that it
# needs installed.
unpack_postfix() {
	local dir=build/postfix.new libraries
	rm -rf "$dir" && mkdir -p "$dir" &&
		(cd "$dir" && apt-get download -q postfix >/dev/null 2>&1) &&
		libraries=$(dpkg-deb -f "$dir"/postfix_*.deb Depends | grep -o '\blib[a-z0-9.+-]*') &&
		install $libraries &&
		dpkg-deb -x "$dir"/postfix_*.deb "$dir" &&
		rm "$dir"/postfix_*.deb && rm -rf build/postfix && mv "$dir" build/postfix
}

apt-get update -q >/dev/null || { echo "no lists of packages; tests of channels are skipped"; exit 0; }
if [ ${#missing[@]} != 0 ]; then
	echo "installing ${missing[*]}, for the tests of channels"
	install "${missing[@]}" || echo "they could not be installed; their tests are skipped"
fi
if [ $postfix = missing ]; then
	echo "unpacking postfix, for the tests of channels"
	unpack_postfix || echo "it could not be unpacked; its tests are skipped"
fi

#!/usr/bin/env bash
# Sees to it that the tests of channels have real servers to speak with, where
# that costs nothing: ngircd, Prosody and Dovecot. The tests run them by
# themselves, with files of their own; without one its tests are skipped.
set -euo pipefail

missing=()
have() { PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; }
have ngircd || missing+=(ngircd)
have prosody || missing+=(prosody)
have dovecot && [ -e /usr/lib/dovecot/imap ] && [ -e /usr/lib/dovecot/submission ] || missing+=(dovecot-imapd dovecot-submissiond)
if [ ${#missing[@]} = 0 ]; then
	exit 0
fi
if [ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing ${missing[*]}, for the tests of channels"
	# Nothing is to be started because of it.
	apt-get update -q >/dev/null &&
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null ||
		echo "they could not be installed; their tests are skipped"
fi

#!/usr/bin/env bash
# Sees to it that the test of mails has a real mail server, where that costs
# nothing: OpenSMTPD. Without it that test is skipped.
set -euo pipefail

if command -v smtpd >/dev/null; then
	exit 0
fi
if [ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing opensmtpd, for the test of mails"
	# Another mail server may be here already: then it stays, and the test is skipped.
	if dpkg-query -W -f='${Provides}\n' 2>/dev/null | grep -q mail-transport-agent; then
		echo "this machine has a mail server of its own; the test is skipped"
		exit 0
	fi
	apt-get update -q >/dev/null &&
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y --no-install-recommends opensmtpd >/dev/null ||
		echo "it could not be installed; the test is skipped"
fi

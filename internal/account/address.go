package account

import (
	"strings"

	"ambry.dev/ambry"
)

// The lengths that RFC 5321 allows.
const (
	maxAddress = 254
	maxLocal   = 64
	maxLabel   = 63
)

// codeDigits is how long a code is.
const codeDigits = 6

var (
	errAddress = ambry.InvalidArgument.Errorf("this is no plain mail address; give exactly one, such as name@example.org")
	errCode    = ambry.InvalidArgument.Errorf("a code has %d digits, 0 to 9", codeDigits)
)

// Address returns an address as codes and accounts are kept under it: in lower
// case. It takes one plain ASCII address: no name beside it, no comment, no
// quotes, no route. The error does not repeat it.
func Address(text string) (string, error) {
	local, domain, found := strings.Cut(text, "@")
	if !found || len(text) > maxAddress || len(local) > maxLocal || !dotted(local, inLocal) || !dotted(domain, inDomain) {
		return "", errAddress
	}
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return "", errAddress
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		return "", errAddress // an IP address is no name of a domain
	}
	return strings.ToLower(text), nil
}

// dotted reports whether text is parts between dots, none of them empty.
func dotted(text string, may func(byte) bool) bool {
	for part := range strings.SplitSeq(text, ".") {
		if part == "" {
			return false
		}
		for i := range len(part) {
			if !may(part[i]) {
				return false
			}
		}
	}
	return true
}

func inLocal(c byte) bool { return inDomain(c) || strings.IndexByte("!#$%&'*+/=?^_`{|}~", c) >= 0 }

func inDomain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// checkCode reports whether text could be a code at all.
func checkCode(text string) error {
	if len(text) != codeDigits || strings.Trim(text, "0123456789") != "" {
		return errCode
	}
	return nil
}

package document

import (
	"encoding/hex"

	"ambry.dev/ambry"
)

// prefixes of ids, by layer.
var prefixes = map[ambry.Layer]string{
	ambry.L1: "trace_", ambry.L2: "policy_", ambry.L3: "world_", ambry.Skill: "skill_",
}

// IsLayer reports whether there is such a layer.
func IsLayer(l ambry.Layer) bool { return prefixes[l] != "" }

// MemoryID is what a memory is called outside: its layer and 20 hexadecimal digits.
func MemoryID(l ambry.Layer, d Digest) string { return prefixes[l] + hex.EncodeToString(d[:10]) }

// RawTurnID names a turn by its key.
func RawTurnID(key []byte) string { return "raw_" + hex.EncodeToString(key[:min(len(key), 10)]) }

// Package agents runs the real command lines of agents against a model that does
// not think, in a home directory that is thrown away: "make e2e-agents" installs
// them below build/ and runs it. It is apart from the other end-to-end tests,
// since it downloads hundreds of megabytes.
package agents

package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"net/http"

	"ambry.dev/ambry"
)

// maxBatch is how many messages one request may hold; the revision 2025-03-26
// has batches.
const maxBatch = 32

// message is what has to be known of a body before anybody answers it.
type message struct {
	id     []byte // as JSON; nil if there is none
	method string // empty for an answer and for a batch
	modern bool   // it is of a revision without sessions, whatever the headers say
}

// read looks into the body of a request, and leaves it to be read again.
func read(r *http.Request) (message, error) {
	if r.Method != http.MethodPost {
		return message{}, nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return message{}, ambry.InvalidArgument.Wrap(err, "the body cannot be read")
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return look(data)
	}
	var batch []jsontext.Value
	if err := json.Unmarshal(data, &batch); err != nil || len(batch) == 0 || len(batch) > maxBatch {
		return message{}, ambry.InvalidArgument.Errorf("a batch holds 1 to %d messages", maxBatch)
	}
	for _, one := range batch {
		if _, err := look(one); err != nil {
			return message{}, err
		}
	}
	return message{}, nil
}

// look reads the members of a message that decide who answers it. Names count
// in their one spelling only. The SDK would take an object that is neither a
// request nor an answer for an empty answer.
func look(data []byte) (message, error) {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method *string        `json:"method"`
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Method == nil && m.Result == nil && m.Error == nil {
		return message{}, ambry.InvalidArgument.Errorf("the body is no message of JSON-RPC 2.0")
	}
	if m.Method == nil {
		return message{id: m.ID}, nil
	}
	var params struct {
		Meta map[string]jsontext.Value `json:"_meta"`
	}
	// Params of another form are refused by whoever knows the method.
	known := json.Unmarshal(m.Params, &params) == nil && params.Meta["io.modelcontextprotocol/protocolVersion"] != nil
	return message{id: m.ID, method: *m.Method, modern: known || *m.Method == "server/discover"}, nil
}

package stubmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// messages speaks as the Anthropic Messages API does.
func (m *Model) messages(w http.ResponseWriter, req object) {
	var tools, results []string
	for _, t := range list(req, "tools") {
		tools = append(tools, text(t, "name"))
	}
	prompt := ""
	for _, msg := range list(req, "messages") {
		if text(msg, "role") != "user" {
			continue
		}
		told := false
		for _, block := range list(msg, "content") {
			if text(block, "type") == "tool_result" {
				results, told = append(results, texts(block["content"])), true
			}
		}
		if !told {
			prompt, results = texts(msg["content"]), nil
		}
	}
	a := m.think(prompt, tools, results)
	block, stop := object{"type": "text", "text": a.text}, "end_turn"
	if a.tool != "" {
		block, stop = object{"type": "tool_use", "id": a.id, "name": a.tool, "input": json.RawMessage(a.input)}, "tool_use"
	}
	usage := object{"input_tokens": 12, "output_tokens": 9}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": req["model"], "content": []any{block},
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if req["stream"] != true {
		reply(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	empty, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.tool != "" {
		empty = object{"type": "tool_use", "id": a.id, "name": a.tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": a.input}
	}
	stream(
		w,
		object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": empty},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"},
	)
}

// responses speaks as the OpenAI Responses API does.
func (m *Model) responses(w http.ResponseWriter, req object) {
	var tools, results []string
	spaces := map[string][2]string{}
	for _, t := range list(req, "tools") {
		tools = append(tools, text(t, "name"))
		for _, inner := range list(t, "tools") { // a namespace of them
			full := text(t, "name") + text(inner, "name")
			tools = append(tools, full)
			spaces[full] = [2]string{text(t, "name"), text(inner, "name")}
		}
	}
	prompt := ""
	for _, item := range list(req, "input") {
		switch {
		case text(item, "type") == "function_call_output":
			results = append(results, texts(item["output"]))
		case text(item, "role") == "user":
			prompt, results = texts(item["content"]), nil
		}
	}
	a := m.think(prompt, tools, results)
	item := object{
		"id": "m1", "type": "message", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": a.text, "annotations": []any{}}},
	}
	if a.tool != "" {
		item = object{"id": "f1", "type": "function_call", "call_id": a.id, "name": a.tool, "arguments": a.input, "status": "completed"}
		if space, ok := spaces[a.tool]; ok {
			item["namespace"], item["name"] = space[0], space[1]
		}
	}
	usage := object{
		"input_tokens": 5, "output_tokens": 6, "total_tokens": 11,
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
	}
	whole := object{"id": "r1", "object": "response", "status": "completed", "output": []any{item}, "usage": usage}
	if req["stream"] != true {
		reply(w, whole)
		return
	}
	events := []object{
		{"type": "response.created", "response": object{"id": "r1", "object": "response", "status": "in_progress", "output": []any{}}},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
	}
	if a.tool == "" {
		events = append(events, object{"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": a.text})
	}
	events = append(
		events,
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": whole},
	)
	for i := range events {
		events[i]["sequence_number"] = i
	}
	stream(w, events...)
}

// chat speaks as the OpenAI Chat Completions API does.
func (m *Model) chat(w http.ResponseWriter, req object) {
	var tools, results []string
	for _, t := range list(req, "tools") {
		if f, ok := t["function"].(object); ok {
			tools = append(tools, text(f, "name"))
		}
	}
	prompt, before := "", ""
	for _, msg := range list(req, "messages") {
		role := text(msg, "role")
		switch role {
		case "tool":
			results = append(results, texts(msg["content"]))
		case "user":
			if before != role {
				prompt = ""
			}
			// Some tell what hooks said in a message of its own behind the prompt.
			prompt, results = prompt+texts(msg["content"])+"\n", nil
		}
		before = role
	}
	a := m.think(prompt, tools, results)
	said, stop := object{"role": "assistant", "content": a.text}, "stop"
	if a.tool != "" {
		stop = "tool_calls"
		said = object{"role": "assistant", "content": nil, "tool_calls": []any{object{
			"index": 0, "id": a.id, "type": "function", "function": object{"name": a.tool, "arguments": a.input},
		}}}
	}
	usage := object{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
	head := func(kind string, choice object) object {
		return object{"id": "c1", "object": kind, "created": 1, "model": "stub", "choices": []any{choice}}
	}
	if req["stream"] != true {
		whole := head("chat.completion", object{"index": 0, "finish_reason": stop, "message": said})
		whole["usage"] = usage
		reply(w, whole)
		return
	}
	last := head("chat.completion.chunk", object{"index": 0, "delta": object{}, "finish_reason": stop})
	last["usage"] = usage
	stream(w, head("chat.completion.chunk", object{"index": 0, "delta": said}), last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// gemini speaks as the Gemini API does.
func (m *Model) gemini(w http.ResponseWriter, req object, streaming bool) {
	var tools, results []string
	for _, t := range list(req, "tools") {
		for _, f := range list(t, "functionDeclarations") {
			tools = append(tools, text(f, "name"))
		}
	}
	prompt := ""
	for _, c := range list(req, "contents") {
		if text(c, "role") != "user" && text(c, "role") != "function" {
			continue
		}
		told := false
		for _, part := range list(c, "parts") {
			if f, ok := part["functionResponse"].(object); ok {
				results, told = append(results, texts(f["response"])), true
			}
		}
		if !told {
			prompt, results = texts(c["parts"]), nil
		}
	}
	a := m.think(prompt, tools, results)
	part := object{"text": a.text}
	if a.tool != "" {
		part = object{"functionCall": object{"name": a.tool, "args": json.RawMessage(a.input)}}
	}
	whole := object{
		"candidates":    []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{part}}}},
		"usageMetadata": object{"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9},
		"modelVersion":  "stub",
	}
	if !streaming {
		reply(w, whole)
		return
	}
	stream(w, whole)
}

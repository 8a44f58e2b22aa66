// A server that tpharness plays scenarios on: requests come on standard input, a line each, and are answered on output.
//
// It keeps texts, and says of everything else that it cannot play it. Put your own server behind serve: the events are
// what your model and its tools would have produced. What else may be asked, and what the thread has to look like, is in
// the implementer's guide, which `tpharness docs CONTROL` prints. Compile it before you play: go build -o target target.go
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
)

type object = map[string]any

// errCannotPlay is for a case that has what this server does not do yet.
var errCannotPlay = errors.New("texts only so far")

type testCase struct {
	ThreadID  string          `json:"thread_id"`
	CreatedAt string          `json:"created_at"`
	Agents    json.RawMessage `json:"agents"`
	Turns     []json.RawMessage
}

type turn struct {
	Type         string `json:"turn_type"`
	SubmittedAt  string `json:"submitted_at"`
	AgentID      string `json:"agent_id"`
	StartedAt    string `json:"started_at"`
	Events       []event
	Interruption *struct{ Reason, At string }
}

type event struct {
	Kind         string `json:"event_kind"`
	At           string
	Index        int
	ModelName    string `json:"model_name"`
	ProviderName string `json:"provider_name"`
	FinishReason string `json:"finish_reason"`
	Part         struct {
		Kind    string `json:"part_kind"`
		Content json.RawMessage
	}
	Delta struct {
		Content string `json:"content_delta"`
	}
}

func main() {
	in := bufio.NewReader(os.Stdin) // a Scanner would end at lines of 64 KiB
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		var request struct {
			ID   int
			Op   string
			Case testCase
		}
		if err := json.Unmarshal(line, &request); err != nil {
			log.Fatal(err)
		}
		reply, err := answer(request.Op, request.Case)
		if err != nil {
			reply = object{"error": object{"message": err.Error(), "cannot_play": errors.Is(err, errCannotPlay)}}
		}
		reply["id"] = request.ID
		if err := json.NewEncoder(os.Stdout).Encode(reply); err != nil {
			log.Fatal(err)
		}
		if request.Op == "stop" {
			return
		}
	}
}

// answer returns the answer to a request.
func answer(op string, c testCase) (object, error) {
	switch op {
	case "start":
		roles, versions := []string{"server"}, []string{"0.0.4"}
		return object{"capabilities": object{"contract": "1.2", "name": "mine", "roles": roles, "versions": versions}}, nil
	case "serve":
		thread, err := serve(c)
		return object{"served": object{"threads": object{"0.0.4": thread}}}, err
	case "stop":
		return object{"stopped": true}, nil
	}
	return nil, fmt.Errorf("%w: no %s yet", errCannotPlay, op)
}

// serve plays the turns of a case and returns the thread that is left of them.
func serve(c testCase) (object, error) {
	turns := []any{} // not nil, which JSON has as null
	updated := c.CreatedAt
	for _, text := range c.Turns {
		var given turn
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, fmt.Errorf("%w: %w", errCannotPlay, err)
		}
		if given.Type == "user" {
			turns, updated = append(turns, text), given.SubmittedAt
			continue
		}
		kept, end, err := play(given)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			turns, updated = append(turns, kept), end
		}
	}
	return object{
		"version": "0.0.4", "thread_id": c.ThreadID, "created_at": c.CreatedAt, "agents": c.Agents,
		"updated_at": updated, "turns": turns,
	}, nil
}

// play plays one run of an agent and returns its turn, nil for one of which an interruption has left nothing, and when it
// ended.
func play(run turn) (kept object, end string, err error) {
	messages := []object{}
	kept = object{"turn_type": "agent", "agent_id": run.AgentID, "started_at": run.StartedAt}
	asked := object{}
	var texts []string // of the response that is streaming; what is cut in the middle of it is lost
	var began string
	for _, e := range run.Events {
		if e.Part.Kind != "" && e.Part.Kind != "text" {
			return nil, "", fmt.Errorf("%w: no %s", errCannotPlay, e.Part.Kind)
		}
		switch e.Kind {
		case "model_request":
			asked = object{"model_name": e.ModelName, "provider_name": e.ProviderName}
		case "part_start":
			if texts == nil {
				began = e.At
			}
			var content string
			if err := json.Unmarshal(e.Part.Content, &content); err != nil {
				return nil, "", fmt.Errorf("%w: %w", errCannotPlay, err)
			}
			texts = append(texts, content)
		case "part_delta":
			if e.Index >= len(texts) {
				return nil, "", fmt.Errorf("%w: a delta of no part", errCannotPlay)
			}
			texts[e.Index] += e.Delta.Content
		case "part_end":
		case "model_response_end":
			parts := []object{}
			for _, text := range texts {
				parts = append(parts, object{"part_kind": "text", "content": text})
			}
			response := object{"message_type": "response", "timestamp": began, "agent_id": run.AgentID, "parts": parts}
			if e.FinishReason != "" {
				response["finish_reason"] = e.FinishReason
			}
			for name, value := range asked {
				if value != "" {
					response[name] = value
				}
			}
			messages, texts = append(messages, response), nil
		case "agent_run_result":
			kept["messages"], kept["completed_at"], kept["completion_status"] = messages, e.At, "complete"
			return kept, e.At, nil
		default:
			return nil, "", fmt.Errorf("%w: no %s", errCannotPlay, e.Kind)
		}
	}
	if run.Interruption == nil || len(messages) == 0 {
		return nil, "", nil
	}
	why := object{"reason": run.Interruption.Reason, "interrupted_at": run.Interruption.At}
	kept["messages"], kept["interruption"], kept["completion_status"] = messages, why, "interrupted"
	return kept, run.Interruption.At, nil
}

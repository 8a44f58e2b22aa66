// ThreadProtocol in one file of plain Go: a server that tpharness can certify over stdio.
//
// It needs Go 1.22 and its standard library, and shares no code with tpharness. Read it from top to bottom:
//
//  1. stdio      one JSON object a line, in and out
//  2. Text       strings that may hold half a character
//  3. Thread     what is kept of a conversation, in the three versions of the protocol
//  4. Run        the events of a model and its tools, one by one
//  5. Responses  the parts of an answer, from their first piece to their end
//  6. Tools      calls and what comes back for them
//  7. Facts      prompts, events of the application, sources, errors
//  8. Turn       what stays of a run, whole or cut
//  9. Stream     what a client is told
//
// Build it first, as compiling takes longer than a target has to answer:
//
//	go build -o plain_go examples/plain_go.go
//	tpharness run --server "stdio:./plain_go"
//
// The numbers R1–R63 are the rulings in conformance/rulings.md; docs/EVENTS.md shows what each event becomes. Time is
// data here: it comes with each event. A value that nobody has to look into stays the JSON that it was (R7).
package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

type (
	object = map[string]any
	raw    = json.RawMessage
)

var capabilities = object{
	"contract": "1.2",
	"name":     "plain-go",
	"version":  "1.0",
	"roles":    []string{"server"},
	"versions": []string{"2.0.0", "0.0.3", "0.0.4"},
	"carriers": true,
}

// =============================================================================================== 1. stdio

func main() {
	in := bufio.NewReader(os.Stdin) // a Scanner would end at lines of 64 KiB (R53)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			told, stop := answer(line)
			if _, err := os.Stdout.Write(told); err != nil || stop {
				return
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "standard input cannot be read:", err)
			os.Exit(1)
		}
	}
}

// answer returns the line that answers a request, and whether it was the last one. Whatever goes wrong in a case is
// told as its answer, and the next case begins anew.
func answer(line []byte) (told []byte, stop bool) {
	var request struct {
		ID   raw
		Op   string
		Case serveCase
	}
	defer func() {
		if problem := recover(); problem != nil {
			told = encode(object{"id": request.ID, "error": object{"message": fmt.Sprint(problem)}})
		}
	}()
	if err := json.Unmarshal(line, &request); err != nil {
		panic(fmt.Sprint("not a request: ", err))
	}
	switch request.Op {
	case "start":
		return encode(object{"id": request.ID, "capabilities": capabilities}), false
	case "serve":
		return encode(object{"id": request.ID, "served": request.Case.serve()}), false
	case "stop":
		return encode(object{"id": request.ID, "stopped": true}), true
	}
	panic(fmt.Sprintf("there is no op %q here", request.Op))
}

// encode returns a value as a line of JSON.
func encode(value any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return line.Bytes()
}

// =============================================================================================== 2. Text

// A Text is a string in which half a character may stand, as a model or its server may have cut one between UTF-16 units
// (R43). encoding/json would put U+FFFD there. A half is held as the three bytes that UTF-8 would have for it.
type Text string

// UnmarshalJSON reads a JSON string.
func (t *Text) UnmarshalJSON(value []byte) error {
	if string(value) == "null" {
		return nil
	}
	if len(value) < 2 || value[0] != '"' {
		return errors.New("not a string")
	}
	var text []byte
	rest := value[1 : len(value)-1]
	from := 0 // what stands there up to the next half needs nothing special
	take := func(to int) error {
		var plain string
		quoted := slices.Concat([]byte{'"'}, rest[from:to], []byte{'"'})
		err := json.Unmarshal(quoted, &plain)
		text = append(text, plain...)
		return err
	}
	for i := 0; i < len(rest); i++ {
		if rest[i] != '\\' {
			continue
		}
		unit := escaped(rest[i:])
		if !utf16.IsSurrogate(unit) {
			i++ // what is escaped may be a backslash
			continue
		}
		if next := escaped(rest[i+6:]); utf16.DecodeRune(unit, next) != utf8.RuneError {
			i += 11
			continue
		}
		if err := take(i); err != nil {
			return err
		}
		text = append(text, 0xed, 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
		i += 5
		from = i + 1
	}
	err := take(len(rest))
	*t = Text(text)
	return err
}

// escaped returns the UTF-16 unit that an escape at the beginning of these bytes names, -1 if there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}

// MarshalJSON writes a JSON string; a half that is still alone is written as its escape.
func (t Text) MarshalJSON() ([]byte, error) {
	line := []byte{'"'}
	for rest := string(t); rest != ""; {
		char, size := utf8.DecodeRuneInString(rest)
		switch {
		case char == utf8.RuneError && size == 1 && isHalf(rest):
			line = fmt.Appendf(line, `\u%04x`, half(rest))
			size = 3
		case char < 0x20 || char == '"' || char == '\\':
			line = fmt.Appendf(line, `\u%04x`, char)
		default:
			line = utf8.AppendRune(line, char)
		}
		rest = rest[size:]
	}
	return append(line, '"'), nil
}

// plus joins two texts, and the halves of a character where they meet.
func (t Text) plus(more Text) Text {
	if cut := len(t) - 3; cut >= 0 && isHalf(string(t[cut:])) && isHalf(string(more)) {
		if whole := utf16.DecodeRune(half(string(t[cut:])), half(string(more))); whole != utf8.RuneError {
			return t[:cut] + Text(whole) + more[3:]
		}
	}
	return t + more
}

func isHalf(text string) bool { return len(text) >= 3 && text[0] == 0xed && text[1] >= 0xa0 }
func half(text string) rune   { return 0xd000 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f) }

// asText returns a value that is a string as it is, and any other as its JSON.
func asText(value raw) Text {
	var text Text
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var short bytes.Buffer
	if json.Compact(&short, value) != nil {
		return ""
	}
	return Text(short.Bytes())
}

// orNull returns the value, and null for one that was not there.
func orNull(value raw) raw {
	if len(value) == 0 {
		return raw("null")
	}
	return value
}

func isNull(value raw) bool { return string(orNull(value)) == "null" }

// =============================================================================================== 3. Thread

type serveCase struct {
	ThreadID  string `json:"thread_id"`
	CreatedAt string `json:"created_at"`
	Agents    map[string]raw
	Versions  []string
	Carriers  bool
	Turns     []raw
}

// A givenTurn is what the user submitted, or the run of an agent with the events of its model and tools.
type givenTurn struct {
	Type         string `json:"turn_type"`
	SubmittedAt  string `json:"submitted_at"`
	Parts        []prompt
	AgentID      string `json:"agent_id"`
	StartedAt    string `json:"started_at"`
	MessageID    string `json:"message_id"`
	Events       []raw
	Interruption *struct {
		Reason, At, Tell string
	}
}

// A thread is what is kept of a conversation.
type thread struct {
	turns   []any // user turns as they came, and agentTurns
	asked   []prompt
	count   int // of its calls
	updated string
	pending map[string]*call // calls of finished runs that wait for their returns (R30)
}

type agentTurn struct {
	Type         string           `json:"turn_type"`
	AgentID      string           `json:"agent_id"`
	StartedAt    string           `json:"started_at"`
	Messages     []message        `json:"messages"`
	TotalUsage   map[string]int64 `json:"total_usage,omitempty"`
	Interruption *interruption    `json:"interruption,omitempty"`
	CompletedAt  string           `json:"completed_at,omitempty"`
	Status       string           `json:"completion_status,omitempty"`
}

type interruption struct {
	Reason string `json:"reason"`
	At     string `json:"interrupted_at"`
}

// A message is a response, a request or a system event.
type message struct {
	Type         string  `json:"message_type"`
	Timestamp    string  `json:"timestamp"`
	AgentID      string  `json:"agent_id,omitempty"`
	Parts        []any   `json:"parts,omitempty"`
	ModelName    Text    `json:"model_name,omitempty"`
	ProviderName Text    `json:"provider_name,omitempty"`
	ResponseID   Text    `json:"provider_response_id,omitempty"`
	FinishReason string  `json:"finish_reason,omitempty"`
	Usage        raw     `json:"usage,omitempty"`
	EventType    string  `json:"event_type,omitempty"`
	EventData    raw     `json:"event_data,omitempty"`
	SourceAgent  Text    `json:"source_agent,omitempty"`
	TargetAgents *[]Text `json:"target_agents,omitempty"`
}

// A part is what a thread keeps of a part. Those of kinds of their own are kept as they came (R7).
type part struct {
	Kind         string          `json:"part_kind"`
	ToolName     Text            `json:"tool_name,omitempty"`
	ToolCallID   string          `json:"tool_call_id,omitempty"`
	Status       string          `json:"status,omitempty"`
	Content      any             `json:"content,omitempty"`
	ContentRef   *map[string]raw `json:"content_ref,omitempty"`
	Metadata     raw             `json:"metadata,omitempty"`
	Args         any             `json:"args,omitempty"`
	ID           Text            `json:"id,omitempty"`
	ThinkingID   Text            `json:"thinking_id,omitempty"`
	Signature    Text            `json:"signature,omitempty"`
	ProviderName Text            `json:"provider_name,omitempty"`
}

// serve plays the turns of a case and returns the thread in each version, with the packets of each run.
func (c serveCase) serve() object {
	th := &thread{turns: []any{}, updated: c.CreatedAt, pending: map[string]*call{}}
	streams := [][]packet{}
	for _, given := range c.Turns {
		var turn givenTurn
		if err := json.Unmarshal(given, &turn); err != nil {
			panic(err)
		}
		if turn.Type == "user" {
			th.turns = append(th.turns, given)
			th.asked, th.updated = turn.Parts, turn.SubmittedAt
			continue
		}
		r := newRun(th, c, turn)
		r.play(turn)
		streams = append(streams, r.packets)
	}
	threads := object{}
	for _, version := range c.Versions {
		threads[version] = object{
			"version": version, "thread_id": c.ThreadID, "created_at": c.CreatedAt, "agents": c.Agents,
			"updated_at": th.updated, "turns": th.in(version),
		}
	}
	return object{"threads": threads, "streams": streams}
}

// oldNames are those of the normative events before 0.0.4 (R1).
var oldNames = map[string]string{
	"data-tp-agent_handoff": "agent.handoff",
	"data-tp-thread_spawn":  "thread.spawn",
	"data-tp-thread_merge":  "thread.merge",
	"data-tp-thread_end":    "thread.end",
	"data-tp-error":         "error",
}

// in returns the turns as a version has them: interrupted turns and the words for them are of 0.0.4 (R18), and 2.0.0 has
// names of events without their prefix (R34), and no references, which are the content there (R6).
func (th *thread) in(version string) []any {
	if version == "0.0.4" {
		return th.turns
	}
	turns := []any{}
	for _, held := range th.turns {
		turn, ok := held.(agentTurn)
		if !ok {
			turns = append(turns, held)
			continue
		}
		if turn.Interruption != nil {
			continue
		}
		turn.Status = ""
		turn.Messages = slices.Clone(turn.Messages)
		for i, m := range turn.Messages {
			if old, ok := oldNames[m.EventType]; ok {
				turn.Messages[i].EventType = old
			} else if name := strings.TrimPrefix(m.EventType, "data-"); version == "2.0.0" && name != "" {
				turn.Messages[i].EventType = name
			}
			if version == "2.0.0" {
				turn.Messages[i].Parts = referring(m.Parts)
			}
		}
		turns = append(turns, turn)
	}
	return turns
}

func referring(parts []any) []any {
	parts = slices.Clone(parts)
	for i, held := range parts {
		if p, ok := held.(part); ok && p.ContentRef != nil {
			p.Content = p.ContentRef
			parts[i] = p
		}
	}
	return parts
}

// keep adds a turn, of which nothing may be left (R24).
func (th *thread) keep(turn *agentTurn) {
	if turn == nil {
		return
	}
	th.turns = append(th.turns, *turn)
	th.updated = turn.CompletedAt
	if turn.Interruption != nil {
		th.updated = turn.Interruption.At
	}
}

// =============================================================================================== 4. Run

// A run plays the events of one agent: it records what happened, and tells the client.
type run struct {
	thread    *thread
	providers map[string]Text // of the agents, by id
	carriers  bool
	agent     string
	began     string // the run
	started   string // the turn; a hand-off begins another one
	now       string
	facts     []*fact
	response  *response // the last one that has begun, also where it was taken back
	calls     map[string]*call
	waiting   map[string]*call
	model     Text
	provider  Text
	usage     map[string]int64
	ended     bool
	broken    *agentTurn // the turn as it stood at an error, if anything was left of it
	failed    bool       // an error has come

	packets []packet
	out     bytes.Buffer
	inStep  bool
	names   map[string]int
}

func newRun(th *thread, c serveCase, turn givenTurn) *run {
	r := &run{
		thread: th, carriers: c.Carriers, providers: map[string]Text{}, agent: turn.AgentID, packets: []packet{},
		began: turn.StartedAt, started: turn.StartedAt, now: turn.StartedAt,
		calls: map[string]*call{}, usage: map[string]int64{}, names: map[string]int{},
	}
	for id, waiting := range th.pending {
		r.calls[id] = waiting
	}
	for id, agent := range c.Agents {
		var named struct {
			ProviderName Text `json:"provider_name"`
		}
		if json.Unmarshal(agent, &named) == nil {
			r.providers[id] = named.ProviderName
		}
	}
	return r
}

// play plays all events, and what ends the run if they do not.
func (r *run) play(turn givenTurn) {
	start := object{"type": "start"}
	if turn.MessageID != "" {
		start["messageId"] = turn.MessageID
	}
	r.send(start)
	r.carry(object{"agent_id": r.agent, "started_at": r.started})
	r.flush(nil)
	for i, event := range turn.Events {
		if !r.ended { // R26: what comes after the end changes nothing
			r.take(event)
			r.flush(&i)
		}
	}
	if r.ended {
		r.out.WriteString("data: [DONE]\n\n")
		r.flush(nil)
		return
	}
	reason := "network_failure" // R27: an end that nobody has told
	if cut := turn.Interruption; cut != nil {
		r.now = cut.At
		if cut.Reason != "incomplete_stream" {
			reason = cut.Reason
		}
		if cut.Tell == "abort" {
			facts := object{"interrupted_at": cut.At}
			switch cut.Reason {
			case "user_cancelled", "network_failure", "timeout", "safety_halt", "error":
			default: // R27: only a carrier can name it
				facts["reason"] = cut.Reason
			}
			r.carry(facts)
			r.send(object{"type": "abort", "reason": cut.Reason})
			r.out.WriteString("data: [DONE]\n\n")
			r.flush(nil)
		}
	}
	r.interrupt(reason)
}

// interrupt ends the turn; the first interruption stands, and an error is one (R26).
func (r *run) interrupt(reason string) {
	if r.failed {
		r.thread.pending = r.waiting
		r.thread.keep(r.broken)
		return
	}
	r.thread.keep(r.turn(reason))
	for _, c := range r.thread.pending {
		if c.output != nil && !c.output.kept(true) {
			c.waitAgain()
		}
	}
}

// take plays one event. One that lacks a field, or has it in another form, changes nothing (R36).
func (r *run) take(text raw) {
	var event struct {
		Kind   string   `json:"event_kind"`
		At     string   `json:"at"`
		Millis *float64 `json:"_t_ms"`
	}
	if json.Unmarshal(text, &event) != nil {
		return
	}
	if event.At != "" {
		r.now = event.At
	} else if event.Millis != nil {
		r.now = instant(r.began).Add(time.Duration(*event.Millis * float64(time.Millisecond))).Format(time.RFC3339Nano)
	}
	switch event.Kind {
	case "part_start":
		r.startPart(text)
	case "part_delta":
		r.addToPart(text)
	case "part_end":
		r.endPart(text)
	case "model_response_end":
		r.endResponse(text)
	case "response_reset":
		r.resetResponse()
	case "function_tool_call", "output_tool_call":
		r.startTool(text)
	case "deferred_tool_requests":
		r.askApprovals(text)
	case "tool_progress":
		r.progress(text)
	case "function_tool_result", "output_tool_result":
		r.endTool(text)
	case "model_request", "enqueued_messages":
		r.request(text)
	case "system_event":
		r.systemEvent(text)
	case "custom":
		r.customEvent(text)
	case "error":
		r.fail(text)
	case "agent_start":
		r.handOff(text)
	case "agent_run_result":
		r.end(text)
	}
}

// instant returns a time; one without an offset is in UTC (R47).
func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, _ = time.Parse("2006-01-02T15:04:05", text)
	}
	return at.UTC()
}

// handOff completes the turn, and begins that of another agent (R45).
func (r *run) handOff(text raw) {
	var event struct {
		AgentID string `json:"agent_id"`
	}
	if json.Unmarshal(text, &event) != nil || event.AgentID == "" || event.AgentID == r.agent {
		return
	}
	r.finishResponse()
	r.sendInputs()
	r.finishStep()
	if slices.ContainsFunc(r.facts, func(f *fact) bool { return f.kind != responseFact || len(f.response.parts) > 0 }) {
		r.complete()
		r.usage = map[string]int64{}
	}
	r.agent, r.started, r.facts, r.response = event.AgentID, r.now, nil, nil
	r.model, r.provider = "", ""
	r.failed, r.broken = false, nil
	r.carry(object{"agent_id": r.agent, "started_at": r.started})
}

// complete keeps a turn that has ended as it should, and remembers its calls without a return (R30).
func (r *run) complete() {
	r.thread.keep(r.turn(""))
	r.thread.pending = map[string]*call{}
	for id, c := range r.calls {
		if !c.answered {
			r.thread.pending[id] = c
		}
	}
}

// end plays the result of a run: what is open goes (R28), and the finish reason may interrupt the turn (R27, R44).
func (r *run) end(text raw) {
	var event struct {
		FinishReason string `json:"finish_reason"`
		Usage        map[string]any
	}
	if json.Unmarshal(text, &event) != nil {
		return
	}
	r.finishResponse()
	r.sendInputs()
	r.finishStep()
	r.ended = true
	facts := object{"completed_at": r.now}
	if len(r.usage) == 0 { // R17: otherwise these tokens have been counted
		if used := r.count(event.Usage); used != nil {
			facts["usage"] = used
		}
	}
	reason := finishReason(event.FinishReason)
	if r.response != nil && (reason == "" || r.response.reason == "content_filter") { // R27
		reason = r.response.reason
	}
	why, interrupts := map[string]string{"content_filter": "safety_halt", "interrupted": "user_cancelled"}[reason]
	if interrupts {
		delete(facts, "completed_at")
		facts["interrupted_at"] = r.now
	}
	r.carry(facts)
	finish := object{"type": "finish"}
	if reason != "" {
		finish["finishReason"] = wireReason(reason)
	}
	r.send(finish)
	if interrupts || r.failed && reason == "error" {
		r.interrupt(why)
		return
	}
	r.complete()
}

// count adds to the usage of the turn; noughts and what is not a count of tokens are left aside (R17). It returns what is
// left, nil for nothing.
func (r *run) count(usage map[string]any) raw {
	used := map[string]int64{}
	for word, value := range usage {
		if word == "requests" || word == "tool_calls" { // they are not tokens
			continue
		}
		if n, ok := value.(float64); ok && n > 0 && n == float64(int64(n)) {
			name := usageName(word)
			used[name] = max(used[name], int64(n)) // two words for one count tell the same tokens
		}
	}
	if len(used) == 0 {
		return nil
	}
	for name, n := range used {
		r.usage[name] += n
	}
	return bytes.TrimSpace(encode(used))
}

// usageName returns the name of a count in the spelling of the thread (R17).
func usageName(word string) string {
	switch word {
	case "inputTokens":
		return "input_tokens"
	case "outputTokens":
		return "output_tokens"
	case "totalTokens":
		return "total_tokens"
	case "reasoningTokens", "output_reasoning_tokens":
		return "thinking_tokens"
	}
	return word
}

// finishReason returns a finish reason in the spelling of the thread (R16).
func finishReason(word string) string {
	switch word {
	case "tool-calls", "tool_calls":
		return "tool_call"
	case "content-filter", "safety_filter":
		return "content_filter"
	}
	return word
}

// wireReason returns a finish reason in the spelling of the stream.
func wireReason(word string) string {
	switch word {
	case "stop", "length", "error", "interrupted":
		return word
	case "content_filter":
		return "content-filter"
	case "tool_call":
		return "tool-calls"
	}
	return "other"
}

// =============================================================================================== 5. Responses

// A response is one answer of the model. It is finished at its end, or when the first of its tools starts (R40).
type response struct {
	at       string
	parts    []*streamed
	byIndex  map[int]*streamed
	calls    []*call
	finished bool
	model    Text
	provider Text
	id       Text
	reason   string
	usage    raw
}

// A streamed part is one that may still grow. Only what has ended is kept (R10).
type streamed struct {
	part
	block string // its id on the stream
	whole raw    // a part of a kind of its own
	call  *call
	of    *call // whose output it is, if the provider ran the tool
	ended bool
}

// A call is one of a tool. Its arguments come as JSON text in pieces, or as objects that are merged.
type call struct {
	id         string
	name       Text
	text       Text
	fields     map[string]raw
	provider   Text
	ofProvider bool // the provider runs the tool (R42)
	response   *response
	position   int // among the calls of the thread
	sent       bool
	answered   bool
	output     *response // in which the provider's output stands (R42)
}

// waitAgain takes the output back, which goes with its response (R42).
func (c *call) waitAgain() { c.answered, c.output = false, nil }

// A givenPart has the fields of parts that a run looks at.
type givenPart struct {
	Kind         string `json:"part_kind"`
	Content      raw
	ID           Text
	Signature    Text
	ProviderName Text    `json:"provider_name"`
	ToolName     *Text   `json:"tool_name"`
	ToolCallID   *string `json:"tool_call_id"`
	Args         raw
	Metadata     raw `json:"provider_metadata"`
}

type partEvent struct {
	Index *int
	Part  raw
	given givenPart
	text  Text
	args  givenArgs
	file  file
}

// A givenArgs is what an event has of the arguments of a call: JSON text, an object, or nothing.
type givenArgs struct {
	text   *Text
	fields map[string]raw
}

// UnmarshalJSON refuses values of other forms.
func (a *givenArgs) UnmarshalJSON(value []byte) error {
	if value[0] == '{' {
		return json.Unmarshal(value, &a.fields)
	}
	return json.Unmarshal(value, &a.text)
}

func readPart(text raw) (event partEvent, ok bool) {
	err := json.Unmarshal(text, &event)
	if err != nil || event.Index == nil || *event.Index < 0 || json.Unmarshal(event.Part, &event.given) != nil {
		return event, false
	}
	switch event.given.Kind {
	case "", "system-prompt", "user-prompt", "tool-return", "retry-prompt": // R57: none of a response
		return event, false
	case "text", "thinking":
		return event, json.Unmarshal(orNull(event.given.Content), &event.text) == nil
	case "tool-call", "builtin-tool-call":
		named := event.given.ToolCallID != nil && event.given.ToolName != nil
		return event, named && json.Unmarshal(orNull(event.given.Args), &event.args) == nil
	case "builtin-tool-return":
		return event, event.given.ToolCallID != nil
	case "file", "custom:reasoning-file":
		event.file, ok = readFile(event.given.Content)
		return event, ok
	}
	return event, true
}

func (r *run) streaming() bool { return r.response != nil && !r.response.finished }

// begin begins a response, unless one is streaming.
func (r *run) begin() *response {
	if r.streaming() {
		return r.response
	}
	r.sendInputs()
	r.finishStep()
	r.response = &response{at: r.now, byIndex: map[int]*streamed{}, model: r.model, provider: r.provider}
	r.facts = append(r.facts, &fact{at: r.now, kind: responseFact, response: r.response})
	r.carry(known(object{"model_name": r.model, "provider_name": r.provider}))
	r.send(object{"type": "start-step"})
	r.inStep = true
	return r.response
}

// finishResponse finishes the one that is streaming: its calls are complete then, with the arguments that they have (R10).
func (r *run) finishResponse() {
	if !r.streaming() {
		return
	}
	r.response.finished = true
	for _, c := range r.response.calls {
		if c.text != "" || c.fields != nil || c.ofProvider {
			r.sendInput(c)
		}
	}
	r.finishStepOf(r.response)
}

func (r *run) endResponse(text raw) {
	var event struct {
		ModelName    Text   `json:"model_name"`
		ProviderName Text   `json:"provider_name"`
		ResponseID   Text   `json:"provider_response_id"`
		FinishReason string `json:"finish_reason"`
		Usage        map[string]any
	}
	if json.Unmarshal(text, &event) != nil {
		return
	}
	res := r.response
	if res == nil || !r.inStep { // R40: where one of its tools has ended it, this is still its end
		res = r.begin() // one without a part has a usage (R17)
	}
	r.model = firstOf(event.ModelName, r.model) // they stand until others are named (R39)
	r.provider = firstOf(event.ProviderName, r.provider)
	res.model, res.provider = r.model, r.provider
	res.id = firstOf(event.ResponseID, res.id)
	res.reason = string(firstOf(Text(finishReason(event.FinishReason)), Text(res.reason)))
	facts := known(object{
		"model_name": res.model, "provider_name": res.provider, "provider_response_id": res.id, "finish_reason": Text(res.reason),
	})
	if used := r.count(event.Usage); used != nil {
		res.usage, facts["usage"] = used, used
	}
	r.carry(facts)
	r.finishResponse()
}

// resetResponse drops what is streaming (R44), and its sources with it (R25).
func (r *run) resetResponse() {
	if !r.streaming() {
		return
	}
	for _, c := range r.response.calls {
		delete(r.calls, c.id)
	}
	for _, c := range r.calls {
		if c.output == r.response {
			c.waitAgain()
		}
	}
	r.facts = slices.DeleteFunc(r.facts, func(f *fact) bool { return f.response == r.response })
	r.response.parts, r.response.calls, r.response.finished = nil, nil, true
	r.send(object{"type": "reset-step"})
}

func (r *run) startPart(text raw) {
	event, ok := readPart(text)
	if !ok {
		return
	}
	given := event.given
	var c *call
	if given.ToolCallID != nil {
		c = r.calls[*given.ToolCallID]
	}
	switch given.Kind {
	case "tool-call", "builtin-tool-call":
		waits := c != nil && !c.answered && (!c.ofProvider || r.holds(c.response))
		if waits { // R36: an id names another call after its return, and not before
			return
		}
	case "builtin-tool-return":
		if c == nil || !c.ofProvider || c.answered {
			return
		}
	}
	if r.streaming() && r.response.byIndex[*event.Index] != nil {
		r.finishResponse() // R40: the next one begins
	}
	res := r.begin()
	p := &streamed{part: part{Kind: given.Kind}}
	res.parts = append(res.parts, p)
	res.byIndex[*event.Index] = p
	switch given.Kind {
	case "text", "thinking":
		r.startBlock(p, event)
	case "tool-call", "builtin-tool-call":
		r.startCall(p, event)
	case "builtin-tool-return":
		p.ended, p.of, c.answered, c.output = true, c, true, res
		p.ToolName, p.ToolCallID, p.Content = c.name, c.id, orNull(given.Content)
		p.ProviderName = c.provider // not its own: the stream names none beside an output
		r.sendInput(c)
		r.send(object{"type": "tool-output-available", "toolCallId": c.id, "providerExecuted": true, "output": p.Content})
	case "file", "custom:reasoning-file":
		p.ended, p.ID, p.Content = true, given.ID, event.file.stored()
		r.send(event.file.chunk(strings.TrimPrefix(given.Kind, "custom:"), given.ID))
	default:
		p.ended, p.whole = true, event.Part
		if kind, ok := strings.CutPrefix(given.Kind, "custom:"); ok {
			chunk := object{"type": "custom", "kind": kind}
			if !isNull(given.Metadata) {
				chunk["providerMetadata"] = given.Metadata
			}
			r.send(chunk)
		}
	}
}

// blockOf returns what a text or a thought is called on the stream.
func blockOf(kind string) string {
	if kind == "thinking" {
		return "reasoning"
	}
	return kind
}

func (r *run) startBlock(p *streamed, event partEvent) {
	p.block = r.name(blockOf(p.Kind))
	p.Content = event.text
	p.identify(event.given)
	r.send(object{"type": blockOf(p.Kind) + "-start", "id": p.block})
	if event.text != "" {
		r.send(object{"type": blockOf(p.Kind) + "-delta", "id": p.block, "delta": event.text})
	}
}

// identify takes what the provider calls the part; thinking has a signature and a provider, too (R15).
func (p *streamed) identify(given givenPart) {
	if p.Kind == "text" {
		p.ID = firstOf(given.ID, p.ID)
		return
	}
	p.ThinkingID = firstOf(given.ID, p.ThinkingID)
	p.Signature = firstOf(given.Signature, p.Signature)
	p.ProviderName = firstOf(given.ProviderName, p.ProviderName)
}

func (r *run) startCall(p *streamed, event partEvent) {
	given := event.given
	c := &call{
		id: *given.ToolCallID, name: *given.ToolName, provider: given.ProviderName, ofProvider: given.Kind == "builtin-tool-call",
		response: r.response, position: r.thread.count,
	}
	r.thread.count++
	p.call, p.ended = c, true
	r.response.calls = append(r.response.calls, c)
	r.calls[c.id] = c
	r.send(c.chunk("tool-input-start"))
	r.addArgs(c, event.args)
}

// addArgs adds a piece of arguments: text to text, and the fields of an object to those that are there.
func (r *run) addArgs(c *call, piece givenArgs) {
	switch {
	case c.sent: // the client has them
	case piece.text != nil:
		c.text = c.text.plus(*piece.text)
		if *piece.text != "" {
			r.send(object{"type": "tool-input-delta", "toolCallId": c.id, "inputTextDelta": *piece.text})
		}
	case piece.fields != nil:
		if c.fields == nil {
			c.fields = map[string]raw{}
		}
		for name, value := range piece.fields {
			c.fields[name] = value
		}
	}
}

// args returns the parsed value; text that is not JSON stays text (R12).
func (c *call) args() any {
	switch {
	case c.fields != nil:
		return c.fields
	case c.text == "":
		return object{}
	case json.Valid([]byte(c.text)) && utf8.ValidString(string(c.text)):
		return raw(c.text)
	}
	return c.text
}

// open returns the part of the streaming response that an event is about, nil if there is none.
func (r *run) open(index *int) *streamed {
	if !r.streaming() || index == nil {
		return nil
	}
	return r.response.byIndex[*index]
}

func (r *run) addToPart(text raw) {
	var event struct {
		Index *int
		Delta struct {
			Kind         string    `json:"part_delta_kind"`
			Content      *Text     `json:"content_delta"`
			Signature    Text      `json:"signature_delta"`
			ProviderName Text      `json:"provider_name"`
			ToolName     Text      `json:"tool_name_delta"`
			Args         givenArgs `json:"args_delta"`
		}
	}
	if json.Unmarshal(text, &event) != nil {
		return
	}
	p, delta := r.open(event.Index), event.Delta
	switch {
	case p == nil:
	case delta.Kind == "tool_call" && p.call != nil:
		p.call.name = p.call.name.plus(delta.ToolName)
		r.addArgs(p.call, delta.Args)
	case delta.Kind == p.Kind && p.block != "" && !p.ended:
		p.Signature = p.Signature.plus(delta.Signature)
		p.ProviderName = firstOf(delta.ProviderName, p.ProviderName)
		if delta.Content != nil {
			p.Content = p.Content.(Text).plus(*delta.Content)
			r.send(object{"type": blockOf(p.Kind) + "-delta", "id": p.block, "delta": *delta.Content})
		}
	}
}

func (r *run) endPart(text raw) {
	event, ok := readPart(text)
	p := r.open(event.Index)
	if !ok || p == nil || p.ended || p.Kind != event.given.Kind {
		return
	}
	p.ended = true
	p.identify(event.given)
	end := object{"type": blockOf(p.Kind) + "-end", "id": p.block}
	metadata := known(object{"id": firstOf(p.ID, p.ThinkingID), "signature": p.Signature, "provider_name": p.ProviderName})
	if len(metadata) > 0 {
		end["providerMetadata"] = object{"pydantic_ai": metadata}
	}
	r.send(end)
}

// A file is the content of a part, with the fields that the stream has a place for.
type file struct {
	fields     map[string]raw
	Kind       string
	MediaType  string `json:"media_type"`
	Data, URL  string
	Identifier Text
}

func readFile(content raw) (f file, ok bool) {
	if json.Unmarshal(content, &f.fields) != nil || f.fields == nil {
		return f, false
	}
	_ = json.Unmarshal(content, &f) // a field of another form stays as it came
	return f, true
}

// usualName is the identifier of a file that has none of its own: six digits of the SHA-1 of its bytes, or its address
// (R39, R49).
func (f file) usualName() Text {
	if isNull(f.fields["data"]) {
		return Text(f.URL)
	}
	standard := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(string(f.Data)) // either alphabet, padded or not
	data, err := base64.RawStdEncoding.DecodeString(standard)
	if err != nil {
		data = []byte(f.Data)
	}
	return Text(fmt.Sprintf("%x", sha1.Sum(data))[:6])
}

// stored returns the content as a thread has it.
func (f file) stored() map[string]raw {
	for name := range f.fields {
		if !slices.Contains([]string{"kind", "data", "url", "media_type", "identifier"}, name) { // the stream has no place
			delete(f.fields, name)
		}
	}
	if f.Identifier == "" {
		f.fields["identifier"], _ = f.usualName().MarshalJSON()
	}
	return f.fields
}

// chunk returns a file as the stream has it. Its own names travel beside it, and in place of a media type that nobody
// knows stands the range of its kind (R63).
func (f file) chunk(kind string, id Text) object {
	chunk := object{"type": kind, "url": f.URL, "mediaType": f.MediaType}
	if !isNull(f.fields["data"]) {
		chunk["url"] = "data:" + f.MediaType + ";base64," + f.Data
	}
	if f.MediaType == "" {
		chunk["mediaType"] = "*/*"
		if family, _, _ := strings.Cut(f.Kind, "-"); family == "image" || family == "audio" || family == "video" {
			chunk["mediaType"] = family + "/*"
		}
	}
	names := known(object{"id": id, "identifier": f.Identifier})
	if f.Identifier == f.usualName() {
		delete(names, "identifier")
	}
	if len(names) > 0 {
		chunk["providerMetadata"] = object{"pydantic_ai": names}
	}
	return chunk
}

// =============================================================================================== 6. Tools

// startTool plays the event with which a tool starts: it has the arguments that count (R10).
func (r *run) startTool(text raw) {
	var event struct {
		Part struct {
			ToolName   *Text  `json:"tool_name"`
			ToolCallID string `json:"tool_call_id"`
			Args       givenArgs
		}
	}
	if json.Unmarshal(text, &event) != nil || event.Part.ToolName == nil {
		return
	}
	c := r.calls[event.Part.ToolCallID]
	if c == nil || c.response == nil || !r.holds(c.response) {
		return
	}
	args := event.Part.Args
	switch {
	case c.sent: // R10: the client was told its arguments
	case args.text != nil:
		c.text, c.fields = *args.text, nil
	case args.fields != nil:
		c.fields = args.fields
	}
	r.finishResponseOf(c)
	r.sendInput(c)
}

// finishResponseOf finishes the response that streams, if a call that runs is one of its own: no other ends it (R40).
func (r *run) finishResponseOf(c *call) {
	if c.response == r.response {
		r.finishResponse()
	}
}

// holds says whether a response is of this run; a call may be one of an earlier run (R30).
func (r *run) holds(res *response) bool {
	return slices.ContainsFunc(r.facts, func(f *fact) bool { return f.kind == responseFact && f.response == res })
}

// askApprovals asks for the approval of the calls of this run that wait for one; the thread has nothing of it (R64).
func (r *run) askApprovals(text raw) {
	var event struct {
		Requests struct {
			Approvals []struct {
				ToolCallID string `json:"tool_call_id"`
			}
		}
	}
	_ = json.Unmarshal(text, &event) // what is malformed names no call
	asked := map[string]bool{}
	for _, named := range event.Requests.Approvals {
		c := r.calls[named.ToolCallID]
		if c == nil || c.answered || asked[c.id] || c.response == nil || !c.response.finished || !r.holds(c.response) {
			continue
		}
		asked[c.id] = true
		r.sendInput(c)
		r.send(object{"type": "tool-approval-request", "approvalId": c.id, "toolCallId": c.id})
	}
}

// progress tells the client what a tool has so far; it is not a return (R14).
func (r *run) progress(text raw) {
	var event struct {
		ToolCallID string `json:"tool_call_id"`
		Content    raw
	}
	if json.Unmarshal(text, &event) != nil || event.Content == nil {
		return
	}
	c := r.calls[event.ToolCallID]
	if c == nil || c.answered {
		return
	}
	r.send(object{"type": "tool-output-available", "toolCallId": c.id, "output": event.Content, "preliminary": true})
}

type toolResult struct {
	Kind       string `json:"part_kind"`
	ToolCallID string `json:"tool_call_id"`
	Content    raw
	ContentRef *map[string]raw `json:"content_ref"`
	Metadata   raw
	Outcome    string
	Status     string
}

// endTool plays a result. A tool that the interruption stopped has none (R41), and the first one stands (R14).
func (r *run) endTool(text raw) {
	var event struct{ Part toolResult }
	if json.Unmarshal(text, &event) != nil {
		return
	}
	result := event.Part
	result.Outcome = result.outcome()
	c := r.calls[result.ToolCallID]
	if c == nil || c.answered || c.ofProvider {
		return
	}
	r.finishResponseOf(c)
	r.sendInput(c)
	if result.Outcome == "interrupted" {
		return
	}
	if result.Outcome == "denied" && isNull(result.Content) {
		result.Content, _ = Text(denied).MarshalJSON()
	}
	c.answered = true
	returned, events := result.asReturn(c)
	fact := known(object{"part_kind": Text(returned.Kind), "status": Text(returned.Status)})
	if returned.ContentRef != nil {
		fact["content_ref"] = returned.ContentRef
	} else {
		fact["content"] = returned.Content
	}
	if returned.Metadata != nil {
		fact["metadata"] = returned.Metadata
	}
	r.carry(object{"tool_return": fact})
	r.sendOutput(c, result)
	r.record(c, returned)
	for _, e := range events {
		if !e.Transient || strings.HasPrefix(e.Type, "data-tp-") {
			r.happened(e.Type, e.Data, systemEvent{Transient: e.Transient})
		}
	}
	if c.response != nil && r.holds(c.response) {
		r.finishStepOf(c.response)
	}
}

// outcome returns the outcome of a result; one without says it by its status, if it says it at all (R62).
func (t toolResult) outcome() string {
	if t.Outcome != "" {
		return t.Outcome
	}
	switch t.Status {
	case "", "success":
		return "success"
	case "validation_error":
		return "retried"
	}
	return "failed"
}

// A dataEntry is an event among the metadata of a return, as the tools of Pydantic AI send them.
type dataEntry struct {
	Type      string
	Data      raw
	Transient bool
}

// asReturn returns what the thread keeps of a result, and the events among its metadata (R22, R7).
func (t toolResult) asReturn(c *call) (part, []dataEntry) {
	kept := part{Kind: "tool-return", ToolName: c.name, ToolCallID: c.id, Content: orNull(t.Content)}
	events := t.events()
	if t.Kind == "retry-prompt" {
		kept.Kind = t.Kind
		return kept, events
	}
	kept.Status = "error" // of an outcome that nobody knows, too
	if word, ok := map[string]string{"success": "success", "retried": "validation_error"}[t.Outcome]; ok {
		kept.Status = word
	}
	if t.ContentRef != nil { // R6: one of the two, with the name of the hash's algorithm
		var hash string
		if json.Unmarshal((*t.ContentRef)["hash"], &hash) == nil && bareHash.MatchString(hash) {
			(*t.ContentRef)["hash"], _ = Text("sha256:" + strings.ToLower(hash)).MarshalJSON()
		}
		kept.Content, kept.ContentRef = nil, t.ContentRef
	}
	if len(events) == 0 && !isNull(t.Metadata) {
		kept.Metadata = t.Metadata
	}
	return kept, events
}

// events returns the events among the metadata of a result, whatever kind of result it is.
func (t toolResult) events() []dataEntry {
	var entries []raw
	var events []dataEntry
	_ = json.Unmarshal(t.Metadata, &entries) // other metadata are not a list of chunks
	for _, entry := range entries {
		var e dataEntry
		if json.Unmarshal(entry, &e) == nil && strings.HasPrefix(e.Type, "data-") && e.Data != nil {
			events = append(events, e)
		}
	}
	return events
}

var bareHash = regexp.MustCompile("^[0-9a-fA-F]{64}$")

const denied = "The tool call was denied."

// sendOutput tells the client of a result; a denial has its reason in an approval that is refused (R22).
func (r *run) sendOutput(c *call, result toolResult) {
	text := asText(orNull(result.Content))
	switch {
	case result.Kind == "retry-prompt":
		r.send(object{"type": "tool-output-error", "toolCallId": c.id, "errorText": text})
	case result.Outcome == "success":
		r.send(object{"type": "tool-output-available", "toolCallId": c.id, "output": orNull(result.Content)})
	case result.Outcome == "retried":
		r.send(object{
			"type": "tool-input-error", "toolCallId": c.id, "toolName": c.name, "input": c.args(), "errorText": text,
		})
	case result.Outcome == "denied":
		if text != denied {
			approval := r.name("approval")
			r.send(object{"type": "tool-approval-request", "approvalId": approval, "toolCallId": c.id})
			r.send(object{"type": "tool-approval-response", "approvalId": approval, "approved": false, "reason": text})
		}
		r.send(object{"type": "tool-output-denied", "toolCallId": c.id})
	default:
		r.send(object{"type": "tool-output-error", "toolCallId": c.id, "errorText": text})
	}
}

// record adds a return to the request that answers its response: in the order of the calls (R11), at the time of the last
// one, also where the model was asked again meanwhile (R25).
func (r *run) record(c *call, returned part) {
	request := &fact{kind: returnsFact, response: c.response}
	for i := len(r.facts) - 1; i >= 0; i-- {
		ofOne := func(f *fact) bool { return f.response == c.response || !r.holds(f.response) && !r.holds(c.response) } // R61
		if f := r.facts[i]; f.kind == returnsFact && ofOne(f) {
			request = f
			r.facts = slices.Delete(r.facts, i, i+1)
			break
		}
	}
	request.at = r.now
	request.returns = append(request.returns, answered{c.position, returned})
	sort.SliceStable(request.returns, func(i, j int) bool { return request.returns[i].position < request.returns[j].position })
	r.facts = append(r.facts, request)
}

// =============================================================================================== 7. Facts

// A fact is what happened in a turn, at its time.
type fact struct {
	at       string
	kind     factKind
	response *response // that it is, answers or belongs to
	message  message   // of a prompt, an event or a source
	returns  []answered
}

type answered struct {
	position int
	part     part
}

type factKind int

const (
	responseFact factKind = iota
	returnsFact
	promptFact
	eventFact
	sourceFact // goes with its response (R25)
)

// A prompt is what a user says, in a turn or between two responses of a run.
type prompt struct {
	Kind    string `json:"part_kind"`
	Content raw
}

// UnmarshalJSON makes a list of one text that text: the stream cannot tell them apart (R9, R44).
func (p *prompt) UnmarshalJSON(value []byte) error {
	type plain prompt
	err := json.Unmarshal(value, (*plain)(p))
	var items []raw
	if json.Unmarshal(p.Content, &items) == nil && len(items) == 1 && items[0][0] == '"' {
		p.Content = items[0]
	}
	return err
}

// request plays what the model is asked. What repeats the user's turn is there already (R9), and a prompt with an empty
// list says nothing (R52).
func (r *run) request(text raw) {
	var event struct {
		Kind         string `json:"event_kind"`
		ModelName    Text   `json:"model_name"`
		ProviderName Text   `json:"provider_name"`
		Parts        []prompt
		Messages     []struct{ Parts []prompt }
	}
	if json.Unmarshal(text, &event) != nil {
		return
	}
	r.model = firstOf(event.ModelName, r.model)
	r.provider = firstOf(event.ProviderName, r.provider)
	if event.Kind == "model_request" { // R40: the model is asked again, so its response is over
		r.finishResponse()
		r.sendInputs()
		r.finishStep()
	}
	r.ask(event.Parts)
	for _, queued := range event.Messages {
		r.ask(queued.Parts)
	}
}

// Each prompt is a request of its own, as a steering message holds one (R44).
func (r *run) ask(parts []prompt) {
	first := !r.spoken()
	for _, p := range parts {
		items := p.items()
		if p.Kind != "user-prompt" || len(items) == 0 {
			continue
		}
		r.finishResponse()
		r.sendInputs()
		r.finishStep()
		if first && r.repeats(p) {
			continue
		}
		r.carry(object{})
		r.send(object{"type": "steering-message", "id": r.name("steering"), "parts": items})
		said := []any{object{"part_kind": p.Kind, "content": p.Content}}
		asked := message{Type: "request", Timestamp: r.now, AgentID: r.agent, Parts: said}
		r.facts = append(r.facts, &fact{at: r.now, kind: promptFact, message: asked})
	}
}

// spoken says whether the turn has a message already: an event is none, and neither is a response without a whole part.
func (r *run) spoken() bool {
	whole := func(p *streamed) bool { return p.ended || p.call != nil }
	return slices.ContainsFunc(r.facts, func(f *fact) bool {
		return f.kind != eventFact && f.kind != sourceFact && (f.kind != responseFact || slices.ContainsFunc(f.response.parts, whole))
	})
}

func (r *run) repeats(p prompt) bool {
	return slices.ContainsFunc(r.thread.asked, func(asked prompt) bool {
		var one, other any
		same := json.Unmarshal(asked.Content, &one) == nil && json.Unmarshal(p.Content, &other) == nil
		return same && asked.Kind == p.Kind && reflect.DeepEqual(one, other)
	})
}

// items returns a prompt as the stream has it: texts and files.
func (p prompt) items() []object {
	var items []raw
	if json.Unmarshal(p.Content, &items) != nil {
		items = []raw{p.Content}
	}
	var found []object
	for _, item := range items {
		var text Text
		if json.Unmarshal(item, &text) == nil {
			found = append(found, object{"type": "text", "text": text})
		} else if f, ok := readFile(item); ok {
			found = append(found, f.chunk("file", ""))
		}
	}
	return found
}

type systemEvent struct {
	Type         string  `json:"event_type"`
	Data         raw     `json:"event_data"`
	SourceAgent  Text    `json:"source_agent"`
	TargetAgents *[]Text `json:"target_agents"`
	Transient    bool
}

func (r *run) systemEvent(text raw) {
	var event systemEvent
	if json.Unmarshal(text, &event) == nil && event.Type != "" {
		r.happened(event.Type, event.Data, event)
	}
}

// customEvent plays an event of the application: its data are `data` or `payload` if that is all that it has (R34).
func (r *run) customEvent(text raw) {
	var named struct {
		Name      Text
		EventName Text `json:"event_name"`
	}
	var fields map[string]raw
	if json.Unmarshal(text, &named) != nil || json.Unmarshal(text, &fields) != nil {
		return
	}
	for _, name := range []string{"event_kind", "name", "event_name", "tool_name", "tool_call_id", "at", "_t_ms"} {
		delete(fields, name)
	}
	data := raw("null")
	if len(fields) > 0 {
		data = bytes.TrimSpace(encode(fields))
	}
	if len(fields) == 1 {
		for _, name := range []string{"data", "payload"} {
			if value, ok := fields[name]; ok {
				data = value
			}
		}
	}
	if name := firstOf(named.Name, named.EventName); name != "" {
		r.happened(string(name), data, systemEvent{})
	}
}

// happened records an event and tells the client. A transient one is told and not kept, unless it is normative.
func (r *run) happened(name string, data raw, event systemEvent) {
	if name == "source.url" || name == "source.document" {
		if !event.Transient { // which its chunk cannot say
			r.source(name, data, event)
		}
		return
	}
	for current, old := range oldNames {
		if name == old {
			name = current
		}
	}
	wire := name
	if !strings.HasPrefix(name, "data-") {
		wire = "data-" + name
		if !strings.HasPrefix(name, "meta:") {
			name = wire
		}
	}
	chunk := object{"type": wire, "data": orNull(data)}
	if event.Transient {
		chunk["transient"] = true
	}
	if event.Transient && !strings.HasPrefix(name, "data-tp-") {
		r.carry(object{}) // not who caused it: the client would take that for the next event
		r.send(chunk)
		return
	}
	r.carry(event.agents())
	r.send(chunk)
	r.facts = append(r.facts, &fact{at: r.now, kind: eventFact, message: message{
		Type: "system", Timestamp: r.now, EventType: name, EventData: orNull(data),
		SourceAgent: event.SourceAgent, TargetAgents: event.TargetAgents,
	}})
}

// agents returns who caused an event and whom it concerns, for a carrier; an empty list says that it concerns nobody.
func (event systemEvent) agents() object {
	facts := known(object{"source_agent": event.SourceAgent})
	if event.TargetAgents != nil {
		facts["target_agents"] = event.TargetAgents
	}
	return facts
}

// latest returns the response of the turn that began last and was not taken back, nil if there is none.
func (r *run) latest() *response {
	for i := len(r.facts) - 1; i >= 0; i-- {
		if r.facts[i].kind == responseFact {
			return r.facts[i].response
		}
	}
	return nil
}

// source records what an answer rests on: it goes with the response that began before it (R25).
func (r *run) source(name string, data raw, event systemEvent) {
	var fields map[string]raw
	if json.Unmarshal(data, &fields) != nil {
		return
	}
	chunk := object{}
	for field, value := range fields {
		switch field {
		case "source_id":
			field = "sourceId"
		case "media_type":
			field = "mediaType"
		}
		chunk[field] = value
	}
	chunk["type"] = strings.Replace(name, ".", "-", 1)
	r.carry(event.agents())
	r.send(chunk)
	r.facts = append(r.facts, &fact{at: r.now, kind: sourceFact, response: r.latest(), message: message{
		Type: "system", Timestamp: r.now, EventType: name, EventData: data,
		SourceAgent: event.SourceAgent, TargetAgents: event.TargetAgents,
	}})
}

// fail records an error. The turn stays as it is then, unless the run ends regularly after all (R27).
func (r *run) fail(text raw) {
	var event struct {
		Text *Text `json:"error_text"`
	}
	if json.Unmarshal(text, &event) != nil || event.Text == nil {
		return
	}
	r.carry(object{})
	r.send(object{"type": "error", "errorText": *event.Text})
	r.facts = append(r.facts, &fact{at: r.now, kind: eventFact, message: message{
		Type: "system", Timestamp: r.now, EventType: "data-tp-error",
		EventData: bytes.TrimSpace(encode(object{"error": *event.Text})),
	}})
	if !r.failed {
		r.failed, r.broken = true, r.turn("error")
		r.waiting = map[string]*call{} // as they are now: a return that comes after the error answers nothing
		for id, c := range r.thread.pending {
			held := *c
			if held.output != nil && !held.output.kept(true) {
				held.waitAgain()
			}
			r.waiting[id] = &held
		}
	}
}

// =============================================================================================== 8. Turn

// turn returns the agent's turn as it stands, complete or interrupted for a reason. nil for an interrupted one of which
// nothing is kept (R24).
func (r *run) turn(reason string) *agentTurn {
	turn := &agentTurn{Type: "agent", AgentID: r.agent, StartedAt: r.started, Messages: []message{}}
	worth := reason == ""
	for _, f := range r.facts {
		m, ok := r.message(f, reason != "")
		if !ok {
			continue
		}
		turn.Messages = append(turn.Messages, m)
		worth = worth || m.Type != "system" || strings.HasPrefix(m.EventType, "data-tp-")
	}
	if !worth {
		return nil
	}
	sort.SliceStable(turn.Messages, func(i, j int) bool { // R25: equal times keep the order of arrival
		return instant(turn.Messages[i].Timestamp).Before(instant(turn.Messages[j].Timestamp))
	})
	turn.TotalUsage = map[string]int64{}
	for name, n := range r.usage {
		turn.TotalUsage[name] = n
	}
	if reason == "" {
		turn.Status, turn.CompletedAt = "complete", r.now
	} else {
		turn.Status, turn.Interruption = "interrupted", &interruption{Reason: reason, At: r.now}
	}
	return turn
}

// message returns a fact as the thread has it, and whether it is kept.
func (r *run) message(f *fact, interrupted bool) (message, bool) {
	ofThisTurn := f.response != nil && r.holds(f.response) // returns for an earlier turn stay, one by one (R61)
	if ofThisTurn && !f.response.kept(interrupted) {
		return message{}, false
	}
	switch f.kind {
	case responseFact:
		return r.said(f.response, interrupted)
	case returnsFact:
		m := message{Type: "request", Timestamp: f.at, AgentID: r.agent}
		for _, returned := range f.returns {
			m.Parts = append(m.Parts, returned.part)
		}
		return m, true
	}
	return f.message, true
}

// kept says whether a response stays: it has finished (R20), and where the turn is cut each of its calls has its return
// (R21).
func (res *response) kept(interrupted bool) bool {
	open := func(c *call) bool { return !c.answered && !c.ofProvider }
	return res.finished && !(interrupted && slices.ContainsFunc(res.calls, open))
}

// said returns a response as a message, and whether it has a part; without one it is none. An output of the provider goes
// with its call (R42).
func (r *run) said(res *response, interrupted bool) (message, bool) {
	m := message{
		Type: "response", Timestamp: res.at, AgentID: r.agent, ModelName: res.model, ProviderName: res.provider,
		ResponseID: res.id, FinishReason: res.reason, Usage: res.usage,
	}
	switch res.reason {
	case "", "stop", "length", "content_filter", "tool_call":
	default:
		m.FinishReason = "error" // R16
	}
	for _, p := range res.parts {
		switch {
		case !p.ended: // R28
		case p.of != nil && r.holds(p.of.response) && !p.of.response.kept(interrupted):
		case p.whole != nil:
			m.Parts = append(m.Parts, p.whole)
		case p.call != nil:
			m.Parts = append(m.Parts, p.call.asPart(p.Kind))
		case p.Kind == "thinking":
			kept := p.part
			kept.ProviderName = firstOf(kept.ProviderName, res.provider, r.providers[r.agent], "unknown") // R15
			m.Parts = append(m.Parts, kept)
		default:
			m.Parts = append(m.Parts, p.part)
		}
	}
	return m, len(m.Parts) > 0
}

func (c *call) asPart(kind string) part {
	kept := part{Kind: kind, ToolName: c.name, ToolCallID: c.id, Args: c.args()}
	if c.ofProvider {
		kept.ProviderName = c.provider
	}
	return kept
}

// =============================================================================================== 9. Stream

// A packet is the bytes that one event has caused; what opens and ends the stream belongs to none.
type packet struct {
	Data  Text   `json:"data"`
	At    string `json:"at"`
	Event *int   `json:"event,omitempty"`
}

// send writes a chunk.
func (r *run) send(chunk object) {
	fmt.Fprintf(&r.out, "data: %s\n\n", bytes.TrimSpace(encode(chunk)))
}

// flush ends a packet.
func (r *run) flush(event *int) {
	if r.out.Len() == 0 {
		return
	}
	p := packet{Data: Text(r.out.Bytes()), At: r.now}
	if event != nil {
		index := *event
		p.Event = &index
	}
	r.packets = append(r.packets, p)
	r.out.Reset()
}

// carry tells facts that the stream has no field for, ahead of the chunk that they are about (R39).
func (r *run) carry(facts object) {
	if r.carriers {
		facts["timestamp"] = r.now
		r.send(object{"type": "data-sys-tp", "data": facts, "transient": true})
	}
}

// chunk returns what begins a chunk about the input of a call.
func (c *call) chunk(kind string) object {
	chunk := object{"type": kind, "toolCallId": c.id, "toolName": c.name}
	if c.ofProvider {
		chunk["providerExecuted"] = true
		if c.provider != "" {
			chunk["providerMetadata"] = object{"pydantic_ai": object{"provider_name": c.provider}}
		}
	}
	return chunk
}

// sendInput sends the input of a call, once.
func (r *run) sendInput(c *call) {
	if c.sent {
		return
	}
	c.sent = true
	chunk := c.chunk("tool-input-available")
	chunk["input"] = c.args()
	r.send(chunk)
}

// sendInputs sends those of calls for which no event has had arguments (R12).
func (r *run) sendInputs() {
	if r.response != nil && r.response.finished {
		for _, c := range r.response.calls {
			r.sendInput(c)
		}
	}
}

// finishStepOf ends the step of a response when none of its calls waits any more.
func (r *run) finishStepOf(res *response) {
	waits := func(c *call) bool { return !c.answered && !c.ofProvider }
	if res == r.response && res.finished && !slices.ContainsFunc(res.calls, waits) {
		r.finishStep()
	}
}

func (r *run) finishStep() {
	if r.inStep {
		r.send(object{"type": "finish-step"})
		r.inStep = false
	}
}

// name returns a new id for a block, an approval or a steering message.
func (r *run) name(kind string) string {
	r.names[kind]++
	return fmt.Sprintf("%s-%d", kind, r.names[kind])
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...Text) Text {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// known returns the fields whose text is not empty.
func known(fields object) object {
	for name, value := range fields {
		if value == Text("") {
			delete(fields, name)
		}
	}
	return fields
}

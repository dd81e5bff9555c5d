package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// streamConfig is the part of a stream's configuration that the engine uses.
type streamConfig struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Subjects    []string   `json:"subjects"`
	Storage     string     `json:"storage"`
	Retention   string     `json:"retention"`
	Discard     string     `json:"discard"`
	Replicas    int        `json:"num_replicas"`
	PerSubject  int        `json:"max_msgs_per_subject"`
	MaxMessage  int        `json:"max_msg_size"`
	MaxBytes    int        `json:"max_bytes"`
	FirstSeq    uint64     `json:"first_seq,omitempty"`
	AllowTTL    bool       `json:"allow_msg_ttl"`
	Republish   *republish `json:"republish,omitempty"`
}

type republish struct {
	Source      string `json:"src"`
	Destination string `json:"dest"`
	HeadersOnly bool   `json:"headers_only"`
}

// config returns the configuration of a new stream.
func (e *Engine) config(replicas int) *streamConfig {
	return &streamConfig{
		Name:        e.stream,
		Description: "Records of a cluster of slipway servers",
		Subjects:    []string{e.stream + ".record.>"},
		Storage:     "file",
		Retention:   "limits",
		Discard:     "new",
		Replicas:    replicas,
		PerSubject:  1,
		MaxMessage:  maxValue,
		MaxBytes:    e.maxBytes,
		FirstSeq:    uint64(time.Now().UnixMicro()),
		AllowTTL:    true,
		Republish: &republish{
			Source:      e.stream + ".record.>",
			Destination: e.stream + ".changed.>",
			HeadersOnly: true,
		},
	}
}

// answer is an answer of JetStream.
type answer struct {
	Error *apiError `json:"error"`
	// Seq is the sequence of a message that was stored.
	Seq     uint64 `json:"seq"`
	Message *struct {
		Seq     uint64 `json:"seq"`
		Headers []byte `json:"hdrs"`
		Data    []byte `json:"data"`
	} `json:"message"`
	Config streamConfig `json:"config"`
	State  struct {
		LastSeq  uint64         `json:"last_seq"`
		Subjects map[string]int `json:"subjects"`
	} `json:"state"`
}

// apiError is an error of JetStream.
type apiError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// Error implements error.
func (e *apiError) Error() string { return "JetStream: " + e.Description }

// Codes of errors.
const (
	errNoMessage        = 10037
	errNotEnabled       = 10039 // for the account
	errNameInUse        = 10058
	errNoStream         = 10059
	errWrongSequence    = 10071
	errNotClustered     = 10074
	errDisabled         = 10076
	errWrongSequenceNow = 10164 // another write of the subject is in progress
)

func isAPIError(err error, codes ...int) bool {
	var api *apiError
	return errors.As(err, &api) && slices.Contains(codes, api.Code)
}

// ask sends a request about the stream to the API of JetStream.
func (e *Engine) ask(ctx context.Context, what string, body []byte) (*answer, error) {
	msg := nats.NewMsg("$JS.API." + what + "." + e.stream)
	msg.Data = body
	return e.request(ctx, msg)
}

// request sends a message that JetStream answers. It creates the stream if it does not
// exist, at the start or because NATS has lost its data.
func (e *Engine) request(ctx context.Context, msg *nats.Msg) (*answer, error) {
	nc, err := e.connection(ctx)
	if err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		if !e.usable.Load() {
			if err := e.prepare(ctx, nc); err != nil {
				return nil, err
			}
			e.usable.Store(true)
		}
		a, err := call(ctx, nc, msg)
		if !retried && (errors.Is(err, nats.ErrNoResponders) || isAPIError(err, errNoStream)) {
			e.usable.Store(false)
			continue
		}
		return a, err
	}
}

// call sends one request.
func call(ctx context.Context, nc *nats.Conn, msg *nats.Msg) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		return nil, fmt.Errorf("JetStream: invalid answer: %w", err)
	}
	if a.Error != nil {
		return nil, a.Error
	}
	return &a, nil
}

// prepare verifies that the stream can store records, and creates it if it does not exist.
func (e *Engine) prepare(ctx context.Context, nc *nats.Conn) error {
	info := nats.NewMsg("$JS.API.STREAM.INFO." + e.stream)
	a, err := call(ctx, nc, info)
	if isAPIError(err, errNoStream) {
		a, err = e.create(ctx, nc)
		if isAPIError(err, errNameInUse) { // another replica was faster
			a, err = call(ctx, nc, info)
		}
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders) || isAPIError(err, errDisabled, errNotEnabled):
		return errors.New("JetStream does not answer: enable it in the NATS server (--jetstream) and for the account")
	case err != nil:
		return err
	}
	c := &a.Config
	want := e.config(0)
	switch {
	case !c.AllowTTL:
		return fmt.Errorf("stream %s cannot expire records: NATS 2.11 or later is needed, and allow_msg_ttl", e.stream)
	case c.PerSubject != 1 || c.Republish == nil || *c.Republish != *want.Republish ||
		!slices.Equal(c.Subjects, want.Subjects):
		return fmt.Errorf("stream %s has another purpose or configuration: delete it, or set ?name=", e.stream)
	}
	return nil
}

// create creates the stream. One NATS server can only have one copy of it.
func (e *Engine) create(ctx context.Context, nc *nats.Conn) (*answer, error) {
	replicas := e.replicas
	if replicas == 0 {
		replicas = 3
	}
	for {
		body, err := json.Marshal(e.config(replicas))
		if err != nil {
			return nil, err
		}
		msg := nats.NewMsg("$JS.API.STREAM.CREATE." + e.stream)
		msg.Data = body
		a, err := call(ctx, nc, msg)
		if e.replicas == 0 && replicas > 1 && isAPIError(err, errNotClustered) {
			replicas = 1
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create stream %s with %d replicas: %w", e.stream, replicas, err)
		}
		return a, nil
	}
}

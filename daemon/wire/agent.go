package wire

import (
	"encoding/json"
	"time"
)

// MostSamples is how many samples one body of POST /v1/agent/samples may hold.
const MostSamples = 500

// AgentRequest is the body of POST /v1/agent/samples: what an agent has read on its box
// since the last time, the oldest first.
type AgentRequest struct {
	ID string `json:"id"` // ACCOUNT/ID, the one that the token is for
	// SentAt is the agent's clock at sending: the daemon tells from it how far off that
	// clock is.
	SentAt  time.Time     `json:"sent_at"`
	Version string        `json:"version"`
	Boot    string        `json:"boot,omitempty"` // of the box, as it is now
	Samples []AgentSample `json:"samples"`
	// Waiting is how many samples are still to be sent after these, and Lost how many were
	// given up because too many waited.
	Waiting int `json:"waiting,omitempty"`
	Lost    int `json:"lost,omitempty"`
	// Trouble is what the agent cannot read, in a few words.
	Trouble string `json:"trouble,omitempty"`
	// Fuse is how the dead-man fuse stands; nil: there is none.
	Fuse *AgentFuse `json:"fuse,omitempty"`
}

// AgentSample is one sample with its place among those of one run of an agent, by which
// it is known when it comes twice.
type AgentSample struct {
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"` // from 1
	// Sample is a guard.Sample as JSON. One that cannot be read is dropped alone.
	Sample json.RawMessage `json:"sample"`
}

// AgentFuse is what happens to the box if guard is not heard of any more.
type AgentFuse struct {
	State string `json:"state"` // off, armed, burning, fired
	// After is how long guard must be silent, Does what then happens.
	After string `json:"after"`
	Does  string `json:"does"`
	// At is when that is, by the daemon's clock, if guard falls silent now; null: never.
	At     *time.Time `json:"at,omitempty"`
	DryRun bool       `json:"dry_run,omitempty"`
	Why    string     `json:"why,omitempty"`
}

// AgentAnswer is the answer to POST /v1/agent/samples.
type AgentAnswer struct {
	Now time.Time `json:"now"`
	// Skew is how many seconds the agent's clock was behind, where that was so much that
	// the samples' times were put right; 0 where they were left as they are.
	Skew float64 `json:"skew"`
	// Taken is how many samples were taken in. The others came twice, lie in the future,
	// or cannot be used (Why says it of the first); none of them is to be sent again.
	Taken    int    `json:"taken"`
	Twice    int    `json:"twice,omitempty"`
	Future   int    `json:"future,omitempty"`
	Unusable int    `json:"unusable,omitempty"`
	Why      string `json:"why,omitempty"`
	Orders   Orders `json:"orders"`
}

// Orders is what a box has to know of its own end.
type Orders struct {
	// Release is the release or stop that is coming; null where none is.
	Release *Notice `json:"release"`
	// Limit is when guard acts on the first limit that a person set for it; null where
	// guard would not act: there is none, it is held back, or guard only watches.
	Limit *time.Time `json:"limit"`
	// End asks the box to end itself now, and says why: its release is due, and guard has
	// no way of its own to carry it out.
	End string `json:"end,omitempty"`
}

// Notice tells of a release before it comes.
type Notice struct {
	ID     string    `json:"id"`
	Action string    `json:"action"` // release or stop
	Cause  string    `json:"cause"`
	Why    string    `json:"why"`
	Due    time.Time `json:"due"`
}

// HeartbeatRequest is the body of POST /v1/agent/heartbeat: a job runs on the box.
type HeartbeatRequest struct {
	ID string `json:"id"`
}

// HeartbeatAnswer is the answer to it.
type HeartbeatAnswer struct {
	Now    time.Time `json:"now"`
	Orders Orders    `json:"orders"`
}

// StopRequest is the body of POST /v1/stop.
type StopRequest struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// AgentStatus is what guardd knows of the agent on a box.
type AgentStatus struct {
	Version string    `json:"version"`
	Seen    time.Time `json:"seen,omitzero"` // when it last sent something; zero: never
	// Skew is how many seconds its clock is behind, where its samples' times are put right.
	Skew    float64 `json:"skew,omitempty"`
	Waiting int     `json:"waiting"`
	Lost    int     `json:"lost,omitempty"`
	// Twice, Future and Unusable count what was dropped since guardd started.
	Twice    int        `json:"twice,omitempty"`
	Future   int        `json:"future,omitempty"`
	Unusable int        `json:"unusable,omitempty"`
	Why      string     `json:"why,omitempty"`
	Trouble  string     `json:"trouble,omitempty"`
	Fuse     *AgentFuse `json:"fuse,omitempty"`
	// Heartbeat is when a job there last said that it runs.
	Heartbeat *time.Time `json:"heartbeat,omitempty"`
}

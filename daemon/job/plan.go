package job

import "time"

// Plan is what bounds a job.
type Plan struct {
	// MaxRuntime ends it; zero: nothing does. KillAfter is how long it then has.
	MaxRuntime, KillAfter time.Duration
	// Notice is how long before a release the job is told; where the release is nearer, at
	// once. Of it Checkpoint takes what it needs before the job gets its signal.
	Notice time.Duration
	// Checkpoint tells that there is a command to run first.
	Checkpoint bool
}

// Course is how far a job has come. Times are since it began.
type Course struct {
	Now time.Duration
	// Due is when the release comes, of which guard told; Coming tells that one does.
	Due    time.Duration
	Coming bool
	// Checkpointed: the checkpoint was begun; Saved: it is over, well or not.
	Checkpointed, Saved bool
	// Warned: the job has had its signal because of a release. Ended is when it got one
	// because of its longest time; zero: it did not. Killed: it was killed.
	Warned bool
	Ended  time.Duration
	Killed bool
}

// Step is what is done with a job next.
type Step string

// The steps.
const (
	Wait Step = "wait"
	// Checkpoint runs the command that saves the job's work.
	Checkpoint Step = "checkpoint"
	// Warn sends SIGTERM because the box goes, and lets the job finish until then.
	Warn Step = "warn"
	// End sends SIGTERM because the job has had its time, and Kill SIGKILL because it did
	// not end.
	End  Step = "end"
	Kill Step = "kill"
)

// margin is what a checkpoint leaves of the time until a release: the job itself has to
// end, too.
const margin = 5 * time.Second

// Next says what is done now, and when to look again where that is nothing; until zero:
// when something is heard.
func (p Plan) Next(c Course) (step Step, until time.Duration) {
	earliest := func(t time.Duration) {
		if until == 0 || t < until {
			until = t
		}
	}
	if p.MaxRuntime > 0 {
		switch kill := c.Ended + p.KillAfter; {
		case c.Ended == 0 && c.Now >= p.MaxRuntime:
			return End, 0
		case c.Ended == 0:
			earliest(p.MaxRuntime)
		case !c.Killed && c.Now >= kill:
			return Kill, 0
		case !c.Killed:
			earliest(kill)
		}
	}
	if !c.Coming || c.Warned || c.Ended > 0 {
		return Wait, until
	}
	tell := c.Due - p.Notice
	switch {
	case c.Now < tell && !c.Checkpointed:
		earliest(tell)
	case p.Checkpoint && !c.Checkpointed:
		return Checkpoint, 0
	case p.Checkpoint && !c.Saved && c.Now < c.Due-margin:
		earliest(c.Due - margin)
	default:
		return Warn, 0
	}
	return Wait, until
}

// Bound is how long a checkpoint may take that begins now.
func (p Plan) Bound(c Course) time.Duration { return max(c.Due-c.Now-margin, time.Second) }

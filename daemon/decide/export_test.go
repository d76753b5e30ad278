package decide

// Forget makes the next run a full pass, as the first one is.
func (l *Loop) Forget() { l.index = nil }

// Work is how many subjects the loop has judged so far, and how many records its
// index has read.
func (l *Loop) Work() (judged, read int) {
	if l.index != nil {
		read = l.index.records
	}
	return l.judgements, read
}

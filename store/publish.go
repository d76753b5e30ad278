package store

import "sync"

// publisher puts updates into the image in the order in which they were
// committed. An update draws its turn inside the backend's transaction, which
// one at a time can be in, and is published when all before it are.
type publisher struct {
	mu    sync.Mutex
	ended sync.Cond
	image *image
	drawn uint64 // the last turn given out
	done  uint64 // all turns up to it are published or given up
	ready map[uint64]map[place]string
	// wrote is what turns that are not settled yet have written, if they are kept.
	wrote map[uint64]map[place]string
}

func newPublisher(i *image) *publisher {
	p := &publisher{image: i, ready: map[uint64]map[place]string{}, wrote: map[uint64]map[place]string{}}
	p.ended.L = &p.mu
	return p
}

// now is the image of all that is published.
func (p *publisher) now() *image {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.image
}

// before is the mirror of a place's table for an update that holds the last turn;
// nil where the table has none, or where an update before it has written the place
// and is not settled, so that only the backend knows. Functions of updates run one
// at a time: what none of those wrote is in the image as it is in the backend.
func (p *publisher) before(at place) mirrored {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, writes := range p.wrote {
		if _, ok := writes[at]; ok {
			return nil
		}
	}
	return p.image.tables[at.table]
}

// written tells what a turn has written, should it be kept.
func (p *publisher) written(turn uint64, writes map[place]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrote[turn] = writes
}

// draw gives a turn out, and gives an earlier one up: a function that runs again
// draws again. 0 is none.
func (p *publisher) draw(earlier uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(earlier, nil)
	p.drawn++
	return p.drawn
}

// publish ends a turn: with what was written, or nil where nothing was kept. It
// returns when that, and all before it, can be seen.
func (p *publisher) publish(turn uint64, writes map[place]string) {
	if turn == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(turn, writes)
	for p.done < turn {
		p.ended.Wait()
	}
}

func (p *publisher) settle(turn uint64, writes map[place]string) {
	if turn == 0 {
		return
	}
	p.ready[turn] = writes
	for {
		writes, ok := p.ready[p.done+1]
		if !ok {
			break
		}
		p.done++
		delete(p.ready, p.done)
		delete(p.wrote, p.done)
		if len(writes) > 0 {
			p.image = p.image.after(writes)
		}
	}
	p.ended.Broadcast()
}

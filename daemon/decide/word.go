package decide

import (
	"slices"

	"guard"
	"guard/policy"
)

// others are the languages but English that somebody reads.
func (l *Loop) others() []guard.Lang {
	var out []guard.Lang
	for _, a := range l.Audience {
		if a.Lang != "" && a.Lang != guard.English && !slices.Contains(out, a.Lang) {
			out = append(out, a.Lang)
		}
	}
	return out
}

// word completes what a change says: each message and each finding's title in every
// language that somebody reads, by judging the same facts in it, and beside each text how
// the subject does. What is kept of a finding and in the journal is English.
func (l *Loop) word(f policy.Facts, open []guard.Finding, c *change, judge func(policy.Facts) change) {
	if len(c.told)+len(c.put) == 0 {
		return
	}
	for _, lang := range l.others() {
		f := f
		f.Lang = lang
		l.translate(c, judge(f), lang)
	}
	if len(c.told) == 0 {
		return
	}
	p := l.after(f, open, *c)
	for i := range c.told {
		t := &c.told[i]
		t.message = l.dress(t.message, p, t.stage)
		for lang, m := range t.others {
			t.others[lang] = l.dress(m, p, t.stage)
		}
	}
}

// translate takes the texts of the same change in another language. The language is in no
// decision; were it in one by mistake, people would be told in English rather than nothing.
func (l *Loop) translate(c *change, other change, lang guard.Lang) {
	for i := range c.told {
		t := &c.told[i]
		same := func(o told) bool { return o.cause == t.cause && o.stage == t.stage }
		j := slices.IndexFunc(other.told, same)
		if j < 0 {
			l.Log.Error("message not told in another language: it was decided otherwise in it", "language", string(lang), "cause", t.cause, "stage", t.stage)
			continue
		}
		if t.others == nil {
			t.others = map[guard.Lang]guard.Message{}
		}
		t.others[lang] = other.told[j].message
	}
	for i := range c.put {
		p := &c.put[i]
		j := slices.IndexFunc(other.put, func(o guard.Finding) bool { return o.ID == p.ID })
		if j >= 0 && other.put[j].Title != p.Title {
			titles := map[guard.Lang]string{lang: other.put[j].Title}
			for k, v := range p.Titles {
				if k != lang {
					titles[k] = v
				}
			}
			p.Titles = titles
		}
	}
}

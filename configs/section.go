package configs

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"guard"
)

// SectionDecoder makes the adapter's own configuration of the section that an
// account has under its provider's name. It is made by [SectionOf].
type SectionDecoder func(s *Section) any

// Decoders says how the sections of what this guardd is built with are decoded; a nil one
// is built with nothing.
type Decoders struct {
	Providers map[string]SectionDecoder // of an account, by provider
	Sources   map[string]SectionDecoder // of a source of samples, by kind
	// Address says what is wrong with an address under notify.urls, without a word of it;
	// nil takes every one.
	Address func(guard.Secret) error
}

func (b *Decoders) address(url guard.Secret) error {
	if b == nil || b.Address == nil {
		return nil
	}
	return b.Address(url)
}

func (b *Decoders) providers() map[string]SectionDecoder {
	if b == nil {
		return nil
	}
	return b.Providers
}

func (b *Decoders) sources() map[string]SectionDecoder {
	if b == nil {
		return nil
	}
	return b.Sources
}

// SectionOf decodes a section into a T, over what defaults holds, under the
// rules of the file itself: every problem with its line, unknown keys refused.
//
// T is a struct; its fields are named by `yaml:"key"` tags. It may hold strings,
// bools, ints, time.Duration (written 90s, 2d), guard.Secret (written
// {env: NAME} or {file: PATH}), whatever implements encoding.TextUnmarshaler,
// and structs, lists and string-keyed maps of these. If *T has the method
//
//	Check(report func(key, problem string))
//
// that is called last, when all types are right; what it reports stands at the
// key's line (a key of "" is the section itself). Neither it nor an
// UnmarshalText may put more of a value into a problem than is safe to print.
func SectionOf[T any](defaults T) SectionDecoder {
	return func(s *Section) any {
		v := defaults
		s.decode(&v)
		return v
	}
}

// Section is the part of an account that belongs to its provider; it may be
// absent from the file.
type Section struct {
	d     *decoder
	entry entry
	path  string
}

func (s *Section) decode(into any) {
	v := reflect.ValueOf(into).Elem()
	if _, null := s.entry.value.(*ast.NullNode); null {
		s.entry.value = nil // `aws:` with nothing below it is as good as none
	}
	if s.entry.value == nil {
		s.d.fields(s.entry, v, s.path)
		return
	}
	s.d.value(s.entry, v, s.path)
}

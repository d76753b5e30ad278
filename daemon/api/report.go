package api

import (
	"context"
	"slices"

	"guard"
	"guard/daemon/wire"
)

type reportIn struct {
	Lang string `query:"lang" doc:"the language of the texts: en or zh"`
}

// report is the digest, as of now.
func (s *server) report(ctx context.Context, at guard.Instant, in *reportIn) (wire.Report, error) {
	lang := guard.Lang(in.Lang)
	switch {
	case in.Lang != "" && !slices.Contains(guard.Langs, lang):
		return wire.Report{}, faultf(guard.ErrInvalid, "lang: guard does not speak %q: write en or zh", clip(in.Lang))
	case s.Report == nil:
		return wire.Report{}, faultf(guard.ErrUnsupported, "this guardd tells no reports")
	case callerOf(ctx).Scope != "":
		return wire.Report{}, faultf(guard.ErrPermission, "a token of one instance may not read the report of all")
	}
	return s.Report(ctx, at, lang)
}

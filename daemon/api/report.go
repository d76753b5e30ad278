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
	if in.Lang != "" && !slices.Contains(guard.Langs, lang) {
		return wire.Report{}, faultf(guard.ErrInvalid, "lang: guard does not speak %q: write en or zh", clip(in.Lang))
	}
	return s.Report(ctx, at, lang)
}

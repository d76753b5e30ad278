package daemon_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
)

// latin is a word of guard's own in another language than Chinese: names, IDs, times,
// currencies and what people type are none.
var latin = regexp.MustCompile(`guard (?:register|extend|release|resume|ls|protect|findings)\b|--[\w-]+(?: TEXT)?|ACCOUNT/ID|[\w-]+/[\w.:-]+|\w+\.db|\d{4}-\d\d-\d\dT\S+Z|\b\d\w*\b|([A-Za-z][a-z']+)`)

// TestAChannelInChinese: whoever reads a channel in Chinese hears all of it in Chinese, and
// the ledger stays English.
func TestAChannelInChinese(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(4))
	w.channel.lang = guard.Chinese
	w.boot()
	w.until(time.Minute)
	w.registerAll(3, "2h")
	backup := w.copied()
	ctx := t.Context()
	w.until(time.Hour)
	if _, err := w.client.Extend(ctx, wire.ExtendRequest{ID: "lab/i-00", By: "20h"}); err != nil {
		t.Fatal(err)
	}
	w.until(3 * time.Hour)
	if show, err := w.client.Show(ctx, "lab/i-01"); err != nil || show.Release == nil || !strings.HasPrefix(show.Release.Why, "its time is up (") {
		t.Errorf("i-01 is released as %+v, %v", show.Release, err)
	}
	why, err := w.client.Why(guard.WithLang(ctx, guard.Chinese), "lab/i-00")
	if text := strings.Join(why.Lines, "\n"); err != nil || !strings.Contains(text, "由 admin 于 2026-") || !strings.Contains(text, "没有计划中的释放。") {
		t.Errorf("why: %s, %v", text, err)
	}
	if _, err := w.client.Observe(ctx, wire.ModeRequest{Account: "lab"}); err != nil {
		t.Fatal(err)
	}
	w.until(4 * time.Hour)
	w.restore(backup)
	w.until(5 * time.Hour)
	if out, err := w.client.Resume(ctx, wire.AcceptRequest{Accept: 1}); err != nil || !out.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	w.until(7 * time.Hour)
	for _, want := range []string{"lab/i-03：无人登记", "lab/i-01（test）：guard 将于 2026-", "lab/i-01（test）：已释放，已证实", "原因：登记已到期（2026-",
		"账号 lab 现为观察模式，操作人 admin", "guard 已暂停一切执行，直到有人运行 guard resume：其账本由 yesterday.db 恢复", "guard 已在 lab 恢复执行",
		"现重新预告，原因：其账本由 yesterday.db 恢复"} {
		if len(w.posts(want)) == 0 {
			t.Errorf("nobody was told %q", want)
		}
	}
	for _, m := range w.channel.posts {
		text := m.Title + "\n" + strings.Join(m.Lines, "\n")
		for _, found := range latin.FindAllStringSubmatch(text, -1) {
			if !slices.Contains([]string{"", "guard", "lab", "test", "admin", "guardd", "journalctl"}, found[1]) {
				t.Errorf("%q is English, in:\n%s", found[1], text)
			}
		}
		if m.Lang != guard.Chinese {
			t.Errorf("in %q: %s", m.Lang, text)
		}
	}
}

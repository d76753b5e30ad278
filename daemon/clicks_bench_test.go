package daemon_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/daemon/notify/slack"
	"guard/policy"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/bolt"
)

// BenchmarkClick is how long a click on a button takes until whoever clicked is answered,
// and until Slack has its acknowledgement: over a WebSocket on loopback, through the API,
// into a ledger of 1,000 leased instances in a file.
func BenchmarkClick(b *testing.B) {
	const n = 1000
	var rs []fake.Resource
	for i := range n {
		rs = append(rs, gpu(fmt.Sprintf("i-%d", i), "1"))
	}
	cloud, err := fake.NewCloud(lab(rs...))
	if err != nil {
		b.Fatal(err)
	}
	at := cloud.At(0)
	backend, err := bolt.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), bolt.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := store.Open(b.Context(), backend, at)
	if err != nil {
		b.Fatal(err)
	}
	defer ledger.Close()
	c, err := load(enforce + people)
	if err != nil {
		b.Fatal(err)
	}
	d, err := daemon.New(b.Context(), daemon.Options{Ledger: ledger, Config: c, Boot: "boot", Now: func() guard.Instant { return at }, Log: slog.New(slog.DiscardHandler),
		Factories: map[string]daemon.Factory{"fake": func(context.Context, configs.Account) (providers.Provider, error) { return cloud.Provider(), nil }},
		Channels:  func(*configs.Config) ([]notify.Channel, error) { return []notify.Channel{&channel{}}, nil }})
	if err != nil {
		b.Fatal(err)
	}
	for d.Scheduler().RunDue(b.Context(), at) {
	}
	id := func(i int) guard.ResourceID {
		return guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: fmt.Sprintf("i-%d", i%n)}
	}
	err = ledger.UpdateEach(b.Context(), n, func(tx *store.Tx, i int) error {
		o, _, err := tx.Observed.Get(id(i).Key())
		if err != nil {
			return err
		}
		return tx.Leases.Put(guard.Lease{ID: fmt.Sprint("l-", i), Resource: id(i), ResourceCreated: o.Resource.Created, Identity: o.Identity, Owner: "ana", Purpose: "test",
			OnLimit: guard.ActRelease, RegisteredAt: at.Wall, ExpiresAt: at.Wall.Add(time.Hour), Status: guard.LeaseActive})
	})
	if err != nil {
		b.Fatal(err)
	}

	const app, bot = "xapp-bench", "xoxb-bench"
	shop := notifytest.NewSocket(notifytest.NewSlack(bot, "guard"), app)
	server := httptest.NewServer(shop)
	defer server.Close()
	shop.Host = server.URL
	socket, err := slack.NewSocket(slack.SocketConfig{AppToken: guard.NewSecret(app), Token: guard.NewSecret(bot), Endpoint: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); socket.Run(ctx, d.Click) }()
	defer func() { cancel(); <-done }()
	for !socket.State().Connected {
		time.Sleep(time.Millisecond)
	}

	var answered, acked []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		envelope := shop.Pressed("U1", notifytest.Post{Channel: "C0001"}, offeredBy(b, ledger, at, id(i)))
		before := len(shop.Answers())
		sent := time.Now()
		b.StartTimer()
		if !shop.Send(envelope, false) {
			b.Fatal("nothing is connected")
		}
		for len(shop.Answers()) == before {
			time.Sleep(50 * time.Microsecond)
		}
		answered = append(answered, shop.Answers()[before].At.Sub(sent))
		acked = append(acked, shop.Acks()[before].At.Sub(sent))
	}
	b.StopTimer()
	for name, all := range map[string][]time.Duration{"answer": answered, "ack": acked} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, name+"-p99-ms")
	}
	for _, a := range shop.Answers() {
		if !strings.HasPrefix(a.Text, "Done") {
			b.Fatalf("a click was refused: %s", a.Text)
		}
	}
}

// offeredBy queues a message about a resource and returns its button that extends.
func offeredBy(b *testing.B, ledger *store.Ledger, at guard.Instant, id guard.ResourceID) notifytest.Button {
	b.Helper()
	var key string
	err := ledger.Update(b.Context(), func(tx *store.Tx) error {
		l, _, err := tx.LeaseOf(id.Key())
		if err != nil {
			return err
		}
		offers := policy.Offers(policy.DefaultRules(), policy.Facts{At: at.Wall, Lease: &l, Observed: &guard.Observed{Resource: guard.Resource{ID: id}}, Mode: guard.Enforce}, nil)
		key = offers[0].Key
		return tx.Sent(guard.Message{ID: "slack|" + id.ID, Channel: "slack", About: []guard.ResourceID{id}, Thread: id.Key(), CreatedAt: at.Wall, Offers: offers[:1]})
	})
	if err != nil {
		b.Fatal(err)
	}
	return notifytest.Button{Action: "guard:extend", Value: fmt.Sprintf(`{"message":"slack|%s","click":"extend","key":"%s"}`, id.ID, key)}
}
